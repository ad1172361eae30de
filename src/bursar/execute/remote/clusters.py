"""Who is where: the Dask cluster that carries a run, and which of its workers is which machine.

`OwnCluster` is made for a run, with a certificate of its own; an agent starts its worker under the
machine's name. `GivenCluster` is somebody else's: its workers are the machines, and each is claimed
by one machine at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar
from urllib.parse import urlsplit

from bursar.execute.remote.dask_scheduler import SchedulerConfig, SchedulerProcess
from bursar.execute.remote.messages import CarrierConfig, Credentials
from bursar.execute.remote.places import name_of
from bursar.execute.remote.security import require_proof, security_of
from bursar.model.errors import InputError

if TYPE_CHECKING:
    from distributed import Client, Security
    from distributed.core import rpc

A = TypeVar("A")
CONNECT_PATIENCE: Final = 5
"""seconds to connect to a worker or scheduler"""


class FoundWorker(NamedTuple):
    address: str
    name: str
    threads: int
    is_paused: bool = False
    """short of memory: it takes nothing new, and carries what it has"""

    @property
    def host(self) -> str:
        return urlsplit(self.address).hostname or ""


class LeftAgents(NamedTuple):
    """What lives of a run whose process is gone."""

    found: Mapping[str, FoundWorker]
    """by token"""
    silent: Sequence[FoundWorker]
    """workers that did not say which agents live beside them"""


class Wanted(NamedTuple):
    """A machine that looks for its worker."""

    token: str
    offer: str
    before: FoundWorker | None
    """the worker that it had"""


class Cluster(Protocol):
    handler: str
    """the operation that bursar's plug-in has added to workers"""
    starts_agents: bool
    """whether the plug-in does"""

    @property
    def starts(self) -> int:
        """How many schedulers it has had: one that was killed is followed by another."""
        ...

    async def workers(self) -> Sequence[FoundWorker]:
        """Who is there now, and has the plug-in; OSError if the scheduler cannot be reached."""
        ...

    def choose(
        self, wanted: Wanted, workers: Sequence[FoundWorker], taken: Container[str]
    ) -> FoundWorker | None:
        """The worker of a machine; `taken` are addresses of those that machines have."""
        ...

    def connect(self, address: str) -> rpc: ...

    async def close(self) -> None: ...


def handler_of(mark: str) -> str:
    return f"bursar_{blake2b(mark.encode(errors='surrogateescape'), digest_size=6).hexdigest()}"


class _Identity(NamedTuple):
    scheduler: str
    """its id: another one was started since"""
    workers: Sequence[FoundWorker]


class _Connections:
    def __init__(self, mark: str, credentials: Credentials) -> None:
        self.handler = handler_of(mark)
        self.credentials = credentials
        self._made: Security | None = None

    @property
    def security(self) -> Security:
        if self._made is None:
            self._made = security_of(self.credentials)
        return self._made

    def connect(self, address: str) -> rpc:
        """The other side must have proved who it is: Dask unpickles what it sends."""
        from distributed.core import rpc

        return rpc(
            address,
            timeout=CONNECT_PATIENCE,
            connection_args=self.security.get_connection_args("client"),
            deserializers=["msgpack"],
        )

    async def _ask(self, scheduler: str) -> _Identity:
        async with self.connect(scheduler) as asked:
            identity: dict[str, Any] = await asked.identity()
        workers = [
            FoundWorker(address, str(one["name"]), int(one["nthreads"]), status == "paused")
            for address, one in identity["workers"].items()
            if (status := one.get("status", "running")) in ("running", "paused")
        ]
        return _Identity(str(identity["id"]), workers)


class OwnCluster(_Connections):
    """A scheduler for this run; agents bring the workers."""

    starts_agents = False

    def __init__(self, mark: str, config: SchedulerConfig) -> None:
        super().__init__(mark, config.credentials)
        self.scheduler = SchedulerProcess(config)
        self._asked: Sequence[FoundWorker] = ()
        self._latest: dict[str, FoundWorker] = {}
        """of those, by the name of their machine"""

    @property
    def starts(self) -> int:
        return self.scheduler.starts

    def carrier(self, token: str) -> CarrierConfig:
        """What the agent of a machine must know to start its worker."""
        name = name_of(token)
        return CarrierConfig(self.scheduler.address, name, self.handler, self.credentials)

    async def workers(self) -> Sequence[FoundWorker]:
        """A scheduler that was killed is started again."""
        await asyncio.to_thread(self.scheduler.look)
        return (await self._ask(self.scheduler.address)).workers

    def choose(
        self, wanted: Wanted, workers: Sequence[FoundWorker], taken: Container[str]
    ) -> FoundWorker | None:
        """The one that was started last, if several say that they are it."""
        if workers is not self._asked:  # once for all machines that look for theirs
            self._asked, self._latest = workers, _latest(workers)
        return self._latest.get(name_of(wanted.token))

    async def close(self) -> None:
        self.scheduler.close()


def _latest(workers: Sequence[FoundWorker]) -> dict[str, FoundWorker]:
    """By the name of a machine, its worker with the largest number: `NAME.NUMBER`."""
    found: dict[str, tuple[int, FoundWorker]] = {}
    for worker in workers:
        name, _, number = worker.name.rpartition(".")
        if number.isdecimal() and (name not in found or int(number) > found[name][0]):
            found[name] = (int(number), worker)
    return {name: worker for name, (_, worker) in found.items()}


