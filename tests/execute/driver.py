"""A program that runs commands through bursar, for tests that stop or kill it.

Arguments: outputs directory, run name, length of leases in seconds, commands for /bin/sh.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from bursar.engine.loop import Engine
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import seconds
from bursar.model.work import Bag, Work
from bursar.policies.registry import make_policy
from bursar.runs.worlds import local_world
from bursar.state import events as ev
from bursar.state.state import RunState


class Teller:
    def saw(self, event: ev.AnyEvent, state: RunState) -> None:
        detail = getattr(event, "cause", "") or getattr(event, "outcome", "")
        print(type(event).__name__, detail, flush=True)
        if isinstance(event, ev.AttemptStarted) and "DRIVER_FORKS" in os.environ:
            child = os.fork()  # it inherits the connection to the warden
            if child == 0:
                time.sleep(60)
                os._exit(0)
            print("forked", child, flush=True)


def main(outputs: str, name: str, lease: str, *commands: str) -> None:
    state = RunState()
    offer = Offer("desk", Money.parse("1"), billing=seconds(float(lease)), limit=1)
    goal = Goal(budget=Money.parse("1"))  # one lease, and no longer
    market = Market("USD", "undated", (offer,))
    state.apply(ev.RunCreated(0, name, market, goal, Limits(), 0, {}, {}, time.time()))
    for command in commands:
        state.apply(ev.WorkArrived(0, Work(Bag(1, ("/bin/sh", "-c", command)))))
    state.apply(ev.ArrivalsEnded(0))
    world = local_world(state, Path(outputs))
    policy = make_policy(options={"provisioner": {"fleet": {"desk": 1}}})
    ended = Engine(state, policy, world, observers=[Teller()]).run()
    print("ended", ended.status, ended.why, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
