"""What is done is known by when it was done, whatever happens."""

from __future__ import annotations

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from tests.state.anything import Anything

from bursar.state import recent
from bursar.state.completions import Completions
from bursar.state.read_only import view_of


@given(st.integers(0, 10**9), st.sampled_from((0, 3, 20_000)))
def test_completions_since_a_moment_are_those_of_a_look_at_everything(seed, kept):
    rng, before, recent.KEPT = Random(seed), recent.KEPT, kept
    try:
        run, found = Anything(rng), Completions()
        for number in range(120):
            run.happen()
            if number == 70:
                run.resume()
                found = Completions()
            if rng.random() < 0.3:
                view, ended = view_of(run.state), run.state.log.ended
                found.look(view)
                done = sorted((ended[one], one) for one in run.state.winners if one)
                moment = rng.randint(0, run.scene.at + 1)
                assert list(found.since(0, view)) == [one for _, one in done]
                late = [one for at, one in done if at >= moment]
                assert list(found.since(moment, view)) == late
    finally:
        recent.KEPT = before


def test_they_can_be_counted_by_owner_and_by_offer_also_of_machines_that_are_gone():
    run = Anything(Random(3))
    offers = {}
    for _ in range(300):
        run.happen()
        offers |= {one.id: one.offer.name for one in run.state.machines.values()}
    for number in list(run.state.machines):
        run.scene.down(number)
    run.resume()
    view, found = view_of(run.state), Completions()
    found.look(view)
    half = run.scene.at // 2
    attempts = found.since(half, view)
    log, state = run.state.log, run.state
    tasks = [task for task in range(1, state.total + 1) if state.winners[task]]
    late = [task for task in tasks if log.ended[state.winners[task]] >= half]
    assert len(late) > 5
    by_owner = Counter(view.account_of(view.log.task[one]) for one in attempts)
    assert by_owner == Counter(state.work[state.work_of(task) - 1][1].owner for task in late)
    by_offer = Counter(view.offer_of(view.log.machine[one]) for one in attempts)
    assert by_offer == Counter(offers[log.machine[state.winners[task]]] for task in late)
