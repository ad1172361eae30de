"""Every runner of bursar keeps the contract of runners; one that does not is found out."""

from __future__ import annotations

import time

import pytest

from bursar.execute.calls import Calls
from bursar.execute.local import LocalRunner
from bursar.model.time import SECOND
from bursar.testing import ContractBroken, RunnerContract
from bursar.testing.worlds import FAILING, QUICK, SLOW


class Commands(RunnerContract):
    runner = LocalRunner

    @pytest.fixture(autouse=True)
    def place(self, tmp_path):
        self.outputs = tmp_path / "out"

    def make_runner(self, mark, clock):
        return self.runner("contract", self.outputs, clock, mark, grace=SECOND // 2)


class TestLocalCommands(Commands):
    pass


class TestLocalCalls(Commands):
    commands = dict.fromkeys((*QUICK, *SLOW, FAILING), ())

    def make_runner(self, mark, clock):
        calls = Calls()
        for task in QUICK:
            calls.add(task, time.sleep, (0,))
        for task in SLOW:
            calls.add(task, time.sleep, (60,))
        calls.add(FAILING, int, ("no number",))
        return LocalRunner("contract", self.outputs, clock, mark, calls=calls, grace=SECOND // 2)


# --- runners that break the contract -----------------------------------------------------------


class Deaf(LocalRunner):
    def start(self, attempt, task, machine, command):
        pass


class Clinging(LocalRunner):
    """Leases mean nothing to it."""

    def lease(self, machine, until):
        super().lease(machine, until + 3600 * SECOND)


class Stubborn(LocalRunner):
    def stop(self, attempt):
        pass


class Resurrecting(LocalRunner):
    """It tells an attempt's end again and again."""

    def poll(self, until):
        return [*super().poll(until)] * 2


class Sleeper(LocalRunner):
    def wake(self):
        pass


class Evasive(LocalRunner):
    """It gives another cause than it was told."""

    def leave(self, machine, cause):
        super().leave(machine, "expired")


@pytest.mark.parametrize(
    ("runner", "test", "complaint"),
    [
        (Deaf, "every_attempt_that_is_started_ends_once", "did not end"),
        (Resurrecting, "every_attempt_that_is_started_ends_once", "joined twice"),
        (Clinging, "nothing_outlives_a_lease_even_if_nobody_looks", "without a lease"),
        (Stubborn, "an_attempt_that_is_stopped_ends_and_its_machine_goes_on", "did not end"),
        (Sleeper, "looking_ends_when_another_thread_wakes_it", "nothing woke it"),
        (Evasive, "a_machine_that_is_to_leave_goes_with_what_runs_on_it", "is reported as expired"),
    ],
)
def test_a_runner_that_breaks_the_contract_is_found_out(runner, test, complaint, tmp_path):
    contract = Commands()
    contract.runner, contract.longest_wait, contract.outputs = runner, 2 * SECOND, tmp_path / "out"
    with pytest.raises(ContractBroken, match=complaint):
        getattr(contract, f"test_{test}")()
