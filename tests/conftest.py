"""Laws are tried without a clock: a busy machine is no reason to fail."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from tests.browser import SCREENSHOTS, Browser, require_chromium
from tests.compiled_once import compiled_once
from tests.waiting_first import waiting_first

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As where the tests run in the background of a shell: their children would ignore it, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)

YOUNG = 10_000
"""so many new objects that garbage is looked for among them"""

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


def pytest_collection_modifyitems(items):
    """Where tests run side by side, those that wait are begun early."""
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    tests = [(item.nodeid.partition("::")[0], item) for item in items]
    items[:] = waiting_first(tests, processes)


def pytest_collection_finish():
    """Garbage is looked for seldom, and not among what was there before the first test.

    A process that runs tests holds so much that looking through it takes a tenth of its time.
    """
    gc.freeze()
    gc.set_threshold(YOUNG)


@pytest.fixture(scope="session", autouse=True)
def _kernels_compiled_once():
    with compiled_once():
        yield


@pytest.fixture(scope="module")
def moto(tmp_path_factory):
    """EC2 of a test file, without faults."""
    from tests.ec2_cloud import Moto

    made = Moto(tmp_path_factory.mktemp("moto"))
    yield made
    made.close()


@pytest.fixture
def cloud(moto, tmp_path):
    """A directory to call bursar in, and the machines that it rents from there."""
    from tests.ec2_cloud import Cloud

    made = Cloud(moto, tmp_path)
    yield made
    made.player.close()
    made.proxy.close()


@pytest.fixture
def small_disk(tmp_path):
    """Make file systems with little space or few inodes, where that is allowed."""
    mounted = []

    def mount(size="4m", inodes=1_000):
        place = tmp_path / f"disk-{len(mounted)}"
        place.mkdir()
        options = f"size={size},nr_inodes={inodes},mode=755"
        words = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        if os.geteuid() != 0 or subprocess.run(words, capture_output=True, check=False).returncode:
            pytest.skip("a small file system cannot be mounted here")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def public_directory():
    """A directory that every user may reach, unlike those of pytest."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    for directory in [path, *(p for p in path.rglob("*") if p.is_dir())]:
        directory.chmod(0o755)
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def browser():
    """One Chromium for all tests of pages."""
    require_chromium()
    SCREENSHOTS.mkdir(exist_ok=True)
    made = Browser()
    yield made
    made.close()
