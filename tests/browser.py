"""A real headless Chromium, driven by the DevTools protocol over a pipe: no driver, no network."""

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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
TIMEOUT = 60.0
SCREENSHOTS = Path(__file__).parents[1] / ".screenshots"
"""what pages looked like in the tests, to be looked at"""


def require_chromium() -> None:
    if PROGRAM is None:
        pytest.skip("needs Chromium: make peers installs Debian's chromium")


class Browser:
    """One process, one page at a time; `problems` is all that went wrong in its console."""

    def __init__(self) -> None:
        ours, theirs = os.pipe(), os.pipe()  # what we write, what we read
        self._profile = tempfile.mkdtemp(prefix="bursar-chromium-")

        def pipes() -> None:
            kept = os.dup(ours[0]), os.dup(theirs[1])
            os.dup2(kept[0], 3)
            os.dup2(kept[1], 4)

        assert PROGRAM is not None, "see require_chromium"
        self.process = subprocess.Popen(
            [
                PROGRAM, "--headless=new", "--remote-debugging-pipe", "--no-sandbox",
                "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
                "--disable-background-networking", "--disable-component-update",
                "--disable-extensions", "--no-proxy-server", "--force-device-scale-factor=1",
                f"--user-data-dir={self._profile}", "about:blank",
            ],
            preexec_fn=pipes,  # noqa: PLW1509 -- the tests have no thread here
            close_fds=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(ours[0])
        os.close(theirs[1])
        self._to, self._from = ours[1], theirs[0]
        self._rest = b""
        self._numbers = itertools.count(1)
        self.problems: list[str] = []
        self.requested: list[str] = []
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **values: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": values}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self, limit: float = TIMEOUT) -> dict[str, Any]:
        while b"\0" not in self._rest:
            assert select.select([self._from], [], [], limit)[0], "Chromium does not answer"
            self._rest += os.read(self._from, 1 << 20)
        text, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        values = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.problems.append(str(values["exceptionDetails"].get("exception", values)))
            case "Runtime.consoleAPICalled" if values["type"] in ("error", "assert"):
                self.problems.append(str(values["args"]))
            case "Log.entryAdded" if values["entry"]["level"] == "error":
                self.problems.append(f"{values['entry']['text']} {values['entry'].get('url')}")
            case "Network.requestWillBeSent":
                self.requested.append(values["request"]["url"])

    def size(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, address: str | Path, until: str = "document.readyState === 'complete'") -> None:
        self.call("Page.navigate", url=str(address))
        self.wait(until)

    def forget(self) -> None:
        """Leave the page, whose server may be gone, and what went wrong with it."""
        self.open("about:blank")
        self.problems.clear()

    def evaluate(self, script: str) -> Any:
        found = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, (script, found["exceptionDetails"])
        return found["result"].get("value")

    def wait(self, script: str, limit: float = TIMEOUT) -> None:
        begin = time.monotonic()
        while not self.evaluate(script):
            assert time.monotonic() - begin < limit, f"never true: {script}"
            time.sleep(0.05)

    def text(self, selector: str) -> Any:
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.textContent")

    def press(self, key: str) -> None:
        printed = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **printed)

    def screenshot(self, path: Path) -> None:
        """The whole page, as a picture."""
        tall = self.evaluate("document.documentElement.scrollHeight")
        wide = self.evaluate("window.innerWidth")
        clip = {"x": 0, "y": 0, "width": wide, "height": tall, "scale": 1}
        data = self.call(
            "Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True
        )
        path.write_bytes(base64.b64decode(data["data"]))

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._to)
        os.close(self._from)
        shutil.rmtree(self._profile, ignore_errors=True)


@contextmanager
def bursar(place: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A bursar whose runs are in this directory."""
    environment = {**os.environ, "BURSAR_HOME": str(place / ".bursar"), "NO_COLOR": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "bursar", *words],
        cwd=place, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=60)
