"""`bursar simulate` and `bursar compare` on a workload, as a user types them."""

import pytest


@pytest.fixture
def team(place):
    place.bursar(
        "generate", "--count", "60", "--classes", "30-38:1", "--machines", "10", "--out", "w.jsonl"
    )
    return place


def test_a_workload_is_simulated_with_several_placers(team):
    printed, told = team.bursar(
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
    assert "60 works, " in told


def test_a_comparison_has_fairness_and_fits_100_columns(team):
    printed, told = team.bursar(
        "compare", "w.jsonl", "--utilization", "0.5,0.9", "--machines", "10", "--plot", "p.svg"
    )
    lines = printed.splitlines()
    assert "Jain" in lines[0]
    assert max(map(len, lines)) <= 100
    assert len(lines) == 1 + 2 * len({line.split()[1] for line in lines[1:]})
    assert "Stable up to: backfill " in told
    assert (team.path / "p.svg").read_text().startswith("<svg")


def test_programs_get_everything(team):
    found = team.json("compare", "w.jsonl", "--place", "fwp", "--speeds", "5x1.5,5x0.5")
    assert (found["machines"], found["speed"]) == (10, 10.0)
    (run,) = found["runs"]
    assert run["placer"] == "fwp"
    assert {"p50", "p90", "mean", "deviation", "jain", "spread"} <= set(run["slowdown"])
    assert isinstance(run["stability"]["stable"], bool)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("simulate", "w.jsonl", "--tasks", "3"), "--tasks is not for workloads; leave it out"),
        (("simulate", "w.jsonl", "--place", "backfil"), "--place: no placer 'backfil'"),
        (("simulate", "w.jsonl", "--utilization", "x"), "--utilization: 'x' is not a number"),
        (("simulate", "w.jsonl", "--machines", "3", "--speeds", "1"), "--machines and --speeds"),
        (("simulate", "--tasks", "3", "--place", "backfill"), "--place is for workloads; give"),
        (("simulate", "--tasks", "3"), "the market is missing: add --market FILE"),
        (("compare", "market.toml"), "'market.toml' is not a workload file; bursar generate"),
        (("compare", "none.jsonl"), "'none.jsonl' is not a workload file; bursar generate"),
        (("compare", "w.jsonl", "--plot", "no/p.svg"), "'no/p.svg': cannot write the plot"),
    ],
)
def test_mistakes_are_one_line(team, words, told):
    _, printed = team.bursar(*words, code=2)
    assert f"bursar: {told}" in printed
    assert printed.splitlines()[-1].startswith("bursar: ")
