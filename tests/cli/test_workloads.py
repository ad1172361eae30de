"""`bursar simulate` and `bursar compare` on a workload, as a user types them."""

import pytest


@pytest.fixture
def team(place):
    place.bursar(
        "generate", "--count", "60", "--classes", "30-38:1", "--machines", "10", "--out", "w.jsonl"
    )
    return place


def test_a_workload_is_simulated_with_several_placers(team):
    printed, reported = team.bursar(
        "simulate", "w.jsonl", "--place", "backfill,owm", "--utilization", "0.5..0.6",
        "--machines", "10",
    )  # fmt: skip
    lines = printed.splitlines()
    assert lines[0].split() == [
        "placer", "imposed", "busy", "P50", "P90", "mean", "deviation", "works", "stable",
    ]  # fmt: skip
    assert [line.split()[:2] for line in lines[1:]] == [
        [placer, share] for placer in ("backfill", "owm") for share in ("0.500", "0.550", "0.600")
    ]
    assert "60 works, " in reported


def test_a_comparison_has_fairness_and_fits_100_columns(team):
    printed, reported = team.bursar(
        "compare", "w.jsonl", "--utilization", "0.5,0.9", "--machines", "10", "--plot", "p.svg"
    )
    lines = printed.splitlines()
    assert "Jain" in lines[0]
    assert max(map(len, lines)) <= 100
    assert len(lines) == 1 + 2 * len({line.split()[1] for line in lines[1:]})
    assert "Stable up to: backfill " in reported
    assert (team.path / "p.svg").read_text().startswith("<svg")


def test_run_times_may_be_learned_or_unknown_on_machines_that_are_always_up(team):
    words = ("compare", "w.jsonl", "--utilization", "0.9", "--machines", "10")
    found = {
        estimates: {run["placer"]: run["slowdown"] for run in team.json(*words, *asked)["runs"]}
        for estimates in ("none", "learned", "unknown")
        for asked in [("--estimates", estimates)]
    }
    assert len({len(runs) for runs in found.values()}) == 1
    for placer, right in found["none"].items():
        is_blind = placer in ("backfill", "sr", "slop", "fes")
        for estimates in ("learned", "unknown"):
            assert (found[estimates][placer] == right) == is_blind, (estimates, placer)


def test_programs_get_everything(team):
    found = team.json("compare", "w.jsonl", "--place", "fwp", "--speeds", "5x1.5,5x0.5")
    assert (found["machines"], found["speed"]) == (10, 10.0)
    (run,) = found["runs"]
    assert run["placer"] == "fwp"
    assert {"p50", "p90", "mean", "deviation", "jain", "spread"} <= set(run["slowdown"])
    assert isinstance(run["stability"]["stable"], bool)


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("simulate", "w.jsonl", "--tasks", "3"), "--tasks is not for workloads; leave it out"),
        (("simulate", "w.jsonl", "--place", "backfil"), "--place: no placer 'backfil'"),
        (("simulate", "w.jsonl", "--utilization", "x"), "--utilization: 'x' is not a number"),
        (("simulate", "w.jsonl", "--machines", "3", "--speeds", "1"), "--machines and --speeds"),
        (("simulate", "w.jsonl", "--bandwidth", "9"), "--bandwidth: '9' is not a bandwidth; write"),
        (("simulate", "--tasks", "3", "--place", "backfill"), "--place is for workloads; give"),
        (("simulate", "--tasks", "3"), "the market is missing: add --market FILE"),
        (("compare", "market.toml"), "'market.toml' is not a workload file; bursar generate"),
        (("compare", "none.jsonl"), "'none.jsonl' is not a workload file; bursar generate"),
        (("compare", "w.jsonl", "--plot", "no/p.svg"), "no/p.svg: cannot write there"),
    ],
)
def test_mistakes_are_one_line(team, words, reported):
    _, printed = team.bursar(*words, code=2)
    assert f"bursar: {reported}" in printed
    assert printed.splitlines()[-1].startswith("bursar: ")


MARKET = """
currency = "USD"

[[offer]]
name = "small"
price = "1"
billing = "1m"
limit = 20
boot = "5s"
"""
DRAWN = """
kinds = ["montage"]
count = 6
classes = "24-30:1"
totals = "3m"
owners = ["ann", "bob"]

[arrivals]
rate = "2/min"
"""


@pytest.fixture
def users(place):
    (place.path / "m.toml").write_text(MARKET)
    (place.path / "w.toml").write_text(DRAWN)
    return place


def test_autoscalers_serve_users_within_their_budgets(users):
    printed, reported = users.bursar(
        "simulate", "w.toml", "--provision", "react,pfa", "--market", "m.toml",
        "--user", "ann=8/min", "--user", "bob=9/min",
    )  # fmt: skip
    lines = [line.split() for line in printed.splitlines()]
    assert lines[0][:4] == ["autoscaler", "placer", "under", "over"]
    assert [line[:2] for line in lines[1:4]] == [
        ["react", "backfill"], ["pfa", "priority"], ["always-up", "backfill"],
    ]  # fmt: skip
    shares = [float(line[-1]) for line in lines[5:]]
    assert len(shares) == 4
    assert all(0 < share <= 100 for share in shares)
    assert max(map(len, printed.splitlines())) <= 100
    assert "6 works, " in reported


def test_autoscalers_are_ranked_and_drawn(users):
    printed, _ = users.bursar(
        "compare", "w.toml", "--provision", "react,token", "--machines", "20", "--rank",
        "--plot", "s.svg",
    )  # fmt: skip
    ranks = printed[printed.index("rank ") :].splitlines()
    assert [line.split()[0] for line in ranks[1:]] == ["1", "2", "3"]
    assert "demand" in (users.path / "s.svg").read_text()
    found = users.json("compare", "w.toml", "--provision", "react", "--machines", "20", "--rank")
    assert set(found["scores"]) == {"react/backfill", "always-up"}
    assert len(found["runs"][0]["series"]["demand"]) == len(found["runs"][0]["series"]["supply"])


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("--provision", "recat"), "--provision: no provisioner 'recat'"),
        (("--provision", "bats"), "--provision: 'bats' is no autoscaler"),
        (("--user", "ann=1/h"), "--user is for autoscalers; add for example --provision react"),
        (("--provision", "react", "--user", "ann"), "--user: 'ann' is no budget of a user"),
        (("--provision", "react", "--speeds", "3x1"), "--speeds and --utilization are for"),
        (
            ("--provision", "react", "--market", "m.toml", "--user", "ann=8/min"),
            "work 2 of workload belongs to 'bob', who has no budget",
        ),
        (
            ("--provision", "react", "--market", "m.toml", "--budget", "0.5/min"),
            "the budget, 0.50, buys no machine",
        ),
        (("--provision", "react", "--place", "follow"), "the placer 'follow' goes with"),
    ],
)
def test_mistakes_about_autoscalers_are_one_line(users, words, reported):
    _, printed = users.bursar("simulate", "w.toml", *words, code=2)
    assert f"bursar: {reported}" in printed
    assert printed.splitlines()[-1].startswith("bursar: ")
