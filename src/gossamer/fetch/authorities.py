"""Which certificate authorities to trust: the system's, and those that the operator adds.

libcurl reads one file once and uses it for all connections as long as the file's name stays the same (0.7 instead of
7 ms per handshake). So there is one file: the system's own, or a copy with the operator's authorities appended.
"""

from __future__ import annotations

import ssl
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from collections.abc import Iterator

# Where systems keep their authorities, if OpenSSL's settings do not name the file.
_SYSTEM_FILES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


@contextmanager
def authorities_file(extra: Path | None) -> Iterator[Path]:
    """Provide the file of authorities to trust; it exists as long as the context."""
    system = _system_file()
    if extra is None:
        if system is None:
            raise GossamerError(
                "No certificate authorities were found on this system; install its ca-certificates package "
                "or name a file of them with --ca-file."
            )
        yield system
        return
    pem = _read_authorities(extra)
    with tempfile.TemporaryDirectory(prefix="gossamer-") as folder:
        both = Path(folder) / "authorities.pem"
        both.write_bytes((system.read_bytes() + b"\n" if system else b"") + pem)
        yield both


def _system_file() -> Path | None:
    candidates = (ssl.get_default_verify_paths().cafile, *_SYSTEM_FILES)
    return next((Path(each) for each in candidates if each and Path(each).is_file()), None)


def _read_authorities(file: Path) -> bytes:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(file)
        return file.read_bytes()
    except OSError as error:  # ssl's errors are OSErrors too
        raise GossamerError(
            f"{file} holds no readable certificates ({error}); name a PEM file with --ca-file."
        ) from None
