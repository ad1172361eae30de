"""The runner of machines elsewhere, which Dask workers carry; see `agent.py` for the picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bursar.execute.calls import Calls
from bursar.execute.clock import RunClock
from bursar.execute.local import GRACE, TELL_AND_FAIL, LocalRunner
from bursar.execute.outputs import Outputs
from bursar.execute.remote.clusters import Cluster
from bursar.execute.remote.dispatch import RemoteDispatcher
from bursar.execute.remote.machine_link import AnySent
from bursar.execute.staging import CopiedFiles, Staging
from bursar.model.market import Offer
from bursar.model.time import Time


class DaskRunner(LocalRunner):
    """As on this computer, but that a machine has joined when its agent was heard."""

    def __init__(
        self,
        run: str,
        outputs: Path,
        clock: RunClock,
        mark: str,
        cluster: Cluster,
        *,
        calls: Calls | None = None,
        timeout: Time | None = None,
        grace: Time = GRACE,
        staging: Staging | None = None,
        opening: Sequence[AnySent] = (),
    ) -> None:
        """`opening`: what every machine is sent before it counts as joined."""
        place = Outputs(outputs)
        place.prepare()
        dispatcher = RemoteDispatcher(
            run,
            mark,
            cluster,
            place.attempts,
            timeout=timeout,
            grace=grace,
            calls=calls,
            opening=opening,
        )
        super().__init__(
            run,
            outputs,
            clock,
            mark,
            calls=calls,
            timeout=timeout,
            grace=grace,
            staging=staging,
            dispatcher=dispatcher,
        )
        self._remote = dispatcher
        self._outputs.prepare()

    def start(self, attempt: int, task: int, machine: int, command: tuple[str, ...]) -> None:
        """Files that are copied to tasks are sent to the machine first."""
        staging = self._staging
        files = staging.files_of(task) if isinstance(staging, CopiedFiles) else None
        if files is None or not command or machine not in self._machines:
            super().start(attempt, task, machine, command)
            return
        self._attempts[attempt] = (machine, task)
        try:
            self._remote.run_staged(attempt, task, machine, command, files)
        except OSError as error:
            why = f"cannot send the files of the task: {error}"
            self._remote.run_command(attempt, task, machine, (*TELL_AND_FAIL, why))

    def join(self, machine: int, offer: Offer, until: Time) -> None:
        self._machines[machine] = offer
        self.lease(machine, until)
