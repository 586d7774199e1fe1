"""Shell completion, in the shells themselves: what Tab offers, for a linked program and for a clone's."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.cli import SUMMARIES, run
from gossamer.cli.completion import SCRIPTS

# Each script prints what its shell offers for $LINE, one word per line.
ASK = {
    # What bash does at Tab: finds the function for the program's name, and calls it with the words so far.
    "bash": """
source "$SCRIPT"
compopt() { echo "$@" > "$SCRIPT.options"; }
read -ra COMP_WORDS <<< "$LINE"; [[ $LINE == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
name=${COMP_WORDS[0]##*/}
function=$(complete -p "$name" | sed 's/.* -F \\([^ ]*\\) .*/\\1/')
$function "${COMP_WORDS[0]}"
printf '%s\\n' "${COMPREPLY[@]}"
""",
    "fish": 'source "$SCRIPT"; complete -C "$LINE" | string replace -r "\\t.*" ""',
}


def shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with a program `gossamer` in it, and one linked on PATH."""
    program = tmp_path / "a clone" / "gossamer"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m gossamer "$@"\n')
    program.chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "gossamer").symlink_to(program)
    return program.parent


def offered(name: str, line: str, clone: Path) -> tuple[list[str], str]:
    """What a shell offers for a line, and which options bash is told to go by."""
    script = clone / f"completion.{name}"
    script.write_text(SCRIPTS[name])
    path = f"{clone.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment |= {"SCRIPT": str(script), "LINE": line, "HOME": str(clone)}
    asked = subprocess.run(
        [shell(name), "-c", ASK[name]], cwd=clone, env=environment, capture_output=True, text=True, timeout=120
    )
    options = script.with_name(f"{script.name}.options")
    return asked.stdout.split(), options.read_text().strip() if options.exists() else ""


@pytest.mark.parametrize("program", ["gossamer", "./gossamer", "~/gossamer"])
@pytest.mark.parametrize("name", ASK)
def test_commands_options_and_values_are_offered(name: str, program: str, clone: Path) -> None:
    assert set(offered(name, f"{program} ", clone)[0]) >= set(SUMMARIES)
    assert offered(name, f"{program} cra", clone)[0] == ["crawl"]
    assert offered(name, f"{program} crawl --max-pages", clone)[0] == ["--max-pages", "--max-pages-per-site"]
    assert offered(name, f"{program} crawl --scope ", clone)[0] == ["host", "site", "web"]
    assert offered(name, f"{program} export --format j", clone)[0] == ["jsonl"]
    assert offered(name, f"{program} db m", clone)[0] == ["migrate"]


def test_where_a_file_or_a_folder_is_wanted_the_shell_offers_its_own(clone: Path) -> None:
    assert offered("bash", "gossamer crawl se", clone) == ([], "-o default")
    assert offered("bash", "gossamer simweb --folder ", clone) == ([], "-o dirnames")


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_is_valid_and_the_help_says_where_to_write_it(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["completion", name]) == 0
    script = capsys.readouterr().out
    assert run(["completion", "--help"]) == 0
    assert re.search(rf"gossamer completion {name}( \\\n +| )> ~/", capsys.readouterr().out)
    checked = subprocess.run([shell(name), "-n"], input=script, capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_a_launcher_without_its_packages_offers_nothing_and_installs_nothing(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    launcher = tmp_path / "gossamer"
    shutil.copy(root / "gossamer", launcher)
    environment = os.environ | {"_GOSSAMER_COMPLETE": "bash_complete", "COMP_WORDS": "gossamer ", "COMP_CWORD": "1"}
    asked = subprocess.run([launcher], env=environment, capture_output=True, text=True)
    assert (asked.returncode, asked.stdout, asked.stderr) == (0, "", "")
    assert [path.name for path in tmp_path.iterdir()] == ["gossamer"]
