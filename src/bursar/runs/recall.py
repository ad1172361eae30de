"""A run as its journal tells it, with the policy that continues it, by one replay.

What a policy is made of stands in a few kinds of events (`runs.policy.MADE_OF`), which the
database looks up. So the policy is there before the replay, and its entries learn during it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bursar.beliefs.samples import SampleLog
from bursar.engine.learners import Learners
from bursar.engine.roles import Policy
from bursar.engine.world import Observer
from bursar.execute.staging import SHARED
from bursar.journal.checkpoints import newest_checkpoint
from bursar.journal.reader import JournalReader
from bursar.journal.replay import load_state
from bursar.journal.runs import RunDir
from bursar.model.errors import InputError
from bursar.runs.policy import MADE_OF, policy_of, takes_sample
from bursar.runs.request import check_tasks
from bursar.state import events as ev
from bursar.state.state import RunState
from bursar.state.work_plans import FIRST_WORK

if TYPE_CHECKING:
    from bursar.policies.advise.tail import Advice
    from bursar.runs.choosing import Chooser, Chosen


class Recalled(msgspec.Struct, frozen=True):
    """All that is needed to go on with a run."""

    state: RunState
    policy: Policy
    """its entries have learned what happened so far"""
    observers: tuple[Observer, ...]
    """who must see what happens from now on until an engine drives the policy"""
    sample_log: SampleLog
    plan: ev.PlanChosen | None
    """the plan that is chosen now, if one is"""
    chosen: Chosen | None


def recall(
    run: RunDir,
    ask: Callable[[Advice], int | None],
    plan: ev.PlanChosen | None = None,
    chooser: Chooser | None = None,
) -> Recalled:
    """Replay the journal of a run that is to go on, once; every event of it is checked.

    It begins with a checkpoint, unless an entry must see every event to learn.
    """
    outline, sample_log, chosen = outline_of(run), SampleLog(), None
    _check_resumable(run, outline)
    if chooser is not None:
        chosen = chooser.choose(run, outline.market, outline.plans_of(FIRST_WORK).offered)
        plan = chosen.event
    if plan is not None:
        outline.apply(msgspec.structs.replace(plan, at=outline.now))
    _check_planned(run, outline)
    policy = policy_of(outline, sample_log, ask)
    learners = Learners(policy)
    sampling: tuple[Observer, ...] = (sample_log,) if takes_sample(outline) else ()
    state = load_state(run.journal, sampling, learners, verified=True)
    if plan is not None and not len(state.log):
        _check_files(state)
    return Recalled(state, policy, (*sampling, learners), sample_log, plan, chosen)


def outline_of(run: RunDir) -> RunState:
    """What a policy is made of: the newest checkpoint, and what came since of a few kinds."""
    with JournalReader(run.journal) as reader:
        outline = newest_checkpoint(reader) or RunState()
        for event in reader.events_of(MADE_OF, after=outline.events):
            outline.apply(event)
    return outline if outline.created is not None else load_state(run.journal)


def _check_resumable(run: RunDir, outline: RunState) -> None:
    created = outline.created
    if created is not None and outline.is_of_calls:
        raise InputError(
            f"run {run.name} consists of Python calls, which are not in the journal: run your"
            " program again"
        )
    if created is not None and not Path(created.made_with.directory).is_dir():
        raise InputError(f"run {run.name} ran in {created.made_with.directory}, which is gone")


def _check_planned(run: RunDir, outline: RunState) -> None:
    """A workflow that waits for a choice cannot go on without one."""
    created = outline.created
    is_planned = created is not None and created.policies["provisioner"] == "prob"
    if is_planned and outline.plans_of(FIRST_WORK).chosen is None:
        raise InputError(
            f"run {run.name} waits for a choice among its plans: bursar run {run.name} --choose"
            " knee"
        )


def _check_files(state: RunState) -> None:
    """A workflow that waited for a choice cannot go on without its files."""
    assert state.created is not None  # noqa: S101
    options = state.created.made_with
    for _, flow in state.workflows():
        check_tasks(flow, options.files or SHARED, Path(options.directory))
