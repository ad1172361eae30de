"""What was offered is what is chosen: a list of plans is kept, and `--choose` picks from it."""

from __future__ import annotations

import json
import time

import pytest

from bursar.formats.performance import add_measurements
from bursar.journal.replay import load_state
from bursar.journal.runs import Home
from bursar.runs.known_workflow import KnownWorkflow

BAG = ("sleep 0.02{}", ":::", *map(str, range(60)))
FAN = """
name: fan
defaults: {runtime: 2s}
tasks:
  begin: {run: touch seed, files: {out: [seed]}}
  work-1: {run: 'true', needs: begin}
  work-2: {run: 'true', needs: begin}
  end: {run: 'true', needs: [work-1, work-2]}
"""


def planned(place, *options):
    """The plans of a sampled bag, as programs see them."""
    words = ("plan", "-m", "market.toml", "--json", *options, *BAG)
    return json.loads(place.bursar(*words)[0])


def events(place, run, kind):
    lines = place.bursar("export", run, "--events", "-")[0].splitlines()
    return [event for event in map(json.loads, lines) if event["type"] == kind]


def is_of(chosen, plan):
    """Whether an event tells of the choice of a plan that was shown."""
    return (chosen["name"], chosen["fleet"], chosen["cost_p50"]) == (
        plan["name"],
        plan["fleet"],
        plan["cost_p50"],
    )


def test_a_number_means_what_it_meant_on_the_screen(place):
    shown = planned(place, "--name", "p", "--choices", "3")["plans"]
    number = len(shown)
    assert 2 <= number <= 10, "seven, and three more"
    place.bursar("run", "p", "--choose", str(number))
    [chosen] = events(place, "p", "PlanChosen")
    assert is_of(chosen, shown[-1])
    assert len(events(place, "p", "PlansOffered")) == 1, "nothing was computed again"


def test_the_plan_within_the_budget_can_be_chosen_and_keeps_the_budget(place):
    shown = planned(place, "--name", "p", "-b", "2", "-y")["plans"]
    [within] = [plan for plan in shown if "budget" in plan["names"]]
    out, _ = place.bursar("run", "p", "--choose", "budget", "--json")
    [chosen] = events(place, "p", "PlanChosen")
    assert is_of(chosen, within)
    reported = json.loads(out)["money"]
    assert float(reported["committed"]) <= float(reported["budget"]) <= 2
    assert reported["budget"] == within["cap"]


def test_another_budget_than_the_plans_were_made_for_holds_and_is_reported_in_a_line(place):
    place.bursar("plan", "-m", "market.toml", "--name", "p", "-b", "2", "-y", *BAG)
    out, err = place.bursar("run", "p", "--choose", "knee", "-b", "3", "--json")
    assert "note: the plans were made for a budget of $2.00; this one is run as it was" in err
    assert json.loads(out)["money"]["budget"] == "3.00"


def test_a_list_is_shown_again_as_it_was_and_another_takes_its_place(place):
    first = planned(place, "--name", "p", "--choices", "2")
    assert place.json("plan", "p") == first
    other = place.json("plan", "p", "--confidence", "0.7")
    assert other["plans"] != first["plans"]
    assert place.json("plan", "p") == other
    place.bursar("run", "p", "--choose", "2")
    [chosen] = events(place, "p", "PlanChosen")
    assert is_of(chosen, other["plans"][1])


def test_a_sample_without_a_list_gets_one_when_a_plan_is_chosen(place):
    """As in a journal of an earlier version."""
    place.bursar("plan", "-m", "market.toml", "--name", "p", "--deadline", "1ms", *BAG, code=2)
    assert events(place, "p", "PlansOffered") == []
    place.bursar("run", "p", "--choose", "fastest")
    [offered], [chosen] = events(place, "p", "PlansOffered"), events(place, "p", "PlanChosen")
    assert any(is_of(chosen, plan) for plan in offered["plans"])


# --- workflows -----------------------------------------------------------------------------------


