"""`python docs/pictures/make.py`: the pictures of the README, taken of the real product.

A bag is sampled and planned, the plan is run with a live page, and Chromium takes the picture.
"""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.browser import Browser  # noqa: E402

MARKET = """
currency = "USD"
date = "2026-01-01"
[[offer]]
name = "spot"
price = "0.01"
billing = "5s"
limit = 10
boot = "600ms"
pool = "unreliable"
[[offer]]
name = "sure"
price = "0.04"
billing = "5s"
limit = 3
boot = "400ms"
"""
TASK = """#!/bin/sh
# Some tasks take longer, and a few fail.
sleep "0.$((2 + $1 * 7 % 7))$((1 + $1 % 8))"
[ $(($1 % 67)) -ne 0 ] || { echo "ValueError: matrix for seed $1 is singular" >&2; exit 1; }
"""
SHARE = 0.62
"""of the tasks that are done in the picture"""
TASKS = 420


def main() -> None:
    """Make live.png beside this file."""
    with TemporaryDirectory() as directory:
        place = Path(directory)
        (place / "market.toml").write_text(MARKET)
        (place / "fit.sh").write_text(TASK)
        (place / "fit.sh").chmod(0o755)
        words = [sys.executable, "-m", "bursar"]
        work = ["./fit.sh {}", ":::", *map(str, range(1, TASKS + 1))]
        run = [*words, "run", "--page", "--name", "fits", "--market", "market.toml",
               "--budget", "2.00", "--deadline", "2m", "--fleet", "spot=10,sure=2",
               "--sabotage", "25s", "--shell", *work]  # fmt: skip
        environment = {**os.environ, "NO_COLOR": "1"}
        with subprocess.Popen(
            run, cwd=place, env=environment, text=True, stderr=subprocess.PIPE
        ) as process:
            assert process.stderr is not None  # noqa: S101
            link = next(
                found[1] for line in process.stderr if (found := re.match(r"page: (\S+)", line))
            )
            take(link, Path(__file__).with_name("live.png"))
            process.terminate()


def take(link: str, target: Path) -> None:
    browser = Browser()
    try:
        browser.size(1280)
        done = "Number(document.querySelector('#tile-tasks .number')?.textContent)"
        browser.open(link, f"{done} >= {SHARE * TASKS}")
        below = browser.evaluate(
            "document.querySelector('#why').getBoundingClientRect().top + window.scrollY - 12"
        )
        clip = {"x": 0, "y": 0, "width": 1280, "height": below, "scale": 0.7}
        data = browser.call(
            "Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True
        )
        target.write_bytes(base64.b64decode(data["data"]))
        assert not browser.problems, browser.problems  # noqa: S101
    finally:
        browser.close()


if __name__ == "__main__":
    main()
