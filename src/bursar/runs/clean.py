"""Machines that a run left behind: of runs of this home that are not being executed.

They end with their leases in any case; this ends them sooner. Machines of runs that are being
executed, or of another home, are not touched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from bursar.execute.marks import mark_of
from bursar.journal.reader import JournalReader
from bursar.journal.runs import Home, RunDir
from bursar.model.errors import BursarError, InputError
from bursar.model.market import Market, Offer
from bursar.model.site import RunSite
from bursar.runs.worlds import require_dask
from bursar.state.state import RunState


class LeftMachine(msgspec.Struct, frozen=True):
    run: str
    machine: int
    where: str


class Left(NamedTuple):
    """A machine, and how to end it."""

    machine: LeftMachine
    end: Callable[[], None]


def left_machines(home: Home, report: Callable[[str], None]) -> Iterator[Left]:
    """All that live; `report` hears where it could not be looked."""
    for run in home.list():

        def report_of(problem: object, name: str = run.name) -> None:
            report(f"run {name}: {problem}")

        try:
            yield from _left_by(run, report_of)
        except (BursarError, OSError) as error:
            report_of(error)


def _left_by(run: RunDir, report: Callable[[object], None]) -> Iterator[Left]:
    if run.owner() is not None:
        return
    state = RunState()
    with JournalReader(run.journal) as reader:
        state.apply(reader.event(1))
    site = None if state.created is None else state.created.made_with.site
    if site is None:
        return
    require_dask()
    prefix = f"{mark_of(state, run.place())}/"
    for token, where, end in _found(site, state.market, prefix, report):
        machine = int(token.rpartition("/")[2])
        yield Left(LeftMachine(run.name, machine, where), end)


def _found(
    site: RunSite, market: Market, prefix: str, report: Callable[[object], None]
) -> Iterator[tuple[str, str, Callable[[], None]]]:
    if site.scheduler:
        return _on_cluster(site, prefix)
    if site.on == "slurm":
        return _on_slurm(prefix)
    if site.on == "ec2":
        return _on_ec2(market, prefix)
    return _on_hosts(site, market, prefix, report)


def _on_hosts(
    site: RunSite, market: Market, prefix: str, report: Callable[[object], None]
) -> Iterator[tuple[str, str, Callable[[], None]]]:
    from bursar.rent.hosts import HostError, LocalReach, SshReach, end_on, hosts_of, tokens_on

    reach = SshReach() if site.on == "ssh" else LocalReach()
    for host, offer in hosts_of(reach, market).items():
        try:
            tokens = tokens_on(reach, host, offer, prefix)
        except HostError as error:  # others may have some
            report(f"{host}: {error}")
            continue
        for token in tokens:

            def end(token: str = token, host: str = host, offer: Offer = offer) -> None:
                end_on(reach, host, offer, [token])

            yield token, host, end


def _on_slurm(prefix: str) -> Iterator[tuple[str, str, Callable[[], None]]]:
    from bursar.rent.slurm import job_prefix, queued_jobs, run_slurm

    names = job_prefix(prefix.removesuffix("/"))
    for job in queued_jobs():
        if job.name.startswith(names):

            def end(number: str = job.id) -> None:
                run_slurm("scancel", number)

            yield f"{prefix}{job.name.removeprefix(names)}", f"job {job.id}", end


def _on_ec2(market: Market, prefix: str) -> Iterator[tuple[str, str, Callable[[], None]]]:
    from bursar.rent.ec2 import LIVING
    from bursar.rent.ec2_api import Ec2Api, region_of

    api = Ec2Api()
    regions = sorted({region_of(offer) for offer in market.offers})
    for one in api.describe(regions, prefix.removesuffix("/"), LIVING):

        def end(region: str = one.region, id_: str = one.id) -> None:
            api.end(region, [id_])

        yield f"{prefix}{one.machine}", f"instance {one.id}", end


def _on_cluster(site: RunSite, prefix: str) -> Iterator[tuple[str, str, Callable[[], None]]]:
    from bursar.execute.remote.clusters import GivenCluster
    from bursar.execute.remote.plugin import list_agents

    cluster = GivenCluster("", site.scheduler, trust=site.trust_cluster)
    try:
        found = asyncio.run(cluster.run_on_workers(list_agents, prefix))
    except (OSError, TimeoutError) as error:
        raise InputError(f"{site.scheduler}: no Dask scheduler answers ({error})") from None
    where = {token: address for address, tokens in found.items() for token in tokens}
    for token, address in sorted(where.items()):

        def end(token: str = token) -> None:
            asyncio.run(cluster.end_machine(token))

        yield token, address, end
