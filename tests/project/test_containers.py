"""The files for containers in `deploy/` are valid, and say what the rest of the repository says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gossamer.crawl.folder import gather_settings
from tools.build_image import PROGRAMS, build
from tools.environments import MissingError, python_with

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
VARIABLES = {"GOSSAMER_EMAIL": "tests@example.org", "POSTGRES_PASSWORD": "secret", "GRAFANA_PASSWORD": "secret"}
CRAWLERS = ["crawler1", "crawler2", "crawler3"]

NEEDS_COMPOSE = pytest.mark.skipif(shutil.which("docker-compose") is None, reason="needs docker-compose")


def instruction(name: str) -> str:
    """Return what stands behind the last instruction of this name in the Dockerfile."""
    found: list[str] = re.findall(rf"(?m)^{name} ((?:.*\\\n)*.*)$", DOCKERFILE)
    return found[-1]


def rendered(variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = ["docker-compose", "--file", str(DEPLOY / "compose.yml"), "config"]
    own = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    return subprocess.run(command, capture_output=True, text=True, env=own | variables)


@pytest.fixture(scope="module")
def services() -> dict[str, str]:
    """The services as docker-compose understands them, as text."""
    ran = rendered(VARIABLES)
    assert ran.returncode == 0, ran.stderr
    block = re.search(r"(?ms)^services:\n(.*?)^\S", ran.stdout + "\n.")
    assert block is not None
    return dict(re.findall(r"(?m)^  (\w+):\n((?:    .*\n)+)", block[1]))


def test_the_linter_has_nothing_to_say_about_the_dockerfile() -> None:
    try:
        hadolint = python_with("hadolint").parent / "hadolint"
    except MissingError as error:
        pytest.skip(f"hadolint: {error}")
    ran = subprocess.run([hadolint, DEPLOY / "Dockerfile"], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "")


def test_the_image_is_pinned_and_does_not_run_as_root() -> None:
    assert re.search(r"(?m)^ARG BASE=\S+/python:3\.\d+\.\d+-slim-\w+$", DOCKERFILE)
    assert instruction("USER").isdigit()
    assert int(instruction("USER")) > 0
    assert f"--uid {instruction('USER')}" in DOCKERFILE
    assert instruction("VOLUME") == "/data"
    for name in ("ENTRYPOINT", "CMD", "HEALTHCHECK"):
        form = instruction(name).rpartition("CMD ")[2]
        assert isinstance(json.loads(form), list), f"{name} is in exec form"


def test_the_image_gets_every_file_that_it_copies() -> None:
    allowed = re.findall(r"(?m)^!(\S+)$", (ROOT / ".dockerignore").read_text())
    copied = [source for line in re.findall(r"(?m)^COPY (.+)$", DOCKERFILE) for source in line.split()[:-1]]
    assert sorted(copied) == sorted(allowed)
    assert [path for path in copied if not (ROOT / path).exists()] == []


def test_the_variables_of_the_image_are_settings_and_fit_its_ports() -> None:
    variables = dict(pair.split("=") for pair in instruction("ENV").split() if pair.startswith("GOSSAMER_"))
    folder = variables.pop("GOSSAMER_DATA_DIR")
    settings = gather_settings(None, environment=variables, flags={"email": "tests@example.org"})
    assert folder == instruction("VOLUME") == instruction("WORKDIR")
    assert settings.watch.metrics == f"0.0.0.0:{instruction('EXPOSE')}"
    assert f":{instruction('EXPOSE')}/metrics" in instruction("HEALTHCHECK")


@NEEDS_COMPOSE
def test_crawlers_differ_only_in_their_name_and_their_volume(services: dict[str, str]) -> None:
    assert [name for name in services if name.startswith("crawler")] == CRAWLERS
    plain = {services[name].replace(name, "NAME") for name in CRAWLERS}
    assert len(plain) == 1
    only = plain.pop()
    for wanted in ("hostname: NAME", "- NAME:/data:rw", "init: true", "condition: service_healthy", "nofile: 65536"):
        assert wanted in only
    assert "PGPASSWORD: secret" in only
    assert "secret" not in only.replace("PGPASSWORD: secret", ""), "no password stands in an address or a command"


@NEEDS_COMPOSE
def test_prometheus_scrapes_every_crawler(services: dict[str, str]) -> None:
    scraped = (DEPLOY / "prometheus" / "prometheus.yml").read_text()
    port = instruction("EXPOSE")
    assert re.findall(r'"(\w+):(\d+)"', scraped) == [(name, port) for name in CRAWLERS]
    assert f"{DEPLOY}/prometheus:/etc/prometheus:ro" in services["prometheus"]
    promtool = shutil.which("promtool")
    if promtool is not None:
        subprocess.run([promtool, "check", "config", DEPLOY / "prometheus" / "prometheus.yml"], check=True)


@NEEDS_COMPOSE
def test_grafana_finds_the_board_and_its_data(services: dict[str, str]) -> None:
    provider = (DEPLOY / "grafana" / "provisioning" / "dashboards" / "gossamer.yml").read_text()
    folder = re.search(r"path: (\S+)", provider)
    assert folder is not None
    assert f"{DEPLOY}/grafana/gossamer.json:{folder[1]}/gossamer.json:ro" in services["grafana"]
    source = (DEPLOY / "grafana" / "provisioning" / "datasources" / "prometheus.yml").read_text()
    assert "url: http://prometheus:9090" in source
    assert "prometheus" in services


@NEEDS_COMPOSE
def test_images_of_others_are_pinned_and_only_this_machine_reaches_the_screens(services: dict[str, str]) -> None:
    images = [re.search(r"image: (\S+)", services[name]) for name in ("database", "prometheus", "grafana")]
    assert all(image and re.search(r":v?\d+\.\d+(\.\d+)?$", image[1]) for image in images)
    published = re.findall(r"- (\S+:\d+:\d+)", "".join(services.values()))
    assert sorted(published) == ["127.0.0.1:3000:3000", "127.0.0.1:9090:9090"]


@NEEDS_COMPOSE
@pytest.mark.parametrize("name", VARIABLES)
def test_a_missing_variable_is_one_sentence(name: str) -> None:
    ran = rendered({other: value for other, value in VARIABLES.items() if other != name})
    assert ran.returncode != 0
    assert f"Write {name}=" in ran.stderr


@pytest.mark.skipif(
    os.environ.get("GOSSAMER_TEST_IMAGE") is None, reason="builds an image for minutes: set GOSSAMER_TEST_IMAGE=1"
)
@pytest.mark.skipif(os.getuid() != 0, reason="needs root")
@pytest.mark.skipif(not all(map(shutil.which, PROGRAMS)), reason="needs buildah and debootstrap")
@pytest.mark.timeout(1800)
def test_the_image_builds_and_runs_as_a_user_without_rights(tmp_path: Path) -> None:
    run = build(tmp_path)
    program = json.loads(instruction("ENTRYPOINT"))
    said = subprocess.run([*run, *program, "version"], capture_output=True, text=True, check=True).stdout
    assert said.startswith("gossamer ")
    script = "id -u; pwd; touch /data/mine && rm /data/mine; touch /opt/gossamer/mine || true"
    tried = subprocess.run([*run, "/bin/sh", "-c", script], capture_output=True, text=True, check=True)
    assert tried.stdout.split() == [instruction("USER"), "/data"]
    assert "Permission denied" in tried.stderr
