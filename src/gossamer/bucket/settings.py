"""The settings of uploads."""

from __future__ import annotations

from dataclasses import dataclass, field

from gossamer.bucket.address import parse_address


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadSettings:
    """Where finished files go, and how fast."""

    store: str = field(
        default="",
        metadata={
            "help": "Upload finished files to s3://BUCKET/PREFIX or file:///FOLDER, and delete the local copies. "
            "Credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from the role of the machine."
        },
    )
    keep_local: bool = field(default=False, metadata={"help": "Keep the local copies of uploaded files."})
    upload_rate_bytes: int | None = field(
        default=None,
        metadata={
            "help": "The most bytes a second that this machine uploads, on average over its files; if not given, there "
            "is no limit.",
            "minimum": 1_000,
        },
    )

    def __post_init__(self) -> None:
        if self.store:
            parse_address(self.store)
