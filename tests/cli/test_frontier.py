import pytest

from bursar.formats.joblog import JoblogRow, format_joblog

BAG = ("frontier", "--tasks", "150", "--unreliable", "50", "--reliable-price", "0.34/h/s")
KNOWN = (
    *BAG,
    "--reliability",
    "0.827",
    "--turnaround",
    "34m~10m",
    "--unreliable-price",
    "0.01/h/s",
)


def log(outcomes):
    rows = [
        JoblogRow(number, "spot-1", 0.0, runtime, exitval, signal, "work")
        for number, (runtime, exitval, signal) in enumerate(outcomes, 1)
    ]
    return format_joblog(rows)


def test_the_frontier_has_marks_and_beats_what_the_paper_says_it_beats(place):
    found = place.json(*KNOWN, "--prefer", "makespan*cost")
    front = found["frontier"]
    costs = [one["cost_per_task"] for one in front]
    spans = [one["makespan_s"] for one in front]
    assert costs == sorted(costs)
    assert spans == sorted(spans, reverse=True)
    assert "cheapest" in front[0]["marks"]
    assert "fastest" in front[-1]["marks"]
    assert sum("knee" in one["marks"] for one in front) == 1
    preferred = front[found["preferred"] - 1]
    products = [one["makespan_s"] * one["cost_per_task"] for one in front]
    assert preferred["makespan_s"] * preferred["cost_per_task"] == min(products)
    assert "preferred" in preferred["marks"]
    usual = {one["name"]: one for one in found["usual"]}
    for name in ("AR", "TRR", "TR", "B=7.5", "CN-inf"):
        assert usual[name]["marks"], f"{name} is beaten (section 6.1)"
    assert not usual["AUR"]["marks"], "the cheapest of all cannot be beaten"
    assert front[0]["cost"] == pytest.approx(150 * costs[0])


def test_people_see_a_table_with_the_usual_strategies(place):
    out, err = place.bursar(*KNOWN, "--repetitions", "5")
    assert "82.7% of attempts return a result" in out
    for word in ("cheapest", "fastest", "knee", "<- preferred", "CN1T0", "see "):
        assert word in out
    assert "Means of 5 simulations of each of 350 strategies" in err


def test_budget_and_deadline_choose_among_what_fits(place):
    everything = place.json(*KNOWN)["frontier"]
    middle = everything[len(everything) // 2]
    by_money = place.json(*KNOWN, "--budget", f"{middle['cost']:.6f}1")
    assert by_money["frontier"][by_money["preferred"] - 1]["cost"] == middle["cost"]
    by_time = place.json(*KNOWN, "--deadline", f"{middle['makespan_s'] + 1:.0f}s")
    chosen = by_time["frontier"][by_time["preferred"] - 1]
    assert chosen["makespan_s"] <= middle["makespan_s"] + 1
    assert chosen["cost"] <= middle["cost"]
    out, err = place.bursar(*KNOWN, "--budget", "0.01", "--json")
    assert '"preferred":null' in out
    assert "no strategy is expected to keep within that" in err


def test_a_job_log_tells_reliability_and_turnaround_times(place):
    outcomes = [(60.0, 0, 0)] * 30 + [(120.0, 0, 0)] * 30 + [(5.0, 1, 0)] * 10 + [(7.0, 0, 9)] * 10
    place.write("old.log", log(outcomes))
    found = place.json(*BAG, "--history", "old.log")
    assert found["reliability"] == 0.75
    assert found["mean_turnaround_s"] == 90
    told = place.json(*BAG, "--history", "old.log", "--reliability", "0.9")
    assert told["reliability"] == 0.9
    place.write("times.txt", "1m\n\n120s\n")
    same = place.json(*BAG, "--turnaround", "times.txt", "--reliability", "0.75")
    assert same["mean_turnaround_s"] == 90


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "--turnaround"),
        (("--turnaround", "34m"), "--reliability 0.8"),
        (("--turnaround", "34m", "--reliability", "1.2"), "reliability of 1.2"),
        (("--turnaround", "34m", "--reliability", "0"), "reliability of 0"),
        (("--turnaround", "0s", "--reliability", "1"), "a time of nothing"),
        (("--turnaround", "34m~x", "--reliability", "1"), "'x' is no duration"),
        (("--turnaround", "nowhere.txt", "--reliability", "1"), "nowhere.txt"),
        (("--turnaround", "bad.txt", "--reliability", "1"), "bad.txt, line 2: 'soon'"),
        (("--history", "none.log"), "0 results to learn from"),
        (("--history", "one.log"), "1 result to learn from"),
        (("--turnaround", "34m", "--reliability", "1", "--prefer", "cost +"), "no preference"),
        (("--turnaround", "34m", "--reliability", "1", "--prefer", "open('x')"), "no preference"),
        (("--turnaround", "34m", "--reliability", "1", "--reliable", "51"), "use no more"),
        (("--turnaround", "34m", "--reliability", "1", "--unreliable-price", "1"), "no price"),
        (("--turnaround", "34m", "--reliability", "1", "--unreliable-price", "1/0s"), "no time"),
        (("--turnaround", "34m", "--reliability", "1", "--unreliable-price", "-1/h"), "negative"),
        (("--turnaround", "34m", "--reliability", "1", "--reliable-time", "0s"), "between 1 us"),
    ],
)
def test_a_mistake_is_told_in_one_line(place, words, told):
    place.write("none.log", log([(5.0, 1, 0)]))
    place.write("one.log", log([(5.0, 1, 0), (6.0, 0, 0)]))
    place.write("bad.txt", "1m\nsoon\n")
    out, err = place.bursar(*BAG, *words, code=2)
    assert told in err
    assert len(err.strip().splitlines()) == 1
    assert out == ""
