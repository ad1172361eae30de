from __future__ import annotations

import subprocess
import sys

import pytest

import bursar


@pytest.mark.parametrize("name", bursar.__all__)
def test_every_public_name_is_there(name):
    assert getattr(bursar, name) is not None
    assert name in dir(bursar)


def test_no_other_name_is():
    with pytest.raises(AttributeError, match="has no attribute 'Bursar'"):
        bursar.Bursar  # noqa: B018


def test_importing_bursar_imports_nothing_heavy():
    heavy = "{'msgspec', 'numpy', 'sqlite3'} & set(sys.modules)"
    program = f"import bursar, sys; print(sorted({heavy}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == b"[]\n"


def test_commands_on_this_computer_run_without_numpy(tmp_path):
    words = (sys.executable, "-X", "importtime", "-m", "bursar", "run", "true", ":::", "1", "2")
    done = subprocess.run(words, capture_output=True, check=True, cwd=tmp_path)
    assert b"bursar.runs.session" in done.stderr
    assert b"numpy" not in done.stderr
