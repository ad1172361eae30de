"""A place of its own for each test, and bursar as a real process in it."""

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

import pytest
from tests.loaded_bursar import LoadedBursar

MARKET = """
currency = "USD"
date = "2026-01-01"
[[offer]]
name = "small"
price = "0.01"
billing = "1s"
limit = 2
[[offer]]
name = "large"
price = "0.03"
billing = "1s"
limit = 1
speed = 2.0
"""


class Terminal:
    """A pseudo terminal, and bursar in it; `text` is all that reached it."""

    def __init__(self, place, words, columns):
        self.controller, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bursar", *words],
            cwd=place.path,
            env={**place.environment, "TERM": "xterm"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.text = ""

    def read(self, until=None, timeout=120):
        """Read until this is printed, or to the end."""
        begin = time.monotonic()
        while until is None or until not in self.text:
            assert time.monotonic() - begin < timeout, self.text
            if not self.more():
                break
        return self.text

    def more(self):
        """Read what is printed within a second; false once the other side is closed."""
        if select.select([self.controller], [], [], 1)[0]:
            try:
                data = os.read(self.controller, 65536)
            except OSError:
                return False
            self.text += data.decode(errors="replace")
        return True

    def type(self, text):
        os.write(self.controller, text.encode())

    def end(self, code=0):
        self.read()
        assert self.process.wait(timeout=60) == code, self.text
        return self.text

    def lines(self):
        """What was printed between line ends and returns, without movements and colours."""
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.text)
        return [line for line in re.split(r"[\r\n]+", plain) if line]

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.controller)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Place:
    def __init__(self, path, loaded=None):
        self.path = path
        self._loaded = loaded
        self.environment = {**os.environ, "NO_COLOR": "1"}
        for size in ("COLUMNS", "LINES"):  # which count for more than the size of a terminal
            self.environment.pop(size, None)
        self.environment.pop("BURSAR_HOME", None)
        self.write("market.toml", MARKET)

    def write(self, name, text):
        (self.path / name).write_text(text)
        return self.path / name

    def script(self, name, text):
        path = self.write(name, "#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def popen(self, *words, **options):
        return subprocess.Popen(
            [sys.executable, "-m", "bursar", *words],
            cwd=self.path,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )

    def bursar(self, *words, code=0):
        """Run to the end, check the exit code, and give what was printed."""
        if self._loaded and self._loaded.can_call(self.environment):
            ended, out, err = self._loaded.call(words, self.path, self.environment, timeout=120)
        else:
            process = self.popen(*words)
            out, err = process.communicate(timeout=120)
            ended = process.returncode
        assert ended == code, f"exit {ended}\n{out}\n{err}"
        assert "Traceback" not in err
        return out, err

    def terminal(self, *words, columns=80):
        """Run in a terminal of so many columns."""
        return Terminal(self, words, columns)

    def json(self, *words, code=0):
        return json.loads(self.bursar(*words, "--json", code=code)[0])

    def outputs(self, run):
        return self.path / ".bursar" / run / "outputs"


@pytest.fixture(scope="session")
def loaded_bursar():
    made = LoadedBursar()
    yield made
    made.close()


@pytest.fixture
def place(tmp_path, loaded_bursar):
    return Place(tmp_path, loaded_bursar)
