"""`gossamer crawl`: crawls from seeds into a folder, or resumes the crawl in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from gossamer.cli.console import open_console, summary
from gossamer.cli.environment import environment_for_settings
from gossamer.cli.printing import say
from gossamer.config import declared, default_as_given
from gossamer.crawl.folder import SETTINGS_FILE, gather_settings
from gossamer.crawl.seed_report import failed_seeds, is_fruitless
from gossamer.crawl.settings import SECTIONS
from gossamer.crawl.start import crawl
from gossamer.errors import GossamerError
from gossamer.supervisor import End

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.supervisor import Ended

DYING = 1  # exit status: a bug or the machine, not the operator
FRUITLESS = 3  # the crawl ended by itself without a page from any seed; starting it again would not help
KILLED = 130

_FILE = click.Path(path_type=Path, resolve_path=True)
_SETTINGS: Final = declared(SECTIONS)


def _setting(flag: str, metavar: str, **more: Any) -> Callable[[Any], Any]:
    """An option that is a setting, with its description; `gather_settings` checks the value."""
    if "|" in metavar:
        more["shell_complete"] = _completing(*metavar.split("|"))
    return click.option(flag, metavar=metavar, help=_describe(flag, **more), **more)


def _switch(flag: str) -> Callable[[Any], Any]:
    """An option that turns a setting on."""
    return click.option(flag, is_flag=True, default=None, help=_describe(flag))


def _describe(flag: str, *, multiple: bool = False, **_: object) -> str:
    setting = _SETTINGS[flag.removeprefix("--").replace("-", "_")]
    parts = [setting.field.metadata["help"]]
    if multiple:
        parts.append("Repeat the option to give more.")
    if setting.kind is not bool and (default := default_as_given(setting)):
        parts.append(f"[default: {default}]")
    return " ".join(parts)


def _completing(*words: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    return lambda _context, _parameter, begun: [word for word in words if word.startswith(begun)]


def _complete_files(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem[str]]:
    return [CompletionItem(begun, type="file")]


@click.command("crawl")
@click.argument("seeds", metavar="[SEEDS]...", nargs=-1, shell_complete=_complete_files)
@_setting("--email", "ADDRESS")
@_setting("--agent-name", "NAME")
@_setting("--info-url", "URL")
@click.option(
    "--data-dir", type=click.Path(path_type=Path), default="crawl-data", show_default=True,
    envvar="GOSSAMER_DATA_DIR", help="The crawl's folder. If it holds a crawl, that crawl is resumed.",
)  # fmt: skip
@_setting("--frontier", "ADDRESS")
@_setting("--crawl-name", "NAME")
@_setting("--lease", "DURATION")
@_setting("--delay", "DURATION")
@_setting("--site-delay", "SITE=DURATION", multiple=True)
@_setting("--site-delays-file", "FILE", type=_FILE)
@_setting("--own", "SITE", multiple=True)
@_setting("--parallel", "N")
@_setting("--scope", "host|site|web")
@_setting("--include", "PATTERN", multiple=True)
@_setting("--exclude", "PATTERN", multiple=True)
@_setting("--exclude-file", "FILE", type=_FILE)
@_setting("--max-pages", "N")
@_setting("--max-pages-per-site", "N")
@_setting("--max-duration", "DURATION")
@_setting("--max-depth", "N")
@_switch("--sitemaps")
@click.option("--no-trap-limits", is_flag=True, default=None, help="Follow even links that seem to lead into a trap.")
@_setting("--workers", "N")
@_setting("--in-flight", "N")
@_setting("--nameserver", "ADDRESS[:PORT]")
@_setting("--ca-file", "FILE", type=_FILE)
@_switch("--insecure")
@_setting("--allow-network", "NETWORK", multiple=True)
@_switch("--allow-ip-hosts")
@_setting("--allow-ports", "PORTS")
@_setting("--accept-types", "TYPES")
@_setting("--text", "fast|balanced|best")
@_setting("--languages", "LIST")
@_switch("--markdown")
@_switch("--links")
@_switch("--respect-ai-optout")
@_switch("--canonical")
@click.option("--no-warc", is_flag=True, default=None, help="Keep tables only, without WARC archives.")
@click.option(
    "--no-robots-archive", is_flag=True, default=None, help="Keep no robots.txt and tdmrep.json in WARC archives."
)
@_setting("--store", "URL")
@_switch("--keep-local")
@_setting("--upload-rate", "SIZE")
@_setting("--min-free-space", "SIZE")
@_setting("--metrics", "[ADDRESS:]PORT")
@_setting("--log-level", "LEVEL")
@_setting("--log-format", "text|json")
@click.option(
    "--config", type=_FILE, envvar="GOSSAMER_CONFIG",
    help="Read settings from this file [default: crawl.toml in the crawl's folder, if there is one].",
)  # fmt: skip
@click.option("--set", "others", metavar="SETTING=VALUE", multiple=True, help="Change any other setting of crawl.toml.")
@click.option("--seed-file", type=click.Path(path_type=Path), multiple=True, help="The same as naming it in SEEDS.")
@click.option("--resume", is_flag=True, help="Has no effect: a crawl in the folder is always resumed.")
@click.option("--seeded-urls-only", is_flag=True, default=None, help="The same as --max-depth 0.")
@click.option("--max-workers", metavar="N", help="The same as --in-flight.")
def command(
    seeds: tuple[str, ...],
    data_dir: Path,
    config: Path | None,
    others: tuple[str, ...],
    seed_file: tuple[Path, ...],
    resume: bool,  # noqa: ARG001
    **flags: Any,
) -> None:
    """Crawl from seeds: domains, URLs, or files with one of them per line.

    Ctrl-C shuts the crawl down gracefully; the same command resumes it, also after a crash. Settings may also come
    from the environment (GOSSAMER_DELAY=1) or from crawl.toml in the crawl's folder. The exit status is 3 if the crawl
    ended by itself without a page from any seed.

    \b
    Examples:
      gossamer crawl seeds.txt --email you@example.org
      gossamer crawl example.org --email you@example.org --delay 1  your site
      gossamer crawl seeds.txt --email you@example.org --scope web  any site
      gossamer crawl                                     resumes ./crawl-data
    """
    old_style = flags["max_workers"]
    file = config if config is not None else data_dir / SETTINGS_FILE
    settings = gather_settings(
        file if config is not None or file.exists() else None,
        environment=environment_for_settings(),
        flags=_as_settings(flags, others),
        spell=_spell,
        note=lambda line: say(line, err=True),
    )
    if old_style is not None:
        say(f"--max-workers {old_style} is taken as --in-flight {old_style}: requests, not processes.", err=True)
    with open_console(data_dir, every_s=settings.supervisor.progress_every_s) as console:
        ended = crawl(data_dir, settings, (*seeds, *seed_file), console)
    _print_end(data_dir, ended)


def _print_end(data_dir: Path, ended: Ended) -> None:
    """Print how the crawl ended, and exit with the status for that."""
    if ended.end is End.DYING:
        say(f"gossamer: {ended.detail}", err=True)
        raise click.exceptions.Exit(DYING)
    say(summary(data_dir, ended))
    pages = ended.progress.stats.pages
    for line in failed_seeds(ended.seeds, pages):
        say(line)
    if ended.end is End.KILLED:
        raise click.exceptions.Exit(KILLED)
    if ended.end is End.DRAINED and is_fruitless(ended.seeds, pages):
        raise click.exceptions.Exit(FRUITLESS)


def _spell(key: str) -> str:
    """Return how this command spells a setting: as an option, or with --set."""
    options = {name for option in command.params for name in option.opts}
    flag = "--" + key.replace("_", "-")
    return flag if flag in options else f"--set {key}"


def _as_settings(flags: dict[str, Any], others: tuple[str, ...]) -> dict[str, Any]:
    """Return flags as settings; old names of options are translated."""
    settings: dict[str, Any] = {}
    for other in others:
        name, equals, value = other.partition("=")
        if not name.strip() or not equals:
            raise GossamerError(f"--set {other} is incomplete: write --set {name.strip() or 'SETTING'}=VALUE.")
        settings[name.strip().replace("-", "_")] = value
    if flags.pop("no_warc"):
        settings["warc"] = False
    if flags.pop("no_robots_archive"):
        settings["robots_archive"] = False
    if flags.pop("no_trap_limits"):
        settings["trap_limits"] = False
    if flags.pop("seeded_urls_only"):
        settings["max_depth"] = 0
    if (in_flight := flags.pop("max_workers")) is not None:
        settings["in_flight"] = in_flight
    return settings | {name: value for name, value in flags.items() if value is not None and value != ()}
