"""Markets for executors, and calls that wait for a test."""

from __future__ import annotations

import time

from bursar.formats.market import parse_market

PAID = parse_market('[[offer]]\nname = "small"\nprice = "0.01"\nbilling = "1s"\nlimit = 2\n')
SINGLE = parse_market('[[offer]]\nname = "small"\nprice = "0.01"\nbilling = "1s"\nlimit = 1\n')


class Gate:
    def __init__(self, path):
        self.began = path / "began"
        self.opened = path / "opened"

    def call(self):
        began, opened = str(self.began), str(self.opened)

        def wait_there():
            import time
            from pathlib import Path

            Path(began).touch()
            end = time.monotonic() + 30
            while not Path(opened).exists() and time.monotonic() < end:
                time.sleep(0.01)
            return "through"

        return wait_there

    def await_begun(self):
        end = time.monotonic() + 30
        while not self.began.exists():
            assert time.monotonic() < end
            time.sleep(0.01)

    def open(self):
        self.opened.touch()
