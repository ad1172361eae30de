"""What people see of a market as providers publish them: fractions of cents, many long names."""

import ast
import re
from pathlib import Path

import pytest

import bursar.cli
from bursar.cli.plan_table import _by_ranges, show
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.plan import Assumed, MakespanSpan, Plan
from bursar.rent.local import slots_caution, usable_cpus
from bursar.state.events import PlansOffered

CLOUD = """
currency = "USD"
date = "2026-01-01"
""" + "".join(
    f"""
[[offer]]
name = "{name}"
price = "{price}"
billing = "1s"
minimum = "60s"
limit = {limit}
boot = "35s"
slots = {slots}
"""
    for name, price, limit, slots in (
        ("m7i.large", "0.000028000", 20, 2),
        ("m7i.4xlarge", "0.000224000", 10, 16),
        ("c7i.2xlarge", "0.000099167", 12, 8),
        ("r7i.48xlarge", "0.003528000", 4, 192),
    )
)
TIMES = "m7i.large=9m~2m,m7i.4xlarge=7m~2m,c7i.2xlarge=5m~1m,r7i.48xlarge=8m~2m"
STRATEGY = "N=3,T=5us,D=9us,Mr=0.1"
FIGURE = re.compile(r"\$\d[\d,.]*")


@pytest.mark.parametrize(
    ("shares", "line"),
    [
        (["over 99 %"] * 7, "over 99 % for each"),
        (["94 %"], "94 % for each"),
        (["over 99 %"] * 3 + ["94 %", "3 %", "3 %"], "1 to 3: over 99 %, 4: 94 %, 5 to 6: 3 %"),
    ],
)
def test_plans_with_the_same_chance_are_named_together(shares, line):
    assert _by_ranges(shares) == line


@pytest.fixture
def cloud(place):
    place.write("cloud.toml", CLOUD)
    return place


def test_the_lines_below_a_list_of_plans_fit(cloud):
    known = ("--tasks", "500", "--runtime", "3m", "--deviation", "40s", "--budget", "20")
    _, err = cloud.bursar("plan", "-m", "cloud.toml", *known)
    assert "chance that the budget will do, by plan: " in err
    assert max(map(len, err.splitlines())) <= 100


def test_the_plans_for_a_cloud_fit_and_their_costs_can_be_reported_apart(cloud):
    words = ("plan", "-m", "cloud.toml", "--tasks", "9000", "--assume", TIMES, "--choices", "3")
    out, err = cloud.bursar(*words)
    assert max(map(len, out.splitlines())) <= 100
    assert max(map(len, err.splitlines())) <= 100
    assert "m7i.4xlarge" in out
    assert (out + err).count("storage and transfer are not included") == 1
    exact = [plan["cost_p50"] for plan in cloud.json(*words)["plans"]]
    shown = [line.split()[-2] for line in out.splitlines() if "$" in line]
    assert len(set(shown)) == len(set(exact))
    small = cloud.bursar("plan", "-m", "cloud.toml", "--tasks", "3", "--assume", "m7i.large=61s")[0]
    assert all(len(figure.strip("$0.")) >= 2 for figure in FIGURE.findall(small))


def plans(*figures):
    """Plans of a name, a strategy, and the P50 and the bound of their costs."""
    made = [
        Plan(
            name=name,
            fleet={"small": 4, "large": 1},
            strategy=strategy,
            units={},
            cost=Money.parse(middle),
            makespan_s=MakespanSpan(9.0, 9.0, 9.0, 9.0),
            cost_p50=Money.parse(middle),
            cost_p90=Money.parse(upper),
            cost_upper=Money.parse(upper),
            cushion=Money.parse("0.0123456"),
            risk=3,
            fits=True,
        )
        for name, strategy, middle, upper in figures
    ]
    return PlansOffered(0, tuple(made), Assumed(tasks=9, date="2026-01-01"))


