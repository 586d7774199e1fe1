"""`gossamer crawl`: crawls from seeds into a folder, or goes on with the crawl that is there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from gossamer.cli.console import open_console, summary
from gossamer.cli.environment import environment_for_settings
from gossamer.cli.printing import say
from gossamer.crawl.folder import SETTINGS_FILE, gather_settings
from gossamer.crawl.seed_report import failed_seeds, is_fruitless
from gossamer.crawl.start import crawl
from gossamer.errors import GossamerError
from gossamer.supervisor import End

if TYPE_CHECKING:
    from collections.abc import Callable

DYING = 1  # exit status: it is us, not the operator
FRUITLESS = 3  # the crawl ended by itself without a page from any seed: starting again would not help
KILLED = 130

_FILE = click.Path(path_type=Path, resolve_path=True)


def _setting(flag: str, metavar: str, text: str, **more: Any) -> Callable[[Any], Any]:
    """An option that is a setting: what is given is checked where settings are gathered."""
    if "|" in metavar:
        more["shell_complete"] = _completing(*metavar.split("|"))
    return click.option(flag, metavar=metavar, help=text, **more)


def _completing(*words: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    return lambda _context, _parameter, begun: [word for word in words if word.startswith(begun)]


def _complete_files(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem[str]]:
    return [CompletionItem(begun, type="file")]


@click.command("crawl")
@click.argument("seeds", metavar="[SEEDS]...", nargs=-1, shell_complete=_complete_files)
@_setting("--email", "ADDRESS", "Where the people whose sites you visit can reach you; required.")
@_setting("--agent-name", "NAME", "The name you crawl under, also in robots.txt [default: Gossamer].")
@_setting("--info-url", "URL", "A page about your crawl, shown to site owners.")
@click.option(
    "--data-dir", type=click.Path(path_type=Path), default="crawl-data", show_default=True,
    envvar="GOSSAMER_DATA_DIR", help="The crawl's folder; if it holds a crawl, that one goes on.",
)  # fmt: skip
@_setting(
    "--frontier", "ADDRESS", "A PostgreSQL database that several machines share: postgresql://user@host/database."
)
@_setting("--crawl-name", "NAME", "Which of the crawls in that database this is [default: crawl].")
@_setting("--lease", "DURATION", "There, a worker that was silent for so long is dead [default: 60].")
@_setting("--delay", "DURATION", "Pause between two pages of one site; a site may ask for more [default: 70].")
@_setting("--site-delay", "SITE=DURATION", "A longer delay for one site; repeat for more.", multiple=True)
@_setting("--site-delays-file", "FILE", "Longer delays of single sites, one SITE=DURATION per line.", type=_FILE)
@_setting("--scope", "host|site|web", "Stay on the seeds' hosts, on their sites, or go anywhere [default: site].")
@_setting(
    "--include",
    "PATTERN",
    "Follow only links that match: /blog/, *.html$, https://example.org/; repeat.",
    multiple=True,
)
@_setting("--exclude", "PATTERN", "Leave URLs alone that match, included or not; repeat for more.", multiple=True)
@_setting("--exclude-file", "FILE", "Domains and URL prefixes to leave alone, one per line.", type=_FILE)
@_setting("--max-pages", "N", "Stop after so many pages, over all starts.")
@_setting("--max-pages-per-site", "N", "Store so many pages of a site, over all starts; the rest of it waits.")
@_setting("--max-duration", "DURATION", "Stop after so long: 90, 30m, 8h.")
@_setting("--max-depth", "N", "Follow so many links from a seed; 0: the seeds only.")
@click.option("--sitemaps", is_flag=True, default=None, help="Read the sites' sitemaps too, and follow what they list.")
@click.option("--no-trap-limits", is_flag=True, default=None, help="Follow links that seem to lead into traps, too.")
@_setting("--workers", "N", "Worker processes [default: one per core].")
@_setting("--in-flight", "N", "Requests under way at once, per worker [default: 1000].")
@_setting("--nameserver", "ADDRESS[:PORT]", "Ask this name server [default: the system's hosts file and name server].")
@_setting("--ca-file", "FILE", "Trust the authorities in this PEM file too.", type=_FILE)
@click.option("--insecure", is_flag=True, default=None, help="Do not verify certificates at all.")
@_setting("--allow-network", "NETWORK", "Permit a network that is not public; repeat for more.", multiple=True)
@_setting(
    "--accept-types",
    "TYPES",
    "Content types to store, with commas; HTML is always read for links [default: HTML, plain text].",
)
@_setting("--text", "fast|balanced|best", "How the main text is found; the last two need an extra [default: fast].")
@_setting("--languages", "LIST", "Keep only pages in these languages (de,en), and those that declare none.")
@click.option("--markdown", is_flag=True, default=None, help="Keep the main text as Markdown.")
@click.option("--links", is_flag=True, default=None, help="Keep the link graph too: the table links.")
@click.option(
    "--respect-ai-optout", is_flag=True, default=None,
    help="Keep no page that is not to be used for artificial intelligence.",
)  # fmt: skip
@click.option("--canonical", is_flag=True, default=None, help="Keep the canonical page instead of those that name it.")
@click.option("--no-warc", is_flag=True, default=None, help="Keep no archives, only tables.")
@_setting("--min-free-space", "SIZE", "Pause while the disk has less room than this [default: 1GB].")
@_setting("--log-level", "LEVEL", "What goes into logs/gossamer.log: debug, info, warning, error [default: info].")
@click.option(
    "--config", type=_FILE, envvar="GOSSAMER_CONFIG",
    help="Read settings from this file [default: crawl.toml in the crawl's folder, if there is one].",
)  # fmt: skip
@click.option("--set", "others", metavar="SETTING=VALUE", multiple=True, help="Any other setting of crawl.toml.")
@click.option("--seed-file", type=click.Path(path_type=Path), multiple=True, help="The same as naming it in SEEDS.")
@click.option("--resume", is_flag=True, help="Not needed: a crawl that is there always goes on.")
@click.option("--seeded-urls-only", is_flag=True, default=None, help="The same as --max-depth 0.")
@_setting("--max-workers", "N", "The same as --in-flight.")
def command(
    seeds: tuple[str, ...],
    data_dir: Path,
    config: Path | None,
    others: tuple[str, ...],
    seed_file: tuple[Path, ...],
    resume: bool,  # noqa: ARG001
    **flags: Any,
) -> None:
    """Crawl from seeds: domains, URLs, or files that hold one of them per line.

    Ctrl-C stops in good order; the same command goes on where it stopped, also after a crash. Settings may also
    come from the environment (GOSSAMER_DELAY=1) or from crawl.toml in the crawl's folder. The exit status is 3 if the
    crawl ended by itself without a page from any seed.

    \b
    Examples:
      gossamer crawl seeds.txt --email you@example.org
      gossamer crawl example.org --email you@example.org --delay 1  your site
      gossamer crawl seeds.txt --email you@example.org --scope web  any site
      gossamer crawl                                     resumes ./crawl-data
    """
    file = config if config is not None else data_dir / SETTINGS_FILE
    settings = gather_settings(
        file if config is not None or file.exists() else None,
        environment=environment_for_settings(),
        flags=_as_settings(flags, others),
        spell=_spell,
    )
    with open_console(data_dir, every_s=settings.supervisor.progress_every_s) as console:
        ended = crawl(data_dir, settings, (*seeds, *seed_file), console)
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
    """Write a setting as it is given here: as the option of its name, or with --set."""
    options = {name for option in command.params for name in option.opts}
    flag = "--" + key.replace("_", "-")
    return flag if flag in options else f"--set {key}"


def _as_settings(flags: dict[str, Any], others: tuple[str, ...]) -> dict[str, Any]:
    """Return flags as settings; those of the predecessor under the names they have here."""
    settings: dict[str, Any] = {}
    for other in others:
        name, equals, value = other.partition("=")
        if not name.strip() or not equals:
            raise GossamerError(f"--set {other} is incomplete: write --set {name.strip() or 'SETTING'}=VALUE.")
        settings[name.strip().replace("-", "_")] = value
    if flags.pop("no_warc"):
        settings["warc"] = False
    if flags.pop("no_trap_limits"):
        settings["trap_limits"] = False
    if flags.pop("seeded_urls_only"):
        settings["max_depth"] = 0
    if (in_flight := flags.pop("max_workers")) is not None:
        settings["in_flight"] = in_flight
    return settings | {name: value for name, value in flags.items() if value is not None and value != ()}
