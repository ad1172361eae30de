"""What changed lately: nothing is missed, and little is kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.state import recent
from bursar.state.recent import Recent
from bursar.testing import Scene


def test_one_who_asks_from_the_end_hears_of_nothing_old():
    log = Recent()
    log.note(7)
    place = log.end
    log.note(8)
    log.note(9)
    assert log.since(place) == [8, 9]
    assert log.since(log.end) == []


def test_one_who_was_away_for_long_is_sent_to_look_at_all(monkeypatch):
    monkeypatch.setattr(recent, "KEPT", 10)
    log = Recent()
    for number in range(1_000):
        log.note(number)
    assert log.since(0) is None
    assert log.since(log.end - 10) == list(range(990, 1_000))
    assert len(log._items) <= 20


def test_a_large_bag_is_not_kept_number_by_number():
    log = Recent()
    log.note_all(range(1, 1_000_001))
    assert log.since(0) is None
    assert log.since(log.end) == []
    assert not log._items


@given(st.randoms(use_true_random=False))
def test_whoever_follows_the_changes_knows_the_state(rng):
    """Ready tasks, live attempts and machines that are there, by what changed alone."""
    scene = Scene(Offer("one", ZERO), Offer("two", ZERO, slots=2), tasks=5, arrivals_open=True)
    state = scene.state
    known = {"ready": set(), "attempts": set(), "machines": set()}
    places = dict.fromkeys(known, 0)
    for _ in range(30):
        happening = rng.random()
        if happening < 0.3:
            scene.machine(rng.choice(("one", "two")))
        elif happening < 0.6 and state.idle and state.ready:
            scene.start(rng.choice(list(state.ready)), rng.choice(list(state.idle)))
        elif happening < 0.9 and state.attempts:
            scene.end(rng.choice(list(state.attempts)), rng.choice(("success", "cancelled")))
        elif state.machines:
            scene.down(rng.choice(list(state.machines)), "lost")
        for kind, numbers in known.items():
            log = getattr(state.changes, kind)
            numbers.update(log.since(places[kind]))
            places[kind] = log.end
        numbers = {
            kind: {n for n in some if n in getattr(state, kind)} for kind, some in known.items()
        }
        assert numbers["ready"] == set(state.ready)
        assert numbers["attempts"] == set(state.attempts)
        assert numbers["machines"] == set(state.machines)