@pytest.mark.parametrize(
    ("others", "reported"),
    [
        ((("fastest", "", "3.00", "3.00"),), "cheapest, cushion $0.0123, risk +3"),
        ((("fastest", "", "1.50", "2.90"),), "cheapest, by its bound, "),
        ((("fastest", "", "1.50", "2.10"),), "cheapest, by its mean, "),
        ((("mixed-knee", STRATEGY, "1.00", "1.00"),), "cheapest, of reliable machines, "),
    ],
)
def test_a_plan_that_another_beats_says_in_which_sense_it_is_the_cheapest(others, reported, capsys):
    market = Market("USD", "2026-01-01", (Offer("small", Money.parse("1")),))
    show(plans(("cheapest", "", "2.00", "2.50"), *others), market, first=False)
    printed = capsys.readouterr()
    first, *below = printed.out.splitlines()[2:]
    assert first.startswith(f"1  {reported}")
    assert "   4 small + 1 large" in below
    assert "cushion: money set aside" in printed.err
    assert "not included" not in printed.out + printed.err


def test_prices_have_three_digits_and_the_exact_ones_are_in_json(cloud):
    out, err = cloud.bursar("offers", "-m", "cloud.toml")
    assert "$0.0000992" in out
    assert max(map(len, (out + err).splitlines())) <= 100
    assert cloud.json("offers", "-m", "cloud.toml")["offers"][2]["price"] == "0.000099167"


def test_a_plan_says_if_it_needs_more_than_this_computer_has():
    pair = Offer("pair", Money.parse("1"), slots=2)
    market = Market("USD", "undated", (pair,))
    assert slots_caution([{"pair": usable_cpus() // 2}], market) is None
    reported = slots_caution([{"pair": 1}, {"pair": usable_cpus()}], market)
    assert reported.startswith(
        f"plans use up to {2 * usable_cpus():,} slots, and this computer has "
    )


def test_a_saved_plan_and_a_workflow_say_it_too(place):
    place.write("wide.toml", '[[offer]]\nname = "wide"\nprice = "1"\nslots = 5000\nlimit = 1')
    place.write("flow.yaml", "tasks: {a: {runtime: 3s, run: 'true'}}")
    _, err = place.bursar("plan", "-m", "wide.toml", "flow.yaml")
    assert "Caution: plans use up to 5,000 slots, and this computer has " in err
    place.write(
        "wide.toml", '[[offer]]\nname = "wide"\nprice = "0.01"\nbilling = "1s"\nlimit = 900'
    )
    words = ("plan", "-m", "wide.toml", "--name", "p", "sleep", ":::", *["0.05"] * 80)
    out, err = place.bursar(*words)
    assert "slots, and this computer has " in err
    assert (out + err).count("not included") == 1


def test_what_is_not_included_is_said_once_by_each_command(place):
    for words, code in (
        (
            ("run", "-m", "market.toml", "-b", "0.02", "--name", "r", "sleep", ":::", *["0.9"] * 9),
            4,
        ),
        (("resume", "r", "-b", "9"), 0),
        (("status", "r"), 0),
        (("offers", "-m", "market.toml"), 0),
        (("simulate", "-m", "market.toml", "-b", "9", "--tasks", "3", "--runtime", "1s"), 0),
    ):
        out, err = place.bursar(*words, code=code)
        assert (out + err).count("storage and transfer are not included") == 1, words


def test_a_vast_command_is_cut_wherever_it_is_shown(place):
    vast = "v" * 100_000
    place.script("bad.sh", "echo no >&2; exit 3")
    _, err = place.bursar("run", "--name", "vast", "./bad.sh", ":::", vast, code=3)
    shown = [err, *place.bursar("status", "vast"), *place.bursar("why", "vast")]
    shown += place.bursar("why", "vast", "--task", "1")
    shown += place.bursar("run", vast, ":::", "1", code=2)
    assert max(len(line) for text in shown for line in text.splitlines()) < 400
    assert "(100,009 characters)" in err


def test_everything_that_is_printed_passes_one_place():
    """Where control codes are taken out; the completion script is made by click itself."""
    for path in Path(bursar.cli.__file__).parent.glob("*.py"):
        calls = [
            node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
        ]
        printing = [ast.unparse(call.func) for call in calls]
        if path.name not in ("common.py", "completion.py"):
            assert "click.echo" not in printing, path.name
            assert "print" not in printing, path.name
