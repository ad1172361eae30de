"""Amounts below a cent have three significant digits wherever they are shown."""

from __future__ import annotations

from importlib import import_module

import pytest
from click.testing import CliRunner

MARKET = """
currency = "USD"
date = "2026-01-01"
[[offer]]
name = "tiny"
price = "0.00001234"
billing = "1h"
limit = 1
"""
SPENT = "$0.0000123"
BUDGET = "$0.0000500"


def bursar(verb, *words):
    command = import_module(f"bursar.cli.{verb}").command
    done = CliRunner().invoke(command, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A finished run, and what it said."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BURSAR_HOME", raising=False)
    (tmp_path / "market.toml").write_text(MARKET)
    words = ("--market", "market.toml", "--budget", "0.00005", "--name", "r")
    return bursar("run", *words, "true", ":::", "1", "2")


def test_a_run_its_status_its_reasons_and_its_page_show_them(run, tmp_path):
    assert f"{SPENT} committed of {BUDGET}" in run
    assert f"{SPENT} committed of {BUDGET}" in bursar("status", "r")
    assert bursar("status").split()[-4:-2] == [SPENT, BUDGET]
    assert f"+1 tiny (tiny-1) at {SPENT} a unit" in bursar("why", "r")
    bursar("report", "r", "--html", "r.html")
    page = (tmp_path / "r.html").read_text()
    assert SPENT in page
    assert BUDGET in page


def test_a_simulation_shows_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "market.toml").write_text(MARKET)
    words = ("--market", "market.toml", "--tasks", "5", "--runtime", "3m", "--budget", "1")
    assert f" {SPENT} " in bursar("simulate", *words, "--fleet", "tiny=1")
