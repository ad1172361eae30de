"""Tokens: made once, readable by their owner only."""

import os

import pytest

from bursar.web.service.auth import tokens_of


def test_a_token_that_was_being_written_when_bursar_was_killed_is_made_again(tmp_path, monkeypatch):
    """An empty file would keep the service from starting."""

    def kill(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(os, "fsync", kill)
        tokens_of(tmp_path, ["ann"])
    tokens = tokens_of(tmp_path, ["ann"])
    files = sorted((tmp_path / "tokens").iterdir())
    assert [file.name for file in files] == ["admin", "ann"]
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in files)
    assert tokens.user_of(f"Bearer {files[1].read_text()}") == "ann"
