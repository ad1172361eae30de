"""A snapshot says what the state says, in figures and a sentence."""

from __future__ import annotations

from base64 import b64decode

import msgspec
import numpy as np
import pytest

from bursar import WorkflowBuilder
from bursar.model.dag import dag_of
from bursar.model.goal import Account, Budget, Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag, Work, make_bag
from bursar.model.workflow import Workflow
from bursar.report.page.graph import MOST_GRAPHS
from bursar.report.page.machine_log import MachineLog
from bursar.report.page.money_split import USES
from bursar.report.page.numbers import amount, duration, moment, price, share
from bursar.report.page.reasons import Reasons
from bursar.report.page.series import MOST_POINTS, thinned
from bursar.report.page.snapshot import snapshot
from bursar.report.page.timeline import packed
from bursar.state import events as ev
from bursar.state.state import RunState
from bursar.testing import Scene

SMALL = Offer("small", Money.parse("0.10"), MINUTE)


def shown(scene, *, is_live=True, **options):
    log = MachineLog()
    reasons = Reasons(log)
    for event in scene.events:
        log.saw(event)
        reasons.saw(event)
    return snapshot(scene.state, log, reasons, scene.at, is_live=is_live, **options)


def begun(tasks=20, **conditions):
    """Two machines, six tasks done in a minute each, two running."""
    bag = make_bag(["fit"], [[f"case-{number}"] for number in range(tasks)])
    scene = Scene(SMALL, tasks=bag, **{"budget": "30", **conditions})
    machines = [scene.machine(stay=HOUR) for _ in range(2)]
    for turn in range(3):
        attempts = [scene.start(2 * turn + n + 1, machine) for n, machine in enumerate(machines)]
        scene.pass_time(MINUTE)
        for attempt in attempts:
            scene.end(attempt)
    for n, machine in enumerate(machines):
        scene.start(7 + n, machine)
    scene.pass_time(30 * SECOND)
    return scene


def expect(scene, minutes, cost, chance):
    """A forecast of the end and the cost."""
    end = tuple(scene.at + round(minutes * MINUTE * part) for part in (0.9, 1, 1.1))
    costs = tuple(Money.parse(str(round(cost * part, 2))) for part in (0.9, 1, 1.1))
    scene.tell(ev.ForecastMade(scene.at, end, costs, chance, 32))
    return scene


def tile(found, name):
    return next(one for one in found.tiles if one.id == name)


def test_a_run_on_course_says_when_it_ends_and_what_it_costs():
    found = shown(expect(begun(), 6.5, 14, 1.0))
    assert found.verdict.text == "On course: ends in 6.50\u00a0min, for $14.00 of $30.00."
    assert found.verdict.tone == "good"
    assert "2 small at work, 2 tasks running, 12 waiting" in found.verdict.more
    assert tile(found, "tasks").value == "6"
    assert tile(found, "tasks").unit == "of 20"
    assert tile(found, "chance").value == ">\u00a099\u00a0%"
    assert tile(found, "rate").value == "$12.00"


def test_a_deadline_that_cannot_be_kept_is_off_course():
    found = shown(expect(begun(deadline=5 * MINUTE), 6.5, 14, 0.0))
    assert found.verdict.tone == "bad"
    assert tile(found, "chance").value == "0\u00a0%"
    assert tile(found, "chance").label == "Chance to keep both"


def test_before_the_first_result_there_is_no_forecast():
    scene = Scene(SMALL, tasks=5, budget="9")
    assert "no machine yet" in shown(scene).verdict.text
    machine = scene.rent()
    assert shown(scene).verdict.text == "1 machine boots."
    scene.up(machine)
    scene.start(1, machine)
    found = shown(scene)
    assert found.forecast.now is None
    assert tile(found, "time").value == "–"


def test_the_time_of_a_plan_counts_from_its_choice_and_says_so():
    scene = begun(8)
    money = Money.parse("1")
    scene.tell(ev.PlanChosen(scene.at, "knee", {"small": 2}, MINUTE, MINUTE, money, money))
    scene.pass_time(MINUTE)
    for attempt in list(scene.state.attempts):
        scene.end(attempt)
    for machine in list(scene.state.machines):
        scene.down(machine)
    scene.tell(ev.RunEnded(scene.at, "done"))
    took = tile(shown(scene, is_live=False), "time")
    assert (took.value, took.unit) == ("60.0\u00a0s", "plan 60.0\u00a0s")
    assert took.more == "from the choice on; no deadline"


