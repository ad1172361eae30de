"""A place of its own for each test, and bursar as a real process in it."""

import json
import os
import subprocess
import sys

import pytest

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


class Place:
    def __init__(self, path):
        self.path = path
        self.environment = {**os.environ, "NO_COLOR": "1"}
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
        process = self.popen(*words)
        out, err = process.communicate(timeout=120)
        assert process.returncode == code, f"exit {process.returncode}\n{out}\n{err}"
        assert "Traceback" not in err
        return out, err

    def json(self, *words, code=0):
        return json.loads(self.bursar(*words, "--json", code=code)[0])

    def outputs(self, run):
        return self.path / ".bursar" / run / "outputs"


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)
