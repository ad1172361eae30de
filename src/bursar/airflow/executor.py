"""The executor that Airflow's scheduler loads:

    AIRFLOW__CORE__EXECUTOR=bursar.airflow.executor.BursarExecutor
    AIRFLOW__BURSAR__URL=http://127.0.0.1:8765
    AIRFLOW__BURSAR__TOKEN_FILE=/path/to/.bursar/service/tokens/admin

Each task instance becomes a work of one task, which the account of its owner pays for. The state of
a task instance is Airflow's own matter: its process tells the API server. The executor says which
processes have ended, and cancels works that nobody wants any more.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, NoReturn

from airflow.configuration import AIRFLOW_HOME, conf
from airflow.executors.base_executor import BaseExecutor
from sqlalchemy.exc import SQLAlchemyError

from bursar.airflow.database import add_event, live_idents, owner_of, states_of
from bursar.airflow.handover import NOT_YOURS, Handover, News
from bursar.airflow.submission import Fate, account_of, priority_of, task_file
from bursar.airflow.task_files import HandedFiles
from bursar.client import Client, ServiceError
from bursar.model.errors import BursarError, InputError, one_line

SECTION: Final = "bursar"
URL: Final = "http://127.0.0.1:8765"
EVERY: Final = 1.0
"""seconds between questions to the service"""
CLEAN_EVERY: Final = 20.0
"""seconds after which is looked for what a dead scheduler left"""
TIMEOUT: Final = 10.0
"""seconds for an answer: a scheduler that waits longer is taken for dead"""
SAY_AGAIN: Final = 60.0
"""seconds after which a service that does not answer is mentioned again"""
LEAST_QUEUED: Final = 3600.0
"""seconds that a task should be able to wait for money"""


class BursarExecutor(BaseExecutor):  # type: ignore[misc]
    """Hands task instances to `bursar serve`."""

    pre_assigns_external_executor_id: ClassVar[bool] = True
    """The id is stored together with the state `queued`: a crash cannot come between."""

    is_local: bool = True
    """Else `airflow standalone` would take another one."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._keys: dict[str, Any] = {}
        """of the task instances that were handed over, by their external ids"""
        self._owners: dict[Any, str] = {}
        """of those that are queued, by key"""
        self._asked = 0.0
        self._said: float | None = None
        self._cleaned: float | None = None

    def start(self) -> None:
        """Look whether the service can be used; a mistake in the settings ends the scheduler."""
        try:
            self._client = _client()
            files = HandedFiles(Path(_setting("task_files", f"{AIRFLOW_HOME}/bursar")))
            python = _setting("python", sys.executable)
            self._handover = Handover(self._client, files, python, time.monotonic)
            self._client.users()
        except ServiceError as error:
            if error.status == NOT_YOURS:
                self._stop(f"{self._client.url}: {error}")
            self._say(error)
        except InputError as error:
            self._stop(str(error))
        timeout = conf.getfloat("scheduler", "task_queued_timeout")
        if timeout < LEAST_QUEUED:
            self.log.warning(
                "bursar: Airflow takes tasks back that wait for money for longer than %g s; raise"
                " AIRFLOW__SCHEDULER__TASK_QUEUED_TIMEOUT, for example to 86400",
                timeout,
            )

    # --- from the scheduler ----------------------------------------------------------------------

    def queue_workload(self, workload: Any, session: Any) -> None:
        super().queue_workload(workload, session)
        self._owners[workload.ti.key] = owner_of(workload.ti, session)

    def _process_workloads(self, workload_items: Sequence[Any]) -> None:
        for workload in workload_items:
            ti, ident = workload.ti, workload.ti.external_executor_id
            del self.queued_tasks[ti.key]
            self.running.add(ti.key)
            self._keys[ident] = ti.key
            try:
                account = account_of(ti.executor_config, self._owners.pop(ti.key, ""))
                body = workload.model_dump_json().encode()
                priority = priority_of(ti.priority_weight)
                self._handover.hand(ident, task_file(account, priority, body))
            except (InputError, OSError) as error:
                self._tell(News(ident, Fate.BROKEN, str(error)))
            self._asked = 0.0  # what is new is sent at once

    def sync(self) -> None:
        """Called in each round of the scheduler."""
        now = time.monotonic()
        if now - self._asked < EVERY:
            return
        self._asked = now
        try:
            self._take_up_what_was_left(now)
            for news in self._handover.sync(states_of(self._keys)):
                self._tell(news)
        except ServiceError as error:
            self._say(error)
        except SQLAlchemyError as error:  # as where SQLite is locked: the next round may succeed
            self._say(_database(error))
        else:
            self._said = None

    def _take_up_what_was_left(self, now: float) -> None:
        """What a scheduler handed over that died, and what has ended before anybody adopted it."""
        if self._cleaned is not None and now - self._cleaned < CLEAN_EVERY:
            return
        left = self._handover.left_behind()
        live = live_idents() if left else set()
        for ident in left:
            if ident not in live:
                self._handover.adopt(ident)  # to be cancelled and removed, for nobody asks for it
        self._cleaned = now

    def revoke_task(self, *, ti: Any) -> None:
        """It was queued for too long."""
        self.running.discard(ti.key)
        self.queued_tasks.pop(ti.key, None)
        for ident in [ident for ident, key in self._keys.items() if key == ti.key]:
            del self._keys[ident]  # its work is cancelled, for nobody asks for it

    def try_adopt_task_instances(self, tis: Sequence[Any]) -> Sequence[Any]:
        """Those of a scheduler that died; their processes go on meanwhile."""
        left = []
        for ti in tis:
            ident = ti.external_executor_id
            if ident and self._handover.adopt(ident):
                self._keys[ident] = ti.key
                self.running.add(ti.key)
                self.log.info("bursar: adopted %s", _named(ti.key))
            else:
                left.append(ti)
        return left

    def end(self) -> None:
        """What runs goes on without the scheduler, and is adopted by the next."""
        if hasattr(self, "_client"):
            self._client.close()

    def terminate(self) -> None:
        self.end()

    # --- news ------------------------------------------------------------------------------------

    def _tell(self, news: News) -> None:
        """Pass on what happened to a task instance."""
        if news.ident not in self._keys:
            return  # nobody asks for it
        key = self._keys[news.ident]
        if news.fate is not Fate.GOES_ON:
            del self._keys[news.ident]
            if key not in self._keys.values():  # else it was queued again, and that counts
                self._settle(key, news)
        if news.line:
            self._note(key, news.line)

    def _settle(self, key: Any, news: News) -> None:
        if news.fate is Fate.ENDED:
            self.success(key)
        elif news.fate is Fate.BROKEN:
            self.fail(key, news.line)
        else:
            self.running.discard(key)

    def _note(self, key: Any, line: str) -> None:
        """For people; nothing depends on it."""
        self.log.info("bursar: %s: %s", _named(key), line)
        try:
            add_event(key, line)
        except SQLAlchemyError as error:
            self._say(_database(error))

    def _stop(self, line: str) -> NoReturn:
        """Let the scheduler end; it keeps what `SystemExit` says to itself."""
        self.log.error("bursar: %s", line)
        raise SystemExit(1)

    def _say(self, error: BursarError) -> None:
        """A mistake of the service, but not every second."""
        now = time.monotonic()
        if self._said is None or now - self._said > SAY_AGAIN:
            self._said = now
            self.log.error("bursar: %s", error)


def _database(error: SQLAlchemyError) -> BursarError:
    return BursarError(f"Airflow's database: {one_line(str(error))}")


def _named(key: Any) -> str:
    index = f"[{key.map_index}]" if key.map_index >= 0 else ""
    return f"{key.dag_id}.{key.task_id}{index} of {key.run_id}, try {key.try_number}"


def _setting(name: str, otherwise: str) -> str:
    return str(conf.get(SECTION, name, fallback=otherwise))


def _client() -> Client:
    file = _setting("token_file", "")
    if not file:
        raise InputError(
            "no token; AIRFLOW__BURSAR__TOKEN_FILE has to name its file, for example"
            " .bursar/service/tokens/admin of the service"
        )
    return Client(
        _setting("url", URL),
        token_file=file,
        ca_file=_setting("ca_file", "") or None,
        patience=0,
        timeout=TIMEOUT,
    )
