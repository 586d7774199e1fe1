"""A real Chromium, driven through a pipe: opens pages, clicks, types, and notes what goes wrong there."""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

CHROMIUM: Final = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WAIT_S: Final = 90.0
_FLAGS: Final = (
    "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check", "--disable-gpu",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--disable-dev-shm-usage", "--force-color-profile=srgb",
)  # fmt: skip

# The browser expects its pipes as descriptors 3 and 4.
_REDIRECT: Final = """
import os, sys
reading, writing = (os.dup(int(end)) for end in sys.argv[1:3])
reading, writing = (os.dup(end) for end in (reading, writing))
os.dup2(reading, 3)
os.dup2(writing, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One tab. Every message of its console that is a warning or worse, and every request, is noted."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._numbers = itertools.count(1)
        self._received = b""
        self._events: deque[dict[str, Any]] = deque()
        self._session = ""
        self.console: list[str] = []  # errors and warnings
        self.requests: dict[str, str] = {}  # URLs that the tab asked for, by request; not those that a policy refused
        self.dialogs: list[str] = []  # what `alert` said: no page may get there
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def open(self, url: str) -> None:
        """Open a page, and wait until it has loaded."""
        self._loading(lambda: self._call("Page.navigate", url=url))

    def click(self, selector: str, *, loads: bool = False) -> None:
        """Click on the middle of an element with the mouse; `loads`: wait until another page has loaded."""
        rectangle = "(({left, top, width, height}) => [left + width / 2, top + height / 2])"
        found = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{found}.scrollIntoView({{block: 'center'}})")
        x, y = self.run(f"{rectangle}({found}.getBoundingClientRect())")

        def press() -> None:
            for kind in ("mousePressed", "mouseReleased"):
                self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

        if loads:
            self._loading(press)
        else:
            press()

    def type(self, selector: str, text: str) -> None:
        """Type into a field, in place of what is there."""
        self.run(f"document.querySelector({json.dumps(selector)}).select()")
        self.click(selector)
        self.run(f"document.querySelector({json.dumps(selector)}).select()")
        self._call("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """Press a key where the focus is."""
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def move(self, x: float, y: float) -> None:
        """Move the mouse."""
        self._call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page; a promise is waited for."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def text(self) -> str:
        """Return what the page says."""
        return str(self.run("document.body.innerText"))

    def wait_for(self, script: str) -> None:
        """Wait until an expression is true in the page."""
        until_s = time.monotonic() + WAIT_S
        while not self.run(script):
            assert time.monotonic() < until_s, f"{script} has not become true: {self.text()[:2000]}"
            self._take(0.1)

    def look(self, width: int, *, dark: bool = False, height: int = 900) -> None:
        """Use a window of this width, light or dark."""
        self._call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def photograph(self, file: Path, size: tuple[int, int] | None = None) -> None:
        """Take a picture of the whole page, or of this much of it from its upper left."""
        clip = {"clip": {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}} if size else {}
        taken = self._call("Page.captureScreenshot", captureBeyondViewport=True, **clip)["data"]
        file.write_bytes(base64.b64decode(taken))

    def _loading(self, act: Any) -> None:
        self._take(0)
        self._events.clear()
        act()
        until_s = time.monotonic() + WAIT_S
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            assert time.monotonic() < until_s, "the page has not loaded"
            self._take(0.1)
        self._events.clear()

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        until_s = time.monotonic() + WAIT_S
        while time.monotonic() < until_s:
            for answer in self._take(0.5):
                if answer["id"] == number:
                    assert "error" not in answer, f"{method}: {answer['error']}"
                    return dict(answer["result"])
        raise AssertionError(f"Chromium does not answer {method}")

    def _take(self, wait_s: float) -> list[dict[str, Any]]:
        """Read what the browser said; return answers, and note events."""
        if select.select([self._reading], [], [], wait_s)[0]:
            self._received += os.read(self._reading, 1 << 20)
        *whole, self._received = self._received.split(b"\0")
        messages = [json.loads(message) for message in whole]
        for message in messages:
            if "method" in message:
                self._note(message)
        return [message for message in messages if "id" in message]

    def _note(self, event: dict[str, Any]) -> None:
        said = event["params"]
        match event["method"]:
            case "Network.requestWillBeSent":
                self.requests[said["requestId"]] = said["request"]["url"]
            case "Network.loadingFailed" if said.get("blockedReason"):
                self.requests.pop(said["requestId"], None)
            case "Log.entryAdded" if said["entry"]["level"] in ("error", "warning"):
                self.console.append(f"{said['entry']['text']} {said['entry'].get('url', '')}")
            case "Runtime.exceptionThrown":
                self.console.append(str(said["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if said["type"] in ("error", "warning", "assert"):
                self.console.append(str(said["args"]))
            case "Page.javascriptDialogOpening":
                self.dialogs.append(said["message"])
        self._events.append(event)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Chromium inside the block."""
    assert CHROMIUM is not None
    to_browser, from_browser = os.pipe(), os.pipe()
    ends = (to_browser[0], from_browser[1])
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = [CHROMIUM, *_FLAGS, *root, f"--user-data-dir={Path(folder) / 'profile'}", "about:blank"]
        redirected = [sys.executable, "-c", _REDIRECT, *map(str, ends), *command]
        process = subprocess.Popen(
            redirected, pass_fds=ends, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": folder},
        )  # fmt: skip
        try:
            for end in ends:
                os.close(end)
            yield Browser(from_browser[0], to_browser[1])
        finally:
            process.kill()
            process.wait()
            for end in (from_browser[0], to_browser[1]):
                os.close(end)
