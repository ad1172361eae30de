"""The page of a live service in a real browser, beside `bursar serve`: what its journal says."""

from __future__ import annotations

import json
import re
import signal
from contextlib import contextmanager

import pytest
from tests.browser import SCREENSHOTS, bursar

from bursar.client import Client
from bursar.journal.replay import load_state
from bursar.journal.runs import Home
from bursar.report.page.numbers import amount

MARKET = """
currency = "USD"
date = "2026-01-01"
[[offer]]
name = "small"
price = "0.10"
billing = "30m"
limit = 4
boot = "100ms"
"""
TASK = '#!/bin/sh\nuntil [ -e "$(dirname "$0")/go" ]; do sleep 0.1; done\n'


@contextmanager
def service_of_two(place):
    """Ann can pay for all that she wants, Bob for one machine an hour."""
    (place / "market.toml").write_text(MARKET)
    (place / "wait.sh").write_text(TASK)
    (place / "wait.sh").chmod(0o755)
    words = ["--user", "ann=5/h", "--user", "bob=0.10/h", "--port", "0"]
    with bursar(place, "serve", "--market", "market.toml", *words) as process:
        for line in process.stderr:
            if found := re.search(r"serves at (http://[\w.]+:\d+)", line):
                yield process, found[1]
                return
        raise AssertionError("the service did not begin")


def submit(place, url, user, tasks):
    token = (place / ".bursar" / "service" / "tokens" / user).read_text().strip()
    client = Client(url, token)
    try:
        rows = [[str(number)] for number in range(tasks)]
        client.submit_bag(f"{place / 'wait.sh'} {{}}", rows)
    finally:
        client.close()


def state_of(place):
    return load_state(Home(place / ".bursar").find("service").journal)


@pytest.fixture
def dashboard(tmp_path):
    with bursar(tmp_path, "dashboard", "--port", "0") as process:
        yield re.search(r"http://\S+", process.stderr.readline())[0]


def users(browser):
    """Rows of the table of users, by name: what its cells say."""
    rows = browser.evaluate(
        "[...document.querySelectorAll('#accounts tbody tr')]"
        ".map(r => [...r.children].map(c => c.textContent))"
    )
    heads = browser.evaluate(
        "[...document.querySelectorAll('#accounts thead th')].map(h => h.textContent)"
    )
    return {row[0]: dict(zip(heads, row, strict=True)) for row in rows}


def test_a_live_service_shows_its_users_demand_and_supply(tmp_path, dashboard, browser):
    browser.forget()
    browser.size(1280)
    with service_of_two(tmp_path) as (process, url):
        submit(tmp_path, url, "ann", 2)
        submit(tmp_path, url, "bob", 3)
        at_work = "document.querySelector('#verdict-more')?.textContent.includes('3 tasks running')"
        browser.open(f"{dashboard}run/service", at_work)
        browser.wait("document.querySelector('#verdict').textContent.startsWith('bob waits')")
        browser.wait("document.querySelectorAll('#accounts .meter').length === 2")
        lacking = "document.querySelector('#accounts tbody tr:nth-child(2)').textContent"
        browser.wait(f"{lacking}.endsWith('312')", 90)  # demand, supply, lacking
        state, shown = state_of(tmp_path), users(browser)
        for name, row in shown.items():
            assert row["in all"] == amount(state.ledger.committed_of(name), "USD")
            assert row["demand, slots"] == str(state.demand.now(name))
            assert row["supply, slots"] == str(state.supply.now(name))
        assert (shown["bob"]["budget"], shown["bob"]["lacking, slots"]) == ("$0.10/h", "2")
        assert (shown["ann"]["budget"], shown["ann"]["lacking, slots"]) == ("$5.00/h", "–")
        exact = f"{state.ledger.committed} USD"
        assert browser.evaluate("document.querySelector('#tile-money').title") == exact
        assert browser.text("#tile-time .number") == str(state.demand.now()) == "5"
        assert browser.text("#tile-time .unit") == f"{state.supply.now()} up"
        hidden = (
            "['time-and-money', 'forecasts'].every(i => document.getElementById(i).offsetTop === 0)"
        )
        assert browser.evaluate(hidden), "a service has no end that could be forecast"
        take_pictures(browser)
        (tmp_path / "go").touch()
        browser.wait("document.querySelector('#tile-tasks .number').textContent === '5'")
        process.send_signal(signal.SIGINT)
        process.wait(120)
        ended = "document.querySelector('#verdict').textContent.startsWith('Interrupted')"
        browser.wait(ended, 120)
    state = state_of(tmp_path)
    assert (state.done, str(state.ledger.committed)) == (5, "0.30")
    assert "bursar serve --market market.toml" in browser.text("#again code")
    assert browser.problems == []


def take_pictures(browser):
    for width, dark in ((1280, False), (1280, True), (390, False), (390, True)):
        browser.size(width, dark=dark)
        browser.wait("document.querySelector('#machines-canvas canvas') !== null")
        browser.evaluate("new Promise(done => setTimeout(done, 300))")  # drawn anew at this width
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        light = "dark" if dark else "light"
        browser.screenshot(SCREENSHOTS / f"service-{width}-{light}.png")
    browser.size(1280)


def test_a_service_is_in_the_list_with_its_users(tmp_path, dashboard, browser):
    browser.forget()
    with service_of_two(tmp_path):
        rows = "[...document.querySelectorAll('#runs-rows tr')].map(r => r.textContent)"
        browser.open(dashboard, f"{rows}.length === 1 && {rows}[0].includes('running')")
        (row,) = browser.evaluate(rows)
        assert row.startswith("service") and "2 users" in row, json.dumps(row)
    assert browser.problems == []
