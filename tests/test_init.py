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
