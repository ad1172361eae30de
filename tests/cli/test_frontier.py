import os
from pathlib import Path

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


MIXED = """
currency = "EUR"
date = "2026-01-01"
[[offer]]
name = "spot"
price = "0.04"
limit = 20
slots = 2
pool = "unreliable"
[[offer]]
name = "own"
price = "0.34"
limit = 3
speed = 2.0
[[offer]]
name = "dear"
price = "1.00"
"""
ANNOUNCED = 2.0
"""seconds of a processor; below one where nothing else is at work"""
QUICK = ("--repetitions", "5", "--grid", "paper")


def log(outcomes):
    rows = [
        JoblogRow(number, "spot-1", 0.0, runtime, exitval, signal, "work")
        for number, (runtime, exitval, signal) in enumerate(outcomes, 1)
    ]
    return format_joblog(rows)


def test_the_frontier_has_marks_and_beats_what_the_paper_says_it_beats(place):
    found = place.json(*KNOWN, "--prefer", "makespan*cost", "--grid", "paper", "--faithful")
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
        assert usual[name]["marks"][0].startswith("see "), f"{name} is beaten (section 6.1)"
    assert front[0]["name"] == "AUR", "the cheapest of all cannot be beaten"
    assert front[0]["cost"] == pytest.approx(150 * costs[0])


@pytest.mark.parametrize("words", [(), ("--faithful",), ("--grid", "paper")])
def test_nothing_beats_what_is_called_the_cheapest_or_the_fastest(place, words):
    found = place.json(*KNOWN, "--repetitions", "20", *words)
    shown = [*found["frontier"], *found["usual"]]
    for mark, figure in (("cheapest", "cost"), ("fastest", "makespan_s")):
        marked = [one for one in found["frontier"] if mark in one["marks"]]
        assert [one[figure] for one in marked] == [min(one[figure] for one in shown)]
    for one in found["usual"]:
        on_it = [other for other in found["frontier"] if other["name"] == one["name"]]
        if on_it:
            assert on_it == [one]
        else:
            better = found["frontier"][int(one["marks"][0].removeprefix("see ")) - 1]
            assert better["cost"] <= one["cost"]
            assert better["makespan_s"] <= one["makespan_s"]


def test_fractions_of_a_cent_can_be_reported_apart(place):
    words = ("--turnaround", "0.1s~0.02s", "--unreliable-price", "0.01/h/s")
    out, err = place.bursar(*BAG, "--reliability", "0.8", *words, *QUICK)
    costs = [line.split()[-2:] for line in out.splitlines() if line[:1].isdigit()][1:]
    assert "0.00 " not in out
    assert len({cost for row in costs for cost in row if cost[0] == "0"}) > 5
    assert err.count("storage and transfer are not included") == 1


def processor_seconds(process):
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_the_first_compilation_is_announced_before_it_begins(place, tmp_path):
    """Before the first figure there is half a minute of nothing, which looks like a hang."""
    cache = tmp_path / "cache"
    place.environment["NUMBA_CACHE_DIR"] = str(cache)
    process = place.popen(*KNOWN, *QUICK)
    try:
        first = process.stderr.readline()
        compiled, taken = list(cache.rglob("*.nbc")), processor_seconds(process)
        assert first.startswith("compiling the simulation: once on this computer")
        assert not compiled
        assert taken < ANNOUNCED
    finally:
        process.kill()
        process.communicate()


def test_people_see_a_table_with_the_usual_strategies(place):
    out, err = place.bursar(*KNOWN, "--repetitions", "5")
    assert "82.7% of attempts return a result" in out
    for word in ("cheapest", "fastest", "knee", "<- preferred", "CN1T0", "see "):
        assert word in out
    assert max(map(len, out.splitlines())) <= 100
    assert "Means and P90 of 5 simulations of each of " in err
    out, err = place.bursar(*KNOWN, "--repetitions", "5", "--grid", "paper")
    assert "of each of 357 strategies" in err


def test_money_is_reckoned_for_all_that_works_unless_as_published(place):
    real, published = (
        {one["name"]: one for one in place.json(*KNOWN, *QUICK, *words)["usual"]}
        for words in ((), ("--faithful",))
    )
    assert real["AUR"]["cost"] > 1.3 * published["AUR"]["cost"], "what is lost is paid for"
    assert real["CN1T0"]["makespan_s"] < published["CN1T0"]["makespan_s"], "rivals are called back"


def test_each_strategy_has_its_spread(place):
    for one in place.json(*KNOWN, "--repetitions", "50", "--grid", "paper")["frontier"]:
        for figure in ("makespan_s", "tail_s", "cost_per_task"):
            assert one["p10"][figure] <= one[figure] <= one["p90"][figure]


