"""A worker to be killed: keeps pages and syncs as fast as it can, and says after each sync how far it is.

python -m tests.store.writing <folder> <first page's number>
"""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

from tests.store.samples import keep, new_store


def main() -> None:
    """Write until killed."""
    folder, first = sys.argv[1:]
    store = new_store(Path(folder), segment_size_bytes=30_000, part_rows=60)
    print(first, flush=True)
    for number in count(int(first)):
        keep(store, number)
        if number % 7 == 0:
            store.sync()
            print(number + 1, flush=True)


main()
