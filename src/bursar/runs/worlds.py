"""The world of a real run: which renter gets its machines, which runner executes attempts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bursar.engine.renter import Renter
from bursar.execute.calls import Calls
from bursar.execute.clock import RunClock
from bursar.execute.local import GRACE, LocalRunner
from bursar.execute.marks import mark_of
from bursar.execute.staging import Staging
from bursar.execute.world import RealWorld
from bursar.model.errors import InputError
from bursar.model.site import RunSite
from bursar.model.time import Time
from bursar.rent.emulated import EmulatedRenter, Losses
from bursar.state.state import RunState

if TYPE_CHECKING:
    from bursar.execute.remote.clusters import OwnCluster


def local_world(
    state: RunState,
    outputs: Path,
    *,
    clock: RunClock | None = None,
    mark: str | None = None,
    calls: Calls | None = None,
    grace: Time = GRACE,
    losses: Losses | None = None,
    staging: Staging | None = None,
) -> RealWorld:
    """This computer: an emulated market, and processes under a warden.

    Without a clock, time goes on from the state's; `mark` is what the processes of the run carry.
    """
    clock = clock or RunClock(state.now, None)
    mark = mark or mark_of(state)
    runner = LocalRunner(
        state.run,
        outputs,
        clock,
        mark,
        calls=calls,
        timeout=state.limits.timeout,
        grace=grace,
        staging=staging,
    )
    return RealWorld(state, EmulatedRenter(clock.now, losses), runner, clock, mark)


def remote_world(
    state: RunState,
    site: RunSite,
    outputs: Path,
    home: Path,
    directory: Path,
    *,
    clock: RunClock,
    mark: str,
    calls: Calls | None = None,
    losses: Losses | None = None,
    staging: Staging | None = None,
) -> RealWorld:
    """Machines elsewhere: a renter that puts agents there, and Dask that carries orders to them.

    `home` is the directory of the run, `directory` the one in which commands run.
    """
    require_dask()
    from bursar.execute.remote.clusters import Cluster, GivenCluster
    from bursar.execute.remote.messages import UseDirectory
    from bursar.execute.remote.runner import DaskRunner
    from bursar.execute.remote.working_files import pack_files, parts_of
    from bursar.rent.workers import WorkerRenter

    opening = (
        [UseDirectory(str(directory))] if site.shared else parts_of(pack_files(directory, home))
    )
    cluster: Cluster
    renter: Renter
    if site.scheduler:
        offers = [offer.name for offer in state.market.offers]
        cluster = GivenCluster(mark, site.scheduler, offers, trust=site.trust_cluster)
        renter = WorkerRenter(clock.now, cluster, state.market, losses)
    else:
        cluster = _own_cluster(site, mark, home)
        renter = _renter(state, site, cluster, home, clock, mark)
    runner = DaskRunner(
        state.run,
        outputs,
        clock,
        mark,
        cluster,
        calls=calls,
        timeout=state.limits.timeout,
        staging=staging,
        opening=opening,
    )
    return RealWorld(state, renter, runner, clock, mark)


def _renter(
    state: RunState, site: RunSite, cluster: OwnCluster, home: Path, clock: RunClock, mark: str
) -> Renter:
    run, timeout, market = state.run, state.limits.timeout, state.market
    if site.on == "slurm":
        from bursar.rent.slurm import SlurmRenter

        return SlurmRenter(run, mark, clock.now, cluster, home, timeout=timeout)
    if site.on == "ec2":
        from bursar.rent.ec2 import Ec2Renter

        return Ec2Renter(run, mark, clock.now, cluster, market, home, timeout=timeout)
    from bursar.rent.hosts import HostRenter, LocalReach, SshReach

    reach = SshReach() if site.on == "ssh" else LocalReach()
    return HostRenter(run, mark, clock.now, cluster, market, reach, timeout=timeout)


def _own_cluster(site: RunSite, mark: str, home: Path) -> OwnCluster:
    """The scheduler of the run; resumed, it has the address and the key that it had before."""
    from bursar.execute.remote.clusters import OwnCluster
    from bursar.execute.remote.dask_scheduler import SchedulerConfig, keep_config, kept_config
    from bursar.execute.remote.security import make_credentials, own_address

    kept = kept_config(home)
    if kept is None:
        host = site.listen or ("127.0.0.1" if site.on == "dask" else own_address())
        kept = SchedulerConfig(host, 0, make_credentials())
    cluster = OwnCluster(mark, kept)
    keep_config(home, cluster.scheduler.config)
    return cluster


def require_dask() -> None:
    """Machines elsewhere need an extra of bursar."""
    try:
        import cryptography  # noqa: F401
        import distributed  # noqa: F401
    except ImportError:
        raise InputError(
            "machines elsewhere need dask.distributed: pip install 'bursar[dask]'"
        ) from None