@pytest.fixture
def fan(place):
    place.write("fan.yaml", FAN)
    return place


def calibrate(place, small, large):
    """Let machines be measured once more, at these speeds."""
    place.path.joinpath(".bursar").mkdir(exist_ok=True)
    for offer, speed in (("small", small), ("large", large)):
        rows = [(time.time() - 60, speed)] * 20
        add_measurements(place.path / ".bursar" / "performance.json", offer, {"cpu": rows})


def test_a_workflow_is_run_as_planned_though_it_was_calibrated_since(fan):
    calibrate(fan, 1.0, 2.0)
    words = ("plan", "fan.yaml", "-m", "market.toml", "-b", "5", "--deviation", "10%")
    shown = fan.json(*words, "--name", "p")
    run = Home(fan.path / ".bursar").find("p")
    state = load_state(run.journal)
    [(_, work)] = state.work
    flow = work.tasks
    then = KnownWorkflow.recalled(flow, state, 1).times
    calibrate(fan, 8.0, 0.25)
    other = fan.json(*words, "--name", "other")
    assert other["plans"] != shown["plans"], "a plan made now is another"
    number = shown["chosen"]
    _, err = fan.bursar("run", "p", "--choose", str(number))
    assert f"plan '{shown['plans'][number - 1]['name']}': predicted" in err
    [chosen] = events(fan, "p", "PlanChosen")
    assert is_of(chosen, shown["plans"][number - 1])
    offers = dict(zip(flow.names, chosen["assigned"]["tasks"], strict=True))
    assert {name: chosen["assigned"]["offers"][n] for name, n in offers.items()} == shown["offers"]
    advisors = KnownWorkflow.recalled(flow, load_state(run.journal), 1).times
    assert (advisors.table == then.table).all(), "who plans anew counts on the same run times"
    [(_, again)] = load_state(Home(fan.path / ".bursar").find("other").journal).work
    assert again.tasks == flow


def test_a_workflow_that_waits_for_a_choice_cannot_be_resumed_without_one(fan):
    fan.bursar("plan", "fan.yaml", "-m", "market.toml", "-b", "5", "--name", "p")
    assert fan.json("status", "p")["status"] == "planned"
    err = fan.bursar("resume", "p", code=2)[1]
    assert "waits for a choice among its plans: bursar run p --choose knee" in err
    reported = fan.json("run", "p", "--choose", "cheapest")
    assert reported["tasks"]["done"] == 4
    assert reported["money"]["budget"] == "5.00"
    assert events(fan, "p", "AssignmentChanged") == [], "the choice is no reason to plan anew"


def test_a_workflow_without_a_budget_is_capped_by_its_plan(fan):
    _, err = fan.bursar("plan", "fan.yaml", "-m", "market.toml", "--name", "p")
    assert "cap of each, which is cost-P90 + a reserve for the last tasks: 1 $" in err
    shown = fan.json("plan", "p")["plans"]
    out, err = fan.bursar("run", "p", "--choose", "cheapest", "--json")
    assert json.loads(out)["money"]["budget"] == shown[0]["cap"]
    assert " bound + " in err


def test_what_stands_at_the_outputs_is_looked_for_when_the_run_begins(fan):
    fan.bursar("plan", "fan.yaml", "-m", "market.toml", "-b", "5", "--name", "p")
    assert events(fan, "p", "FilesFound") == []
    fan.write("seed", "mine")
    fan.bursar("run", "p", "--choose", "cheapest")
    [found] = events(fan, "p", "FilesFound")
    assert found["names"] == ["seed"]
    assert (fan.path / "seed").read_text() == "mine"


def test_a_workflow_that_cannot_be_run_is_planned_and_not_kept(fan):
    fan.write("bare.yaml", "defaults: {runtime: 2s}\ntasks: {a: {}, b: {needs: a}}")
    _, err = fan.bursar("plan", "bare.yaml", "-m", "market.toml", "-b", "5")
    assert "not saved: task 'a' has no command" in err
    assert not (fan.path / ".bursar").exists()
