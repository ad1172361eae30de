"""Too few descriptors: as many as allowed are used, and what lacks is told in one line."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import os, resource, sys
from bursar.execute.link import DispatchError, require_descriptors, socket_pair
soft, hard, fill = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
for _ in range(fill):
    try:
        os.open(os.devnull, os.O_RDONLY)
    except OSError:
        break
try:
    require_descriptors()
    pairs = [socket_pair() for _ in range(20)]
except DispatchError as error:
    print(error)
else:
    print(len(pairs), resource.getrlimit(resource.RLIMIT_NOFILE))
"""

TOLD = "may open no more than 40 files; allow more with ulimit -n, or use fewer slots"


@pytest.mark.parametrize(
    ("soft", "hard", "fill", "reported"),
    [
        (256, 512, 0, "20 (256, 512)"),
        (64, 512, 30, "20 (512, 512)"),
        (64, 512, 64, "20 (512, 512)"),
        (
            40,
            40,
            0,
            TOLD,
        ),
        (
            40,
            40,
            40,
            TOLD,
        ),
    ],
)
def test_the_limit_of_open_files_is_raised_as_far_as_it_goes(soft, hard, fill, reported):
    argv = [sys.executable, "-c", CODE, str(soft), str(hard), str(fill)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith(reported)
    assert done.stderr == ""