def test_budget_and_deadline_choose_among_what_fits(place):
    everything = place.json(*KNOWN, *QUICK)["frontier"]
    middle = everything[len(everything) // 2]
    by_money = place.json(*KNOWN, *QUICK, "--budget", f"{middle['cost'] + 1e-6:.9f}")
    assert by_money["frontier"][by_money["preferred"] - 1]["cost"] == middle["cost"]
    by_time = place.json(*KNOWN, *QUICK, "--deadline", f"{middle['makespan_s'] + 1:.0f}s")
    chosen = by_time["frontier"][by_time["preferred"] - 1]
    assert chosen["makespan_s"] <= middle["makespan_s"] + 1
    assert chosen["cost"] <= middle["cost"]
    out, err = place.bursar(*KNOWN, *QUICK, "--budget", "0.01", "--json")
    assert '"preferred":null' in out
    assert "no strategy is expected to stay within that" in err


def test_a_job_log_tells_reliability_and_turnaround_times(place):
    outcomes = [(60.0, 0, 0)] * 30 + [(120.0, 0, 0)] * 30 + [(5.0, 1, 0)] * 10 + [(7.0, 0, 9)] * 10
    place.write("old.log", log(outcomes))
    found = place.json(*BAG, *QUICK, "--history", "old.log")
    assert found["reliability"] == 0.75
    assert found["mean_turnaround_s"] == 90
    reported = place.json(*BAG, *QUICK, "--history", "old.log", "--reliability", "0.9")
    assert reported["reliability"] == 0.9
    place.write("times.txt", "1m\n\n120s\n")
    same = place.json(*BAG, *QUICK, "--turnaround", "times.txt", "--reliability", "0.75")
    assert same["mean_turnaround_s"] == 90


def test_a_market_tells_prices_limits_and_speeds(place):
    place.write("mixed.toml", MIXED)
    known = ("--turnaround", "34m~10m", "--reliability", "0.8", *QUICK)
    found = place.json("frontier", "--tasks", "150", "--market", "mixed.toml", *known)
    by_hand = (
        *("--unreliable", "40", "--unreliable-price", "0.02/h", "--reliable", "3"),
        *("--reliable-price", "0.34/h", "--reliable-time", "17m"),
    )
    same = place.json("frontier", "--tasks", "150", *by_hand, *known)
    assert found["currency"] == "EUR"
    assert found["frontier"] == same["frontier"]
    assert found["usual"] == same["usual"]
    both = place.json("frontier", "--tasks", "150", "-m", "mixed.toml", *by_hand, *known)
    assert both["frontier"] == same["frontier"]
    other = place.json(
        *("frontier", "--tasks", "150", "-m", "mixed.toml", "--unreliable", "50"),
        *("--reliable-offer", "dear", *known),
    )
    assert other["unreliable"] == 50
    assert max(one["reliable"] for one in other["usual"]) == 5
    _, err = place.bursar("frontier", "--tasks", "150", "--market", "mixed.toml", *known)
    assert "Costs are in EUR, prices of 2026-01-01" in err


def test_an_earlier_run_is_a_history_by_its_name_its_directory_and_its_journal(place):
    place.write("spots.toml", MIXED.replace('price = "0.04"', 'billing = "free"'))
    place.script("work.sh", 'sleep 0.0$1; test "$(($1 % 4))" -ne 0')
    tasks = [str(number) for number in range(10, 50)]
    place.bursar(
        *("run", "--market", "spots.toml", "--fleet", "spot=2", "--name", "earlier"),
        *("--budget", "1", "./work.sh", ":::", *tasks),
        code=3,
    )
    bag = ("frontier", "--tasks", "150", "--market", "spots.toml", *QUICK)
    found = place.json(*bag, "--history", "earlier")
    assert found["history"]["results"] == 30
    assert found["history"]["attempts"] == 40
    assert 0.6 < found["reliability"] < 0.9
    assert 0.02 < found["mean_turnaround_s"] < 5
    for path in (".bursar/earlier", ".bursar/earlier/journal.db", "earl", "last"):
        assert place.json(*bag, "--history", path) == found
    place.bursar("export", "earlier", "--joblog", "earlier.log")
    exported = place.json(*bag, "--history", "earlier.log")["history"]
    assert (exported["attempts"], exported["results"]) == (40, 30)


def test_without_a_limit_the_pool_is_as_large_as_it_was(place):
    place.write("mixed.toml", MIXED.replace("limit = 20\n", ""))
    rows = [
        JoblogRow(10 * step + slot, "spot-1", 60.0 * step, 60.0, int(slot == 0), 0, "work")
        for step in range(30)
        for slot in range(10)
    ]
    place.write("old.log", format_joblog(rows))
    bag = ("frontier", "--tasks", "50", "--market", "mixed.toml", *QUICK)
    found = place.json(*bag, "--history", "old.log")
    assert found["unreliable"] == found["history"]["machines"] == 10
    assert found["reliability"] == pytest.approx(0.9)
    assert (
        "the number of unreliable machines is missing"
        in place.bursar(*bag, "--turnaround", "34m", "--reliability", "1", code=2)[1]
    )


def test_people_are_reported_what_a_history_cannot_tell(place):
    place.write("old.log", log([(60.0, 0, 0)] * 5))
    out, err = place.bursar(*BAG, "--history", "old.log", *QUICK)
    assert "note: no attempt was lost" in err
    assert "note: the history of 1.0 min is shorter than a deadline of 4.0 min" in err
    assert "91.7% of attempts return a result" in out


def test_simple_preferences_are_marked(place):
    middle = place.json(*KNOWN, *QUICK)["frontier"][5]
    limits = (
        "--budget",
        f"{middle['cost']:.4f}9",
        "--deadline",
        f"{middle['makespan_s'] + 60:.0f}s",
    )
    for wish, mark in (("within-budget", "within budget"), ("within-deadline", "within deadline")):
        found = place.json(*KNOWN, *QUICK, *limits, "--prefer", wish)
        preferred = found["frontier"][found["preferred"] - 1]
        assert preferred["cost"] <= middle["cost"] * 1.001
        assert preferred["makespan_s"] <= middle["makespan_s"] + 60
        marked = [one for one in found["frontier"] if mark in one["marks"]]
        assert len(marked) == 1


def test_the_refined_search_finds_what_the_grids_miss(place):
    wish = ("--prefer", "makespan*cost", "--repetitions", "10")
    best = {}
    for grid in ("paper", "fine", "adaptive"):
        found = place.json(*KNOWN, *wish, "--grid", grid)
        one = found["frontier"][found["preferred"] - 1]
        best[grid] = one["makespan_s"] * one["cost_per_task"]
    assert best["adaptive"] < best["fine"] < best["paper"]


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        ((), "--turnaround"),
        (("--turnaround", "34m"), "--reliability 0.8"),
        (("--turnaround", "34m", "--reliability", "1.2"), "not a number from 0 to 1"),
        (("--turnaround", "34m", "--reliability", "0"), "reliability of 0"),
        (("--turnaround", "0s", "--reliability", "1"), "a time of 0"),
        (("--turnaround", "34m~x", "--reliability", "1"), "'x' is not a duration"),
        (("--turnaround", "nowhere.txt", "--reliability", "1"), "nowhere.txt"),
        (("--turnaround", "bad.txt", "--reliability", "1"), "bad.txt, line 2: 'soon'"),
        (("--history", "none.log"), "none.log: 0 results of unreliable machines to learn from"),
        (("--history", "one.log"), "one.log: 1 result of unreliable machines to learn from"),
        (("--history", "empty.log"), "empty.log: 0 results"),
        (("--history", "empty.log", "--turnaround", "34m"), "empty.log: nothing was sent"),
        (("--history", "times.log"), "is not a number of seconds"),
        (("--history", "market.toml"), "market.toml, line 1: not a job log"),
        (("--history", "nowhere.log"), "'nowhere.log' is not a job log, a journal or a run"),
        (("--market", "market.toml"), "the market has no unreliable offer"),
        (("--market", "spot.toml"), "the market has no reliable offer"),
        (("--market", "mixed.toml"), "turnaround times are missing"),
        (("--market", "mixed.toml", "--reliable-offer", "spot"), "'spot' is unreliable"),
        (("--market", "mixed.toml", "--reliable-offer", "x"), "no offer 'x' in the market"),
        (("--reliable-offer", "x"), "give --market, too"),
        (("--prefer", "within-budget"), "give --budget, too"),
        (("--prefer", "within-deadline", "--budget", "1"), "give --deadline, too"),
        (
            ("--turnaround", "34m", "--reliability", "1", "--prefer", "cost +"),
            "not a preference",
        ),
        (
            ("--turnaround", "34m", "--reliability", "1", "--prefer", "open('x')"),
            "not a preference",
        ),
        (("--turnaround", "34m", "--reliability", "1", "--reliable", "51"), "use no more"),
        (
            ("--turnaround", "34m", "--reliability", "1", "--unreliable-price", "1"),
            "not a price",
        ),
        (
            ("--turnaround", "34m", "--reliability", "1", "--unreliable-price", "1/0s"),
            "a time of 0",
        ),
        (("--turnaround", "34m", "--reliability", "1", "--unreliable-price", "-1/h"), "negative"),
        (("--turnaround", "34m", "--reliability", "1", "--reliable-time", "0s"), "between 1 us"),
    ],
)
def test_a_mistake_is_reported_in_one_line(place, words, reported):
    place.write("none.log", log([(5.0, 1, 0)]))
    place.write("one.log", log([(5.0, 1, 0), (6.0, 0, 0)]))
    place.write("bad.txt", "1m\nsoon\n")
    place.write("empty.log", log([]))
    place.write("times.log", log([(1e300, 0, 0), (6.0, 0, 0)]))
    place.write("mixed.toml", MIXED)
    place.write("spot.toml", MIXED.partition('[[offer]]\nname = "own"')[0])
    out, err = place.bursar(*BAG, *words, code=2)
    assert reported in err
    assert len(err.strip().splitlines()) == 1
    assert out == ""
