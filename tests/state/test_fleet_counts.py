"""Machines, slots and attempts by offer and account are those that there are, whatever happens."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from tests.state.anything import OFFERS, OWNERS, Anything

from bursar.state import recent
from bursar.state.fleet_counts import FleetCounts, IdleSince, OfferCounts


def counted(state, names, accounts):
    """By looking at all of them."""
    machines = [
        one
        for one in state.machines.values()
        if one.offer.name in names and one.account in accounts
    ]
    attempts = [one for one in state.attempts.values() if one.machine in machines]
    staying = [one for one in machines if not one.leaving]
    return OfferCounts(
        booting=sum(one.up is None for one in staying),
        idle=sum(one.up is not None and not one.attempts for one in staying),
        busy=sum(one.up is not None and len(one.attempts) > 0 for one in staying),
        leaving=len(machines) - len(staying),
        free=sum(one.offer.slots - len(one.attempts) for one in staying),
        running=sum(not one.machine.leaving for one in attempts),
        attempts=len(attempts),
        wanted=sum(not one.cancelling for one in attempts),
    )


@given(st.integers(0, 10**9), st.sampled_from((0, 3, 20_000)), st.booleans())
def test_counts_are_those_of_a_look_at_everything(seed, kept, has_accounts):
    rng, before, recent.KEPT = Random(seed), recent.KEPT, kept
    names, accounts = [offer.name for offer in OFFERS], OWNERS if has_accounts else ("",)
    try:
        run, counts = Anything(rng, has_accounts), FleetCounts()
        for number in range(80):
            run.happen()
            if number == 50:
                run.resume()
                counts = FleetCounts()
            if rng.random() < 0.5:
                counts.look(run.state)
                assert set(counts.accounts) <= set(accounts)
                for name in names:
                    assert counts.of(name) == counted(run.state, [name], accounts)
                for account in accounts:
                    assert counts.of_account(account) == counted(run.state, names, [account])
                    for name in names:
                        assert counts.of(name, account) == counted(run.state, [name], [account])
    finally:
        recent.KEPT = before


@given(st.integers(0, 10**9))
def test_a_machine_is_idle_since_its_last_attempt_ended_however_seldom_one_looks(seed):
    rng = Random(seed)
    run, often, seldom = Anything(rng, False), IdleSince(), IdleSince()
    for _ in range(80):
        machines = run.state.changes.machines.end
        run.happen()
        often.look(run.state, run.state.now)
        if rng.random() < 0.3 or run.state.changes.machines.end != machines:
            seldom.look(run.state, run.state.now)
            for number in run.state.idle:
                if not run.state.machines[number].attempts:
                    assert often[number] == seldom[number]
