"""What the executor asks Airflow's database; the scheduler, in which it runs, may do that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from airflow.models import Log
from airflow.models.dag import DagModel
from airflow.models.serialized_dag import SerializedDagModel
from airflow.models.taskinstance import TaskInstance
from airflow.utils.session import create_session
from sqlalchemy import select

from bursar.airflow.submission import LIVE

DEFAULT_OWNER: Final = "airflow"
"""of tasks without one; Airflow also shows it for DAGs of mapped tasks that have an owner"""
EVENT: Final = "bursar"
MOST_AT_ONCE: Final = 100
"""task instances in one query"""


def owner_of(ti: Any, session: Any) -> str:
    """The DAG's owner; where its tasks have several, that of the task."""
    owners = str(session.scalar(select(DagModel.owners).where(DagModel.dag_id == ti.dag_id)) or "")
    if "," not in owners and owners != DEFAULT_OWNER:
        return owners
    dag = SerializedDagModel.get_dag(ti.dag_id, session=session)
    if dag is None:
        return ""
    task = dag.get_task(ti.task_id)
    given = getattr(task, "partial_kwargs", {})  # Airflow 3.3 has mapped tasks under its default
    return str(given.get("owner", task.owner))


def states_of(keys: Mapping[str, Any]) -> dict[str, str | None]:
    """States of task instances, by external id; one that was queued again has none.

    They are looked for by DAG, task, run and index: what is cleared gets another id.
    """
    found: dict[str, str | None] = {}
    idents = list(keys)
    wanted = select(TaskInstance.external_executor_id, TaskInstance.state)
    for begin in range(0, len(idents), MOST_AT_ONCE):
        some = [keys[ident] for ident in idents[begin : begin + MOST_AT_ONCE]]
        with create_session() as session:
            for ident, state in session.execute(wanted.where(TaskInstance.filter_for_tis(some))):
                if ident in keys:
                    found[ident] = None if state is None else str(state)
    return found


def live_idents() -> set[str]:
    """External ids of all task instances that are queued or run."""
    wanted = select(TaskInstance.external_executor_id).where(TaskInstance.state.in_(LIVE))
    with create_session() as session:
        return {ident for ident in session.scalars(wanted) if ident is not None}


def add_event(key: Any, line: str) -> None:
    """A line in the log of events, which Airflow shows beside the task instance.

    `BaseExecutor.log_task_event` would do it later, but Airflow 3.3 loses what it keeps till then.
    """
    with create_session() as session:
        session.add(Log(event=EVENT, task_instance=key, extra=line))
