"""Where a database is, and what may be said about it: never its password."""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from gossamer.errors import GossamerError

_CROWDED = "it has no connection left: raise max_connections, or run fewer workers"
_PASSWORD_PLACES = "give it in GOSSAMER_FRONTIER, PGPASSWORD or PGPASSFILE"  # noqa: S105
# What libpq and the server say in words alone, and what it means.
_WORDS = {
    "no password supplied": f"it wants a password: {_PASSWORD_PLACES}",
    "password authentication failed": f"it wants another password: {_PASSWORD_PLACES}",
    "Connection refused": "nothing answers there: see that its server runs, and that host and port are right",
    "could not translate host name": "there is no such host: see that its name is right",
    "failed to resolve host": "there is no such host: see that its name is right",
}

# What the server says in its own words, said so that the operator knows what to do.
_ADVICE: dict[type[psycopg.Error], str] = {
    errors.ReadOnlySqlTransaction: "it takes no writes: give the address of the primary, not of a standby",
    errors.TooManyConnections: _CROWDED,
    errors.InsufficientPrivilege: "its user may not change what the frontier needs: grant it CREATE on the database",
    errors.DiskFull: "its disk is full: make room there",
    errors.ConnectionTimeout: "it does not answer: see that its server runs, is not paused, and is reached from here",
}
# For a database user that only reads.
_READERS_ADVICE: dict[type[psycopg.Error], str] = {
    errors.InsufficientPrivilege: "its user may not read the crawl: grant it USAGE on the schema gossamer, and SELECT "
    "on all tables in that schema",
}
# A refused connection gets these words and no error code.
_REFUSALS = ("too many clients", "connection slots are reserved", "too many connections")

CONNECT_S = 10  # per host that the address names
# Unlike the password, they can come from no variable of the environment.
_OTHER_SECRETS = {"sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key"}
_SCHEMES = ("postgresql://", "postgres://")
# A password with a bare @ or / in it ends there for libpq, which takes the rest for a host or a database: names that we
# look up and say aloud. So a bare @ stands once before all else, or in what follows the name of the database.
_URI = re.compile(r"\w+://([^:@/?]*(:[^@/]*)?@)?[^@/?]*(/[^@?]*(\?.*)?|\?[^@]*)?", re.DOTALL)


def split_password(text: str) -> tuple[str, str]:
    """Return an address without its password, and the password, which is empty if there is none."""
    parts = _parse(text)
    password = str(parts.pop("password", None) or "")
    return (make_conninfo("", **parts) if password else text), password


def _parse(text: str) -> dict[str, Any]:
    """Read an address, of which nothing that is wrong is repeated: it may be the password."""
    try:
        is_uri = text.startswith(_SCHEMES)
        if (text and not is_uri and "=" not in text) or (is_uri and not _URI.fullmatch(text)):
            raise psycopg.ProgrammingError
        parts = conninfo_to_dict(text)
    except psycopg.Error:
        raise GossamerError(
            "The frontier's address cannot be read: write postgresql://user@host/database, with the password in "
            "PGPASSFILE or percent-encoded."
        ) from None
    if secrets := sorted(_OTHER_SECRETS & parts.keys()):
        raise GossamerError(
            f"The frontier's address must not hold {secrets[0]}, which would be written to crawl.toml: put it into a "
            "file of services, name that in PGSERVICEFILE, and write service=… in the address."
        )
    return parts


class Address:
    """A libpq address (`postgresql://…`), with its environment variables and password file left to libpq."""

    def __init__(self, text: str, *, to_read: bool = False) -> None:
        """Read an address, which will be used to work with the database or only to read."""
        parts = _parse(text)
        self.text = text
        self._to_read = to_read
        given_timeout = parts.get("connect_timeout") or os.environ.get("PGCONNECT_TIMEOUT")
        self.connect_timeout = str(given_timeout or CONNECT_S)  # seconds; the driver refuses other text
        given = str(parts.get("password") or "")
        self._secrets = {given, quote(given, safe=""), os.environ.get("PGPASSWORD", "")} - {""}
        host = parts.get("host") or parts.get("hostaddr") or os.environ.get("PGHOST") or "this machine"
        name = parts.get("dbname") or os.environ.get("PGDATABASE") or parts.get("user") or "its default database"
        self.place = f"{name} on {host}"

    @property
    def without_password(self) -> str:
        """As it may be shown."""
        return split_password(self.text)[0]

    def explain(self, error: psycopg.Error) -> str:
        """Return what went wrong in one line, without the password."""
        while error.sqlstate is None and isinstance(error.__context__, psycopg.Error):
            error = error.__context__  # what the driver met while it cleared up is no news
        for kind, advice in (_ADVICE | (_READERS_ADVICE if self._to_read else {})).items():
            if isinstance(error, kind):
                return f"PostgreSQL database {self.place}: {advice}"
        lines = str(error).strip().splitlines() or [type(error).__name__]
        said = next((meaning for words, meaning in _WORDS.items() if words in lines[0]), lines[0])
        if error.sqlstate is None and any(words in said for words in _REFUSALS):
            return f"PostgreSQL database {self.place}: {_CROWDED}"
        for secret in self._secrets:
            said = said.replace(secret, "***")
        return f"PostgreSQL database {self.place}: {said.rstrip('.')}"
