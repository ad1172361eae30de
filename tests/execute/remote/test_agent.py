"""How long an agent stays when its machine is over, and how often it reports."""

from __future__ import annotations

import select
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from bursar.execute.processes import boottime
from bursar.execute.remote import messages as m
from bursar.execute.remote.agent import GATHER, LINGER, Agent, lingers_until
from bursar.execute.remote.places import AgentPlace, place_of
from bursar.execute.wire import Channel
from bursar.model.time import MINUTE, SECOND


@pytest.mark.parametrize(
    ("over", "stays"),
    [
        (MINUTE, MINUTE + LINGER),
        (10 * MINUTE - SECOND, 10 * MINUTE + m.EXPIRY_SLACK),
        (10 * MINUTE + SECOND, 10 * MINUTE + m.EXPIRY_SLACK),
        (11 * MINUTE, 11 * MINUTE),
    ],
)
def test_it_waits_to_be_heard_but_not_long_beyond_its_lease(over, stays):
    assert lingers_until(over, 10 * MINUTE) == stays


class Caller:
    """Speaks to an agent as bursar does, without Dask between them."""

    def __init__(self, token):
        end = socket.socket(socket.AF_UNIX)
        end.connect(str(place_of(token) / "socket"))
        self._channel = Channel(end)
        self._number = 0
        self._seen = 0

    def ask(self, request):
        self._number += 1
        self._channel.send(self._number, m.encode(request))
        while True:
            assert select.select([self._channel], [], [], 60)[0], "it does not answer"
            for number, body in self._channel.receive():
                if number == self._number:
                    return m.decode_answer(body)
            if self._channel.closed:
                raise ConnectionError("the agent is gone")

    def close(self):
        self._channel.close()

    def listen(self):
        answer = self.ask(m.Listen("s", self._seen, 10 * SECOND))
        self._seen += len(answer.reports)
        return answer


@pytest.fixture
def agent(tmp_path, monkeypatch):
    monkeypatch.setenv("BURSAR_MACHINE_DIR", str(tmp_path / "m"))
    monkeypatch.chdir(tmp_path)
    config = m.AgentConfig(
        token="t/1",
        run="t",
        machine=1,
        offer="lab",
        slots=1,
        speed=1.0,
        stay=MINUTE,
        expires=time.time() + 60,
    )
    place = AgentPlace.take(config.token)
    yield Agent(config, place)
    place.close()


def test_reports_are_gathered_while_attempts_wait_for_a_slot(agent):
    count = 60

    def order():
        caller = Caller("t/1")
        caller.ask(m.Greet("s"))
        starts = tuple(m.StartCommand(number, number, ("true",)) for number in range(1, count + 1))
        caller.ask(m.Deliver("s", 1, (m.SetLease(boottime(), MINUTE), *starts)))
        answers, ended = [], 0
        while ended < count:
            answers.append(caller.listen())
            ended += len(answers[-1].reports)
        caller.ask(m.Deliver("s", count + 2, (m.EndMachine(at_once=True),)))
        over = caller.listen().reports
        with pytest.raises(ConnectionError):  # it ends when that was heard
            caller.listen()
        caller.close()
        return answers, over

    with ThreadPoolExecutor(1) as pool:
        ordered = pool.submit(order)
        agent.run()
        answers, over = ordered.result()
    assert isinstance(over[0], m.MachineOver)
    assert [one.attempt for answer in answers for one in answer.reports] == list(
        range(1, count + 1)
    )
    stocked = [one for one in answers if one.reports[-1].attempt < count - 1]
    gaps = [later.stamp - earlier.stamp for earlier, later in pairwise(stocked)]
    assert all(gap >= GATHER for gap in gaps), "a message for each report"
