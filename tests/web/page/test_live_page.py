"""The live page in a real browser: what it shows is what the journal says."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from fractions import Fraction
from http.client import HTTPConnection
from random import Random
from urllib.parse import urlsplit

import pytest
from tests.browser import SCREENSHOTS, bursar, require_chromium

from bursar.engine.roles import Policy
from bursar.journal.reader import JournalReader
from bursar.journal.recorder import Recorder
from bursar.journal.replay import load_state
from bursar.journal.runs import Home
from bursar.journal.writer import JournalWriter
from bursar.model.goal import Account, Budget, Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag, Work
from bursar.policies.place.fifo import FifoPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.policies.replicate.none import NoReplicas
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.state import events as ev
from bursar.state.state import RunState

MARKET = """
currency = "USD"
date = "2026-01-01"
[[offer]]
name = "small"
price = "0.01"
billing = "2s"
limit = 2
boot = "200ms"
"""


@contextmanager
def run_with_page(place, name, command, tasks):
    """A run on two machines, its link and its token."""
    (place / "market.toml").write_text(MARKET)
    words = ["--market", "market.toml", "--budget", "5", "--fleet", "small=2", "--name", name]
    command = ["--shell", command, ":::", *map(str, range(1, tasks + 1))]
    with bursar(place, "run", *words, "--page", *command) as process:
        for line in process.stderr:
            found = re.match(r"page: (\S+) \(token to stop the run there: (\S+)\)", line)
            if found:
                yield process, found[1], found[2]
                return
        raise AssertionError("no link was printed")


def journal_of(place, name):
    return Home(place / ".bursar").find(name).journal


def tops(browser):
    script = "[...document.querySelectorAll('section[id]')].map(s => s.offsetTop)"
    return browser.evaluate(script)


def test_a_live_run_is_watched_from_start_to_end(tmp_path, browser):
    browser.forget()
    browser.size(1280)
    waiting = "sleep 0.15; [ {} -lt 24 ] || until [ -e go ]; do sleep 0.1; done"
    with run_with_page(tmp_path, "watched", waiting, 24) as (process, link, _):
        browser.open(link, "document.querySelector('#stream')?.textContent.startsWith('live')")
        browser.wait("Number(document.querySelector('#tile-tasks .number')?.textContent) >= 4")
        browser.wait("document.querySelector('#tile-time .number').textContent !== '–'")
        before = tops(browser)
        with JournalReader(journal_of(tmp_path, "watched")) as reader:
            seen = reader.last
        browser.wait(f"parseInt(document.querySelector('#stream').textContent.slice(7)) >= {seen}")
        browser.screenshot(SCREENSHOTS / "live-1280-light.png")
        assert (SCREENSHOTS / "live-1280-light.png").stat().st_size > 10_000, "it is kept"
        (tmp_path / "go").touch()  # it does not end before it was seen
        browser.wait("document.querySelector('#verdict').textContent.startsWith('Done')")
        assert process.wait(60) == 0
    state = load_state(journal_of(tmp_path, "watched"))
    assert browser.text("#tile-tasks .number") == str(state.done) == "24"
    exact = f"{state.ledger.committed} USD"
    assert browser.evaluate("document.querySelector('#tile-money').title") == exact
    assert browser.text("#about").startswith(f"watched · {state.events:,} events")
    assert browser.text("#again code").startswith("bursar run --market market.toml")
    exact_parts = "[...document.querySelectorAll('[data-use]')].map(p => p.dataset.exact)"
    parts = browser.evaluate(exact_parts)
    assert sum_of(parts) == state.ledger.committed
    moved = [abs(a - b) for a, b in zip(before, tops(browser), strict=True)]
    assert max(moved) <= 1, "nothing moves while a page is live"
    assert browser.problems == []


def sum_of(parts):
    nanos = sum(map(Fraction, parts)) * 1_000_000_000
    assert nanos.denominator == 1
    return Money(nanos.numerator)


def test_stop_works_with_and_only_with_the_token(tmp_path, browser):
    browser.forget()
    with run_with_page(tmp_path, "stopped", "sleep 0.2 # {}", 600) as (process, link, token):
        browser.open(link, "document.querySelector('#stop')?.classList.contains('gone') === false")
        known = {"Authorization": f"Bearer {token}"}
        elsewhere = link.replace("stopped", "..%2f..%2fstopped")
        for address, headers, status in (
            (link, {}, 401),
            (link, {"Authorization": "Bearer wrong"}, 401),
            (link, {**known, "Origin": "http://evil.example"}, 403),
            (link, {**known, "Host": "evil.example"}, 421),
            (elsewhere, known, 404),
        ):
            assert asked("POST", f"{address}/stop", headers)[0] == status
        browser.evaluate("document.querySelector('#stop').click()")
        answer = "document.querySelector('#stop-answer').textContent"
        type_token(browser, "wrong")
        browser.wait(f"{answer}.includes('missing or wrong')")
        assert process.poll() is None
        type_token(browser, token)
        browser.wait(f"{answer}.startsWith('asked process')")
        browser.wait("document.querySelector('#verdict').textContent.startsWith('Interrupted')")
        assert process.wait(60) == 130
    assert [one for one in browser.problems if "401" not in one] == []


def type_token(browser, token):
    browser.evaluate(
        f"document.querySelector('#stop-token').value = {json.dumps(token)};"
        "document.querySelector('#stop-form').requestSubmit()"
    )


def asked(method, address, headers=None):
    """The status and the text of an answer."""
    parts = urlsplit(address)
    connection = HTTPConnection(parts.netloc, timeout=30)
    try:
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        connection.request(method, target, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory):
    """The dashboard of a place with a simulated run of 80 machines that vanish."""
    require_chromium()
    place = tmp_path_factory.mktemp("runs")
    simulated(Home(place / ".bursar"), "simulated")
    team(Home(place / ".bursar"), "team")
    with bursar(place, "dashboard", "--port", "0") as process:
        link = re.search(r"http://\S+", process.stderr.readline())[0]
        yield place, link


class Vanishing:
    """Tasks take a minute or two, machines live for a few, one attempt in 25 fails."""

    def __init__(self):
        self._rng = Random(1)

    def attempt(self, task, attempt, machine, now):
        outcome = "failed" if self._rng.random() < 0.15 else "success"
        return round(self._rng.uniform(1, 2) * MINUTE), outcome

    def boot(self, machine):
        return machine.offer.boot

    def life(self, machine):
        return round(self._rng.expovariate(1 / (9 * MINUTE)))

    def notice(self, machine):
        return 0


def simulated(home, name):
    spot = Offer(
        "spot", Money.parse("0.02"), 5 * MINUTE, limit=12, boot=20 * SECOND, pool="unreliable"
    )
    run = home.create(name)
    with JournalWriter.create(run.journal, name) as writer:
        policy = Policy(Fixed({"spot": 12}), FifoPlacer(), NoReplicas())
        kept = Kept(writer)
        simulate(
            Market("USD", "2026-01-01", (spot,)), Goal(Money.parse("40")), Bag(300), policy,
            Vanishing(), limits=Limits(1), journal=kept,
        )  # fmt: skip
        kept.close()


def team(home, name):
    """Two users of a service, of whom one has money for one machine only."""
    small = Offer("small", Money.parse("0.50"), 10 * MINUTE, limit=4)
    ann, bob = (
        Account("ann", Budget(Money.parse("4"), HOUR)),
        Account("bob", Budget(Money.parse("0.60"), HOUR)),
    )
    run = home.create(name)
    with JournalWriter.create(run.journal, name) as writer:
        kept = Kept(writer)
        simulate(
            Market("USD", "2026-01-01", (small,)), Goal(accounts=(ann, bob)),
            [ev.WorkArrived(0, Work(Bag(6), one)) for one in ("ann", "bob")],
            Policy(Fixed({"small": 3}), FifoPlacer(), NoReplicas()),
            ModelledBehaviour(given([9 * MINUTE] * 12)), journal=kept,
        )  # fmt: skip
        kept.close()


class Kept:
    """A journal of a run that has another state than this."""

    def __init__(self, writer):
        self._state = RunState()
        self._recorder = Recorder(writer, self._state)

    def append(self, event):
        self._recorder.append(event)
        self._state.apply(event)

    def commit(self, *, safely):
        self._recorder.commit(safely=False)

    def close(self):
        self._recorder.close()


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False)])
def test_a_simulated_run_shows(dashboard, browser, width, dark):
    place, link = dashboard
    browser.forget()
    browser.size(width, dark=dark)
    drawn = "document.querySelector('#machines-sub')?.textContent.includes('lost')"
    browser.open(f"{link}run/simulated", drawn)
    state = load_state(journal_of(place, "simulated"))
    assert browser.text("#tile-tasks .number") == f"{state.done:,}"
    assert str(state.failed) in browser.text("#tile-tasks .alert")
    lost = int(re.search(r"([\d,]+) lost", browser.text("#machines-sub"))[1].replace(",", ""))
    assert lost > 5
    rows = "[...document.querySelectorAll('#ledger-table tbody tr')]"
    assert browser.evaluate(f"{rows}.filter(r => r.children[1].textContent === 'lost').length") > 5
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    moved = (
        "(() => { const pad = document.querySelector('#money-chart svg').lastChild,"
        " at = pad.getBoundingClientRect(); pad.dispatchEvent(new MouseEvent('mousemove',"
        " { clientX: at.left + at.width / 2, clientY: at.top + 5, bubbles: true }));"
        " return document.querySelectorAll('svg .cursor[visibility=visible]').length === 4; })()"
    )
    browser.wait(moved)  # money, tasks, supply, fleet: one moment in all charts
    assert not browser.evaluate("document.querySelector('.cursor-line').matches('.gone')")
    browser.screenshot(SCREENSHOTS / f"simulated-{width}-{'dark' if dark else 'light'}.png")
    assert browser.problems == []


def test_the_list_shows_all_runs_and_leads_to_them(dashboard, browser):
    _, link = dashboard
    browser.forget()
    browser.size(1280)
    browser.open(link, "document.querySelectorAll('#runs-rows .meter').length > 0")
    names = "[...document.querySelectorAll('#runs-rows a')].map(a => a.textContent).sort()"
    assert browser.evaluate(names) == ["simulated", "team"]
    assert browser.text("#runs-verdict").startswith("No run is live.")
    browser.screenshot(SCREENSHOTS / "runs-1280-light.png")
    browser.evaluate("document.querySelector('#runs-rows a[href$=simulated]').click()")
    browser.wait("document.querySelector('#tile-tasks .number')?.textContent !== undefined")
    assert browser.problems == []


def test_a_team_sees_budgets_use_and_the_gap(dashboard, browser):
    _, link = dashboard
    browser.forget()
    for width in (1280, 390):
        browser.size(width)
        browser.open(f"{link}run/team", "document.querySelector('#accounts .meter') !== null")
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        browser.screenshot(SCREENSHOTS / f"team-{width}-light.png")
    cells = "[...document.querySelectorAll('#accounts tbody tr')].map(r => r.textContent)"
    ann, bob = browser.evaluate(cells)
    assert browser.text("#verdict") == "Done: 12 of 12 tasks done in 5.15\u00a0h for $6.00."
    assert ann.startswith("ann") and "$4.00" in ann
    assert bob.startswith("bob") and "$0.60" in bob
    lacking = "document.querySelector('#supply-chart .lacking').getAttribute('d')"
    assert browser.evaluate(lacking).startswith("M"), "bob waits for money: the gap is shaded"
    assert browser.problems == []


def test_keys_reach_panels_filter_decisions_and_change_the_light(dashboard, browser):
    _, link = dashboard
    browser.size(1280)
    browser.open(f"{link}run/simulated", "document.querySelectorAll('#why-list b').length > 1")
    browser.press("d")
    assert browser.evaluate("document.documentElement.dataset.theme") == "dark"
    browser.press("d")
    browser.press("/")
    browser.call("Input.insertText", text="taken away")
    browser.wait("[...document.querySelectorAll('#why-list b')].length === 1")
    assert "taken away" in browser.text("#why-list b")
    browser.evaluate("document.activeElement.blur()")
    browser.press("f")
    assert browser.evaluate("document.activeElement.id") == "failures"


def test_a_page_is_told_once_what_it_shows(dashboard):
    _, link = dashboard
    _, text = asked("GET", f"{link}run/simulated")
    stream = re.search(r'data-events="/([^"]+)"', text)[1]
    _, told = asked("GET", link + stream)
    assert re.findall(r"^event: (\w+)$", told, re.MULTILINE) == ["ended"], "the page has the rest"
    _, told = asked("GET", f"{link}run/simulated/events?since=1")
    assert "event: snapshot" in told, "a version of a server that is gone says nothing"


def test_a_stream_goes_on_where_it_was_left(dashboard):
    _, link = dashboard
    address = f"{link}run/simulated/events"
    _, text = asked("GET", address)
    assert re.findall(r"^event: (\w+)$", text, re.MULTILINE) == ["snapshot", "ended"]
    last = re.findall(r"^id: (\d+)$", text, re.MULTILINE)[-1]
    _, again = asked("GET", address, {"Last-Event-ID": last})
    assert re.findall(r"^event: (\w+)$", again, re.MULTILINE) == ["ended"], "it knows all"