def test_an_ended_run_says_how_it_ended():
    scene = begun(8)
    for attempt in list(scene.state.attempts):
        scene.end(attempt, "failed", 3, "cannot\nfind <b>it</b>")
    for machine in list(scene.state.machines):
        scene.down(machine)
    scene.tell(ev.RunEnded(scene.at, "failed"))
    found = shown(scene, is_live=False)
    assert found.verdict.text == "Ended: 6 of 8 tasks done for $0.80 of $30.00; 2 tasks failed."
    assert found.money.exact == str(scene.state.ledger.committed)
    (group,) = found.failures.groups
    assert (group.count, group.line) == (2, "find <b>it</b>")
    assert group.stderr.startswith("cannot")
    assert found.failures.retry == "scene"


def test_a_redacted_snapshot_has_neither_commands_nor_what_tasks_printed():
    scene = begun(8)
    for attempt in list(scene.state.attempts):
        scene.end(attempt, "failed", 3, "secret output")
    text = msgspec.json.encode(shown(scene, redact=True))
    assert b"secret" not in text
    assert b"case-" not in text
    assert b"fit" not in text


def test_an_abandoned_run_says_so_and_how_to_continue():
    found = shown(begun(), is_live=False)
    assert found.state == "abandoned"
    assert "No process executes it" in found.verdict.text
    assert "bursar resume scene" in found.verdict.more


def test_series_end_where_the_state_stands():
    scene = begun()
    charts = shown(scene).charts
    assert charts.done.v[-1] == scene.state.done
    assert charts.running.v[-1] == len(scene.state.attempts)
    assert charts.fleet.v[-1] == len(scene.state.machines)
    assert charts.money.v[-1] == pytest.approx(float(scene.state.ledger.committed))


def test_a_long_series_is_thinned_to_what_a_screen_shows():
    found = thinned(range(100_000), range(100_000))
    assert len(found.t) <= MOST_POINTS
    assert (found.t[0], found.v[-1]) == (0, 99_999)


def test_machines_have_rows_with_their_attempts():
    rows = shown(begun()).machines.rows
    assert [row.name for row in rows] == ["small-1", "small-2"]
    assert [(end - begin, task) for begin, end, _, task, _ in rows[0].segments] == [
        (60.0, 1), (60.0, 3), (60.0, 5), (30.0, 7),
    ]  # fmt: skip


def test_more_machines_than_a_screen_has_rows_are_seats():
    scene = Scene(SMALL, tasks=300, budget="900")
    for number in range(90):
        machine = scene.machine(stay=HOUR)
        attempt = scene.start(number + 1, machine)
        scene.pass_time(MINUTE)
        scene.end(attempt)
        scene.down(machine, "lost")
    raster = shown(scene).machines.raster
    assert raster.offers == [("small", 1)], "each machine takes the seat of the one before"
    assert sum(raster.sums["useful"]) / raster.bins == pytest.approx(1, abs=0.02)


def test_cells_are_packed_as_runs_and_never_take_more_than_a_byte_each():
    rng = np.random.default_rng(1)
    for cells in (
        rng.integers(0, 11, 5_000),
        np.repeat(rng.integers(0, 11, 60), rng.integers(1, 70, 60)),
        np.array([7]),
    ):
        runs = b64decode(packed(cells.astype(np.uint8)))
        assert len(runs) <= len(cells)
        assert [run >> 4 for run in runs for _ in range((run & 15) + 1)] == cells.tolist()


def test_decisions_for_one_reason_are_one_group():
    scene = Scene(SMALL, tasks=5, budget="90")
    for number in range(3):
        until = scene.at + HOUR
        scene.tell(ev.MachineRented(scene.at, number + 1, "small", until, f"{number} more pay"))
        scene.pass_time(MINUTE)
    why = shown(scene).why
    rented = next(group for group in why.groups if group.kind == "rent")
    assert (rented.count, rented.what) == (3, "+3 small at $0.10 / min")
    assert sum(rented.strip) == 3


