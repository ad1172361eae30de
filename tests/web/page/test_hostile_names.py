"""Names that others chose show as text on the live page and in the list, however they are meant."""

from __future__ import annotations

import pytest
from tests.live_run import live_run, served

from bursar import WorkflowBuilder
from bursar.journal.runs import Home
from bursar.model.goal import Account, Budget, Goal
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.work import Work, make_bag
from bursar.model.workflow import Workflow
from bursar.state import events as ev

SCRIPT = "<script>document.title='broken'</script>"
IMAGE = "<img src=x onerror=\"document.title='broken'\">"
ANSI = "\x1b[31mred\x1b[0m"
BACKWARDS = "\u202egnp.exe\u2066"
LONG = "long" * 2_500
NAMES = (SCRIPT, IMAGE, ANSI, BACKWARDS, LONG)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A live run in which all that has a name has a hostile one."""
    home = Home(tmp_path_factory.mktemp("runs"))
    offers = tuple(Offer(name, Money.parse("0.10")) for name in NAMES)
    users = tuple(Account(name, Budget(Money.parse("9"))) for name in NAMES)
    with live_run(home, "hostile", offers, Goal(accounts=users)) as run:
        for user in NAMES:
            bag = make_bag([f"./{user}"], [[name] for name in NAMES])
            run.tell(ev.WorkArrived(0, Work(bag, user)))
        flow = WorkflowBuilder("flow")
        for name in (SCRIPT, IMAGE, LONG):  # others are refused
            flow.task(name, run="true")
        run.tell(ev.WorkArrived(0, Work(Workflow.of(flow.build()), SCRIPT)))
        for number, name in enumerate(NAMES):
            machine = run.rent(name, f"because {name}", SCRIPT)
            run.attempt(number + 1, machine, "failed", f"first line\n{name}")
        with served(home) as link:
            yield link


@pytest.mark.parametrize("width", [1280, 390])
def test_the_live_page(address, browser, width):
    browser.forget()
    browser.size(width)
    drawn = "document.querySelectorAll('.fail').length > 0"
    browser.open(f"{address}/run/hostile", drawn)
    assert browser.evaluate("document.title") == "hostile · bursar"
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    everything = browser.evaluate("document.body.innerText")
    assert SCRIPT in everything and IMAGE in everything
    assert "\x1b" not in everything, "no control code reaches a clipboard or a terminal"
    assert "\u202e" not in everything, "nothing turns the text around it"
    assert browser.evaluate("document.querySelectorAll('main img, main script').length") == 0
    assert browser.problems == []


def test_the_list(address, browser):
    browser.forget()
    browser.size(390)
    browser.open(address, "document.querySelectorAll('#runs-rows .meter').length > 0")
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
    assert browser.problems == []
