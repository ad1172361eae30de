"""On a machine: executes the task instance of a file, as Airflow's own workers do.

    python -m bursar.airflow.execute /var/lib/airflow/bursar/0199....json

Airflow's supervisor tells the API server that the task begins, sends heartbeats, and tells how it
ended. It begins a try only once: where bursar starts it again, since its machine was lost, the API
server refuses, and the try has failed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bursar.airflow.task_files import read_task
from bursar.model.errors import InputError

USAGE = 2


def main() -> int:
    """The exit code of the task; what goes wrong before it is one line."""
    if len(sys.argv) != 2:
        return _refuse("usage: python -m bursar.airflow.execute FILE", USAGE)
    try:
        handed = read_task(Path(sys.argv[1]))
    except (InputError, OSError) as error:
        return _refuse(f"the task cannot be read: {error}", USAGE)
    return _execute(bytes(handed.workload))


def _execute(workload: bytes) -> int:
    from airflow.executors.base_executor import BaseExecutor
    from airflow.executors.workloads import ExecuteTask
    from airflow.sdk.api.client import ServerResponseError
    from airflow.settings import dispose_orm
    from httpx import HTTPError

    dispose_orm(do_log=False)  # a task has no access to Airflow's database
    task = ExecuteTask.model_validate_json(workload)
    try:
        return int(BaseExecutor.run_workload(task))
    except ServerResponseError as error:
        return _refuse(f"Airflow's API server refuses this try: {error} {error.detail}", 1)
    except HTTPError as error:
        return _refuse(f"Airflow's API server does not answer: {error}", 1)


def _refuse(line: str, code: int) -> int:
    print(f"bursar: {line}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
