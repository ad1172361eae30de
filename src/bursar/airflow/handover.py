"""Task instances that were handed to a service: which work each one is, and what becomes of it.

Knows nothing of Airflow. All that is sent has the id of its task instance as its key, so that the
same is sent again after a crash, or where no answer came, and the service takes it once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

from bursar.airflow.submission import Fate, TaskFile, command_of, fate_of, waiting_line
from bursar.airflow.task_files import HandedFiles, read_task
from bursar.client import SETTLED, Answer, Client, ServiceError
from bursar.model.errors import InputError

NOT_YOURS: Final = 401
LATER: Final = (None, 401, 429, 500, 503)
"""statuses which are not about what was sent: it is sent again later"""
OVERDUE: Final = 30.0
"""seconds in which a process that is not wanted has to end itself; Airflow gives it 5 to 20"""
PAGE: Final = 100
"""works that the service tells of in one answer"""
PATIENT: Final = 10.0
"""seconds after which it is said that a work waits"""


@dataclass
class Handed:
    """One task instance that was handed over."""

    ident: str
    account: str
    since: float
    number: int | None = None
    """of its work; None: the service has not answered yet"""
    was_running: bool = False
    has_waited: bool = False
    """it was said that it waits"""
    unwanted_since: float | None = None


class News(NamedTuple):
    """What happened to a task instance."""

    ident: str
    fate: Fate
    line: str
    """for people; empty: nothing that they have to know"""


class Handover:
    """Hands task instances over, and asks about them; `sync` does all that needs the service."""

    def __init__(
        self, client: Client, files: HandedFiles, python: str, clock: Callable[[], float]
    ) -> None:
        self._client, self._files, self._python, self._clock = client, files, python, clock
        self._handed: dict[str, Handed] = {}

    def __len__(self) -> int:
        return len(self._handed)

    def hand(self, ident: str, task: TaskFile) -> None:
        """It is safe in its file when this returns, and is sent with the next `sync`."""
        self._files.write(ident, task)
        self._handed[ident] = Handed(ident, task.account, self._clock())

    def adopt(self, ident: str) -> bool:
        """Take up what another scheduler handed over; False: nothing is known of it."""
        try:
            task = read_task(self._files.path(ident))
        except (InputError, OSError):
            return False
        if ident not in self._handed:
            self._handed[ident] = Handed(ident, task.account, self._clock())
        return True

    def left_behind(self) -> list[str]:
        """Those of which there is a file, but which nobody here has handed over or adopted."""
        return [ident for ident in self._files.idents() if ident not in self._handed]

    def sync(self, states: Mapping[str, str | None]) -> Iterator[News]:
        """Send what was not sent, and tell what is new.

        `states` are those of the task instances, by id: what has none is not wanted any more.
        Raises `ServiceError` where the service does not answer, or does not know the token: all is
        as it was, and a later call goes on.
        """
        yield from self._send()
        works = self._works()
        users: dict[str, Answer] = {}
        for one in list(self._handed.values()):
            if one.number is None:
                continue
            work = works.get(one.number)
            status = None if work is None else str(work["status"])
            yield from self._judge(one, status, states.get(one.ident), users)

    def _send(self) -> Iterator[News]:
        for one in list(self._handed.values()):
            if one.number is not None:
                continue
            try:
                one.number = self._submit(one.ident)
            except ServiceError as error:
                if error.status in LATER:
                    raise
                self._drop(one)
                yield News(one.ident, Fate.BROKEN, f"bursar refuses it: {error}")
            except (InputError, OSError) as error:
                self._drop(one)
                yield News(one.ident, Fate.BROKEN, f"its file cannot be read: {error}")
            else:
                line = f"work {one.number} of {one.account} in bursar"
                yield News(one.ident, Fate.GOES_ON, line)

    def _submit(self, ident: str) -> int:
        """The number of its work; if it was submitted before, that of then."""
        path = self._files.path(ident)
        task = read_task(path)
        work = self._client.submit_bag(
            command_of(self._python, str(path)),
            repeat=1,
            priority=task.priority,
            user=task.account,
            key=ident,
        )
        return int(work["number"])

    def _works(self) -> dict[int, Answer]:
        """How the works stand. They were submitted close to each other, so pages are read."""
        found: dict[int, Answer] = {}
        numbers = sorted(one.number for one in self._handed.values() if one.number is not None)
        for number in numbers:
            if number not in found:
                page = islice(self._client.works(number - 1), PAGE)
                found.update((work["number"], work) for work in page)
        return found

    def _judge(
        self, one: Handed, status: str | None, state: str | None, users: dict[str, Answer]
    ) -> Iterator[News]:
        now = self._clock()
        one.was_running |= status == "running"
        if state in ("queued", "running"):
            one.unwanted_since = None
        elif one.unwanted_since is None:
            one.unwanted_since = now
        is_overdue = one.unwanted_since is not None and now - one.unwanted_since > OVERDUE
        fate, why = fate_of(status, state, was_running=one.was_running, is_overdue=is_overdue)
        if fate is not Fate.GOES_ON:
            if status is not None and status not in SETTLED and one.number is not None:
                self._client.cancel(one.number)
            self._drop(one)
            yield News(one.ident, fate, why)
        elif status == "waiting" and not one.has_waited and now - one.since > PATIENT:
            if not users:
                users.update((user["name"], user) for user in self._client.users())
            one.has_waited = True
            if one.account in users and one.number is not None:
                yield News(one.ident, fate, waiting_line(one.number, users[one.account]))

    def _drop(self, one: Handed) -> None:
        del self._handed[one.ident]
        self._files.remove(one.ident)