@pytest.mark.parametrize(
    ("time", "text"),
    [(0, "0 s"), (910_000, "910 ms"), (34_000_000, "34.0 s"), (22_068 * SECOND, "6.13 h")],
)
def test_times_have_three_digits_and_a_unit(time, text):
    assert duration(time).replace("\u00a0", " ") == text


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        *[("0.87", "$0.87"), ("8329.4", "$8,329"), ("0", "$0"), ("2.5", "$2.50")],
        *[("0.0021", "$0.00210"), ("0.00001234", "$0.0000123"), ("0.05", "$0.05")],
    ],
)
def test_money_has_cents_or_three_digits(text, figure):
    assert amount(Money.parse(text), "USD") == figure


@pytest.mark.parametrize(
    ("price_of_unit", "billing", "text"),
    [
        ("0.10", HOUR, "$0.10 / h"),
        ("0.000072", SECOND, "$0.26 / h"),
        ("0.02", MINUTE, "$0.02 / min"),
        ("0.08", 5 * SECOND, "$0.08 / 5.00\u00a0s"),
    ],
)
def test_prices_by_the_second_are_told_by_the_hour(price_of_unit, billing, text):
    assert price(Offer("any", Money.parse(price_of_unit), billing), "USD") == text


def test_money_that_is_almost_nothing_takes_no_more_room():
    assert amount(Money(31), "USD") == "<\u00a0$0.000001"


def test_demand_of_a_bag_is_exact():
    demand = shown(begun()).charts.demand
    assert (demand.t, demand.v) == ([0, 60, 120, 180, 210], [20, 18, 16, 14, 14])


def test_tasks_of_a_workflow_are_wanted_when_those_before_them_are_done():
    flow = Workflow.of(dag_of([[], [], [0, 1], [2]]))
    scene = Scene(SMALL, tasks=flow, budget="9")
    machine = scene.machine()
    for task in (1, 2, 3):
        attempt = scene.start(task, machine)
        scene.pass_time(MINUTE)
        scene.end(attempt)
    demand = shown(scene).charts.demand
    assert (demand.t, demand.v) == ([0, 60, 120, 180], [2, 1, 1, 1])


def test_demand_of_a_service_is_the_mean_between_two_notes():
    scene = Service()
    for user in ("ann", "bob"):
        scene.submit(user, 2)
    scene.pass_time(2 * SECOND)
    demand = shown(scene).charts.demand
    assert (demand.t, demand.v) == ([0, 2], [4, 4])


def test_nothing_is_ever_a_hundred_percent():
    assert share(0.9999).replace("\u00a0", " ") == "> 99 %"
    assert share(0.0001).replace("\u00a0", " ") == "< 1 %"
    assert moment(3_723 * SECOND) == "1:02:03"


def test_every_machine_is_in_the_ledger_and_the_amounts_are_all_of_it():
    scene = begun()
    lost = scene.machine(stay=2 * MINUTE)
    scene.pass_time(10 * SECOND)
    scene.down(lost, "lost")
    found = shown(scene).ledger
    assert [row.machine for row in found.rows] == ["small-3", "small-2", "small-1"]
    assert [row.state for row in found.rows] == ["lost", "up", "up"]
    assert [row.attempts for row in found.rows] == ["0", "4", "4"]
    assert [row.useful for row in found.rows] == ["0", "3", "3"]
    assert found.total == amount(scene.state.ledger.committed, "USD")
    paid = [float(row.amount.removeprefix("$")) for row in found.rows]
    assert sum(paid) == pytest.approx(float(scene.state.ledger.committed))
    assert found.before == ""


def test_supply_and_demand_end_with_what_is_there_now():
    found = shown(begun()).charts
    assert (found.demand.v[-1], found.supply.v[-1]) == (14, 2)
    assert found.demand.t[-1] == found.now


def test_the_fleet_of_each_offer_ends_with_what_is_there_and_knows_its_most():
    scene = begun()
    first = next(iter(scene.state.machines))
    scene.tell(ev.ReleaseOrdered(scene.at, first, "enough"))
    scene.tell(ev.MachineDown(scene.at, first, "released"))
    (fleet,) = shown(scene).charts.fleets
    assert (fleet.offer, fleet.most, fleet.steps.v[-1]) == ("small", 2, 1)


