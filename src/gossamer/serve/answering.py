"""What the process behind the dashboard answers: one line of JSON for each on its input, until that ends."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gossamer.crawl import orders
from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Answering:
    """Answers requests about one crawl."""

    def __init__(self, folders: list[Path], scratch: Path) -> None:
        self._folders = folders
        self._scratch = scratch

    def answer(self, request: Mapping[str, Any]) -> Any:
        """Return the answer as JSON values."""
        parameters = {name: value for name, value in request.items() if name != "what"}
        return _QUESTIONS[request["what"]](self, **parameters)

    def order(self, *, order: str, entry: str = "") -> str:
        """Carry out an order, and return what came of it."""
        folder = self._folders[0]
        match order:
            case "pause":
                return orders.pause(folder)
            case "resume":
                return orders.resume(folder)
            case "stop":
                return orders.stop(folder)
            case "exclude":
                return orders.exclude(folder, [entry])
            case "readmit":
                return orders.readmit(folder, [entry])
        raise GossamerError(f"There is no order {order!r}.")


_QUESTIONS: Final[dict[str, Callable[..., Any]]] = {"order": Answering.order}


def main() -> None:
    """Answer until the input ends. Only answers go to the output: what a library prints goes to the errors."""
    output = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    folders, scratch = json.loads(sys.argv[1]), sys.argv[2]
    answering = Answering([Path(folder) for folder in folders], Path(scratch))
    for line in sys.stdin.buffer:
        try:
            said = {"answer": answering.answer(json.loads(line))}
        except GossamerError as error:
            said = {"refused": str(error)}
        except OSError as error:
            said = {"refused": f"{error.filename or 'A file'} cannot be used ({error.strerror})."}
        output.write(json.dumps(said).encode() + b"\n")


if __name__ == "__main__":
    main()
