"""The address of a store is a bucket with a prefix, or a folder, and never holds a secret."""

from __future__ import annotations

import pytest

from gossamer.bucket.address import parse_address
from gossamer.bucket.objects import Trouble, judge_error
from gossamer.bucket.settings import UploadSettings


@pytest.mark.parametrize(
    ("text", "bucket", "prefix", "again"),
    [
        ("s3://crawls/2026/news", "crawls", "2026/news", "s3://crawls/2026/news"),
        ("s3://crawls/", "crawls", "", "s3://crawls"),
        ("s3://my.bucket-1/a=b/c d", "my.bucket-1", "a=b/c d", "s3://my.bucket-1/a=b/c d"),
        ("file:///srv/crawl/", "", "/srv/crawl", "file:///srv/crawl"),
    ],
)
def test_an_address_names_a_place(text: str, bucket: str, prefix: str, again: str) -> None:
    address = parse_address(text)
    assert (address.bucket, address.prefix, str(address)) == (bucket, prefix, again)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("gs://bucket/prefix", "is not a place to store files: write it like s3://bucket/prefix"),
        ("bucket/prefix", "is not a place to store files"),
        ("s3://", "'' is not the name of a bucket"),
        ("s3://Bucket/x", "'Bucket' is not the name of a bucket"),
        ("s3://bucket/a//b", "cannot be a prefix"),
        ("s3://bucket/../b", "cannot be a prefix"),
        ("s3://key:secret@bucket/b", "holds no credentials: set AWS_ACCESS_KEY_ID"),
        ("s3://bucket/b?secret=1", "holds no credentials"),
        ("file://host/folder", "names no folder of this machine"),
        ("file:///a/../b", "names no folder of this machine"),
    ],
)
def test_what_is_no_place_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as refused:
        UploadSettings(store=text)
    if "secret" in text:
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "said", "trouble", "why"),
    [
        ("GenericError", "status code: 503 Slow Down: <Error><Code>SlowDown</Code>", Trouble.AWAY, "503 SlowDown"),
        ("FileNotFoundError", "status code: 404: <Code>NoSuchBucket</Code>", Trouble.NO_BUCKET, "404 NoSuchBucket"),
        ("PermissionDeniedError", "status code: 403: <Code>AccessDenied</Code>", Trouble.NO_RIGHTS, "403 AccessDenied"),
        ("GenericError", "status code: 400: <Code>AuthorizationHeaderMalformed</Code>", Trouble.WRONG_REGION, None),
        ("GenericError", "Received redirect without LOCATION", Trouble.WRONG_REGION, None),
        ("GenericError", "GET http://169.254.169.254/latest: error", Trouble.NO_RIGHTS, "there are none"),
        ("GenericError", "HTTP error: operation timed out", Trouble.AWAY, "no answer in time"),
        ("GenericError", "HTTP error: connection refused AKIASECRET", Trouble.AWAY, "no answer"),
    ],
)
def test_an_error_is_told_by_its_cause_and_without_what_the_server_said(
    kind: str, said: str, trouble: Trouble, why: str | None
) -> None:
    found, cause = judge_error(kind, said)
    assert found is trouble
    assert "AKIA" not in cause
    if why is not None:
        assert cause == why