def test_the_tail_begins_when_the_last_task_is_started():
    assert shown(begun(tasks=20)).charts.tail is None, "twelve tasks wait"
    found = shown(begun(tasks=8)).charts
    assert found.tail == 180, "the last two began after three minutes"


class Service(Scene):
    """Two users of a service, each with tasks; `ann` may spend ten units a minute, `bob` one."""

    def __init__(self):
        super().__init__(SMALL, arrivals_open=True)
        self.state, self.events = RunState(), []
        users = (
            Account("ann", Budget(Money.parse("1.00"), MINUTE)),
            Account("bob", Budget(Money.parse("0.10"), MINUTE)),
        )
        market, goal = Market("USD", "undated", (SMALL,)), Goal(accounts=users)
        self.tell(ev.RunCreated(0, "service", market, goal, Limits(0, None), 0, {}, {}, 1.7e9))

    def submit(self, user, tasks):
        self.tell(ev.WorkArrived(self.at, Work(Bag(tasks), user)))

    def machine_of(self, user):
        number = self.state.machines_rented + 1
        until = self.at + MINUTE
        self.tell(ev.MachineRented(self.at, number, "small", until, "to fill", account=user))
        return self.up(number)


def test_a_service_says_who_lacks_machines_and_why():
    scene = Service()
    assert shown(scene).verdict.text == "Waiting for work."
    scene.submit("ann", 1)
    assert shown(scene).verdict.text == "Demand is above supply: 1 slot wanted, 0 up."
    scene.start(1, scene.machine_of("ann"))
    assert shown(scene).verdict.text == "Supply meets demand: 1 slot wanted, 1 up."
    scene.submit("bob", 3)
    scene.start(2, scene.machine_of("bob"))
    found = shown(scene)
    assert found.verdict.text.startswith("bob waits for money, until ")
    assert found.verdict.tone == "warn"
    assert (tile(found, "time").label, tile(found, "time").value) == ("Slots wanted", "4")
    assert tile(found, "time").more == "2 lacking"
    assert tile(found, "chance").more == "without money now: bob"


def test_money_of_users_is_reported_by_time_on_one_scale():
    scene = Service()
    scene.submit("ann", 1)
    for _ in range(4):
        scene.machine_of("ann")
    scene.submit("bob", 1)
    scene.machine_of("bob")
    scene.pass_time(2 * MINUTE)
    ann, bob = shown(scene).about.accounts
    assert (ann.total, bob.total) == ("$0.40", "$0.10")
    assert max(ann.spent) == 1
    assert sum(ann.spent) == pytest.approx(4 * sum(bob.spent), rel=0.01)
    assert not any(ann.spent[21:]), "the machines had a minute of two"


def test_failed_tasks_of_a_service_cannot_be_resumed():
    scene = Service()
    scene.submit("ann", 1)
    scene.end(scene.start(1, scene.machine_of("ann")), "failed")
    assert (shown(scene).failures.total, shown(scene).failures.retry) == (1, "")


def test_a_replica_under_way_has_a_state_of_its_own():
    scene = begun()
    machine = scene.machine(stay=HOUR)
    scene.start(7, machine)  # task 7 is running already
    scene.pass_time(30 * SECOND)
    found = shown(scene)
    uses = [USES[segment[2]] for row in found.machines.rows for segment in row.segments]
    assert uses.count("running") == 2
    assert uses.count("replica") == 1
    part = next(one for one in found.money.parts if one.use == "replica")
    assert (part.word, part.exact) == ("replica", "1/20"), "half a minute at 0.10 a minute"


def test_several_workflows_are_shown_the_latest_of_them():
    work = WorkflowBuilder("flow")
    work.task("one", run="true")
    flow = Workflow.of(work.build())
    scene = Scene(SMALL, budget="9", arrivals_open=True)
    scene.tell(ev.WorkArrived(0, Work(Bag(3))))
    for _ in range(MOST_GRAPHS + 2):
        scene.tell(ev.WorkArrived(0, Work(flow)))
    numbers = [one.work for one in shown(scene).graphs]
    assert numbers == list(range(4, 4 + MOST_GRAPHS)), "the first work is a bag"