class GivenCluster(_Connections):
    """Somebody's cluster; `offers` are the names of what its workers are rented as."""

    starts_agents = True

    def __init__(
        self, mark: str, scheduler: str, offers: Sequence[str] = (), *, trust: bool = False
    ) -> None:
        """`trust`: also scheduler and workers that cannot prove who they are."""
        super().__init__(mark, Credentials())
        self._mark = mark
        self._trust = trust
        self.starts = 0
        self._prepared = ""
        """the id of the scheduler that has the plug-in"""
        self.address = scheduler
        """of the scheduler"""
        self._offers = offers
        self._left: dict[str, FoundWorker] = {}
        """machines that an earlier process left, by token, and their workers"""

    def connect(self, address: str) -> rpc:
        self._require_proof(address)
        return super().connect(address)

    def _require_proof(self, address: str) -> None:
        if not self._trust:
            require_proof(address, self.security)

    async def known_workers(self) -> Sequence[FoundWorker]:
        """Who is there now; all of them must have proved who they are, or be trusted."""
        workers = (await self._ask(self.address)).workers
        for worker in workers:
            self._require_proof(worker.address)
        return workers

    async def workers(self) -> Sequence[FoundWorker]:
        """A scheduler that is new to us gets the plug-in, for all its workers, also later ones."""
        found = await self._ask(self.address)
        if found.scheduler != self._prepared:
            await self._prepare()
            self._prepared = found.scheduler
            self.starts += 1
        return found.workers

    async def _prepare(self) -> None:
        from bursar.execute.remote.plugin import AgentPlugin

        async with self.client() as client:
            try:
                await client.register_plugin(AgentPlugin(self.handler))
                if not self._prepared:  # what is left of a process that crashed, and not wanted
                    await self._end_all_but(client, self._left)
            except (ModuleNotFoundError, AttributeError) as error:
                raise InputError(
                    f"the workers of {self.address} cannot load bursar ({error}); install the"
                    " same version there: pip install 'bursar[dask]'"
                ) from None

    def client(self) -> Client:
        from distributed import Client

        self._require_proof(self.address)
        return Client(
            self.address,
            asynchronous=True,
            security=self.security,
            timeout=CONNECT_PATIENCE,
            set_as_default=False,
        )

    def choose(
        self, wanted: Wanted, workers: Sequence[FoundWorker], taken: Container[str]
    ) -> FoundWorker | None:
        """The same as before, or another on its host, since the agent is there; else a free one."""
        before = wanted.before or self._left.get(wanted.token)
        if before is not None:
            named = [worker for worker in workers if worker.name == before.name]
            near = [worker for worker in workers if worker.host == before.host]
            return (*named, *near, None)[0]
        kept = {worker.name for worker in list(self._left.values())}
        for worker in workers:
            is_taken = worker.address in taken or worker.name in kept
            if not (is_taken or worker.is_paused) and serves(worker, wanted.offer, self._offers):
                return worker
        return None

    # --- machines of a process that crashed ------------------------------------------------------

    async def find_left(self) -> LeftAgents:
        """Machines of the run that live, and their workers; they keep these from now on.

        A worker that is gone is replaced by one that sees the agent, since it is on its host.
        """
        from bursar.execute.remote.plugin import list_agents

        workers = await self.known_workers()
        named = {worker.name: worker for worker in workers}
        at = {worker.address: worker for worker in workers}
        found = await self.run_on_workers(list_agents, f"{self._mark}/")
        for address, agents in found.items():
            for token, worker in agents.items():
                if worker in named:
                    self._left[token] = named[worker]
                elif address in at:
                    self._left.setdefault(token, at[address])
        silent = [worker for worker in workers if worker.address not in found]
        return LeftAgents(dict(self._left), silent)

    def free_left(self, token: str) -> None:
        """This machine is gone: its worker may be another one."""
        self._left.pop(token, None)

    async def end_machine(self, token: str) -> None:
        """End the agent of a machine, wherever it is."""
        from bursar.execute.remote.plugin import end_agents

        await self.run_on_workers(end_agents, [token])

    async def run_on_workers(self, function: Callable[[A], Any], argument: A) -> dict[str, Any]:
        """What a function gives on each worker, by address."""
        async with self.client() as client:
            return await _run(client, function, argument)

    async def _end_all_but(self, client: Client, kept: Container[str]) -> None:
        from bursar.execute.remote.plugin import end_agents, list_agents

        found = await _run(client, list_agents, f"{self._mark}/")
        ends = sorted({token for agents in found.values() for token in agents if token not in kept})
        if ends:
            await _run(client, end_agents, ends)

    async def close(self) -> None:
        """End what may be left, and take the plug-in back."""
        if self._prepared:
            async with self.client() as client:
                await self._end_all_but(client, ())
                await client.unregister_worker_plugin(self.handler)


async def _run(client: Client, function: Callable[[A], Any], argument: A) -> dict[str, Any]:
    """On all workers; those that fail are left out."""
    found: dict[str, Any] = await client.run(function, argument, on_error="ignore")
    return found


def serves(worker: FoundWorker, offer: str, offers: Sequence[str]) -> bool:
    """Where there are several offers, a worker is of the one its name begins with: `small-3`."""
    return len(offers) < 2 or worker.name == offer or worker.name.startswith(f"{offer}-")
