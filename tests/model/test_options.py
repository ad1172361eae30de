"""Options are typed; what earlier versions wrote as texts is still read."""

from __future__ import annotations

from bursar.model.codec import decoder, encode
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.options import RunOptions
from bursar.model.strategy import read_strategy
from bursar.model.time import SECOND
from bursar.state.events import AnyEvent, RunCreated
from bursar.state.state import RunState

MARKET = Market("USD", "undated", (Offer("small", Money.parse("0.1")), Offer("large", Money(1))))
TEXTS = {
    "fleet": "small=3,large=2",
    "workers": "4",
    "faithful": "yes",
    "prefer": "makespan*cost",
    "strategy": "B=7.5",
    "files": "shared",
    "plan_confidence": "0.99",
    "plan_on_average": "True",
    "plan_seed": "7",
    "sabotage": "5000000",
    "outputs": "/runs/amber/outputs",
    "home": "/runs/amber",
    "directory": "/work",
    "id": "0123456789abcdef",
}
OPTIONS = RunOptions(
    fleet={"small": 3, "large": 2},
    workers=4,
    faithful=True,
    prefer="makespan*cost",
    strategy=read_strategy("B=7.5"),
    files="shared",
    sabotage=5 * SECOND,
    outputs="/runs/amber/outputs",
    home="/runs/amber",
    directory="/work",
    id="0123456789abcdef",
)


def created(settings, options=None):
    return RunCreated(0, "amber", MARKET, Goal(), Limits(), 1, {}, settings, 0.0, options=options)


def test_what_earlier_versions_wrote_as_texts_is_read():
    assert created(TEXTS).made_with == OPTIONS
    assert created({}).made_with == RunOptions()


def test_a_journal_keeps_known_run_times():
    known = RunOptions(runtime=180 * SECOND, deviation=40 * SECOND)
    assert decoder(AnyEvent).decode(encode(created({}, known))).made_with == known


def test_a_journal_keeps_options_with_their_types():
    event = created({}, OPTIONS)
    read = decoder(AnyEvent).decode(encode(event))
    assert read == event
    assert read.made_with == OPTIONS
    assert type(read.made_with.strategy.budget) is Money


def test_a_journal_of_an_earlier_version_is_read_as_a_run():
    """As it was written: no options, and all settings are texts."""
    text = encode(created(TEXTS))
    assert b"options" not in text
    state = RunState()
    state.apply(decoder(AnyEvent).decode(text))
    assert state.created.made_with == OPTIONS
