"""Machines of EC2: rented in batches, watched by their tags, and given up when they turn off.

    orders --gathered--> RunInstances (client token, tags) --+
    releases --gathered--> TerminateInstances                +--> news
    DescribeInstances by the run's tag, again and again -----+

Money must not leak. An answer that was lost is asked for again under the same token, which rents
nothing twice. Until EC2 has said that there is no such machine, it is not refused. Instances that
carry the run's tag and belong to nobody are ended. Every instance turns itself off before its lease
ends (`user_data.py`), and EC2 then gives it up. A machine costs money until EC2 says that it has
ended, or to the end of its lease; what its agent says does not count.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path
from typing import Final

from bursar.engine.renter import Announced, FoundMachine, RentOrder, Survey, Up
from bursar.execute.local import GRACE
from bursar.execute.remote.clusters import OwnCluster
from bursar.execute.remote.dead_man_switch import EARLY
from bursar.execute.remote.enrol import Invitation
from bursar.execute.remote.enrolment import Enrolment
from bursar.execute.remote.messages import AgentConfig
from bursar.model.market import Market, Offer
from bursar.model.number_ranges import write_ranges
from bursar.model.time import SECOND, Time
from bursar.rent.ec2_api import (
    LIMITS,
    MACHINES_TAG,
    MISMATCH,
    NOWHERE,
    OFFER_TAG,
    RUN_TAG,
    Ec2Api,
    Ec2Error,
    Ec2Instance,
    region_of,
    run_tag,
)
from bursar.rent.ec2_batches import launch_batches
from bursar.rent.leased import Leased, LeasingRenter
from bursar.rent.silence import Silence
from bursar.rent.user_data import user_data

LEAD: Final[Time] = EARLY + 30 * SECOND
"""The switch of a machine fires this long before its lease ends, at most; before that, EC2 must
have been asked to end it."""
LEAST_BOOT: Final[Time] = 90 * SECOND
"""that a first lease allows for, beyond the lead"""
GATHER: Final = 0.03
"""seconds in which orders are gathered to be given together"""
LOOK_OFTEN: Final = 1.0
"""seconds between looks while a machine boots or ends"""
LOOK_SELDOM: Final = 5.0
RETRY: Final = 2.0
"""seconds before a machine that could not be ended is ended again"""
LAUNCH_TRIES: Final = 6
"""where EC2 answers that there are too many calls"""
LONGEST_PAUSE: Final = 8.0
"""seconds between them"""
VISIBLE: Final = 60.0
"""seconds after which an instance that was rented is listed, for certain"""
CLOSING: Final = 60.0
"""seconds for everything to end; what has not turns itself off"""
LIVING: Final = ("pending", "running", "stopping", "stopped")
GONE: Final = ("shutting-down", "terminated")
STOPPED: Final = ("stopping", "stopped")
TAKEN: Final = "the spot machine was taken away"


class _RentedInstance(Leased):
    def __init__(self, offer: Offer | None, until: Time) -> None:
        super().__init__(offer, until)
        self.id = ""
        """of its instance; empty: it is being rented"""
        self.region = ""
        self.since = 0.0
        """when its instance was seen first"""
        self.is_up = False
        self.is_announced = False


class Ec2Renter(LeasingRenter[_RentedInstance]):
    """EC2 is asked in threads; `poll` tells the news."""

    def __init__(
        self,
        run: str,
        mark: str,
        now: Callable[[], Time],
        cluster: OwnCluster,
        market: Market,
        home: Path,
        *,
        timeout: Time | None = None,
        grace: Time = GRACE,
        api: Ec2Api | None = None,
    ) -> None:
        super().__init__(run, mark, now, cluster, timeout=timeout, grace=grace)
        self._market = market
        self._regions = sorted({region_of(offer) for offer in market.offers})
        self._api = api or Ec2Api()
        host, credentials = cluster.scheduler.config.host, cluster.credentials
        self._enrolment = Enrolment(home, host, credentials, self._enrol)
        self._orders: deque[RentOrder] = deque()
        self._strays: dict[str, tuple[str, float]] = {}
        """instances that belong to nobody any more and must end: their regions, and since when"""
        self._launches = 0
        """batches of which EC2 has not said what became"""
        self._is_unsure = False
        """whether it never said it of one, perhaps of one that an earlier process asked for"""
        self._doubts_end = 0.0
        """until when instances of an earlier process may appear that were not listed before"""
        self._has_looked = False
        """whether the instances of an earlier process are known"""
        self._pool = ThreadPoolExecutor(4, "bursar-ec2")
        self._silence = Silence("Amazon EC2")
        self._has_orders, self._must_end, self._must_look = (threading.Event() for _ in range(3))
        self._threads: list[threading.Thread] = []

    def lead(self, offer: Offer) -> Time:
        return LEAD + max(offer.boot, LEAST_BOOT)

    def rent(self, orders: Sequence[RentOrder]) -> None:
        self._begin()
        with self._lock:
            for order in orders:
                if order.machine not in self._machines:
                    self._machines[order.machine] = _RentedInstance(order.offer, order.until)
                    self._orders.append(order)
        self._has_orders.set()

    def extend(self, machine: int, until: Time) -> None:
        self._begin()
        super().extend(machine, until)

    def release(self, machines: Sequence[int]) -> None:
        self._begin()
        for machine in machines:
            rented = self._machines.get(machine)
            if rented is not None:
                rented.is_leaving = True
        self._must_end.set()

    def survey(self) -> Survey:
        """Instances of the run that live; one that was stopped is ended.

        What was rented just before may not be listed yet: it is looked for again, and ended.
        """
        self._is_unsure, self._doubts_end = True, time.monotonic() + VISIBLE
        found = []
        for one in self._api.describe(self._regions, self._mark, LIVING):
            if one.state in STOPPED or one.machine in self._machines:
                self._end_stray(one.id, one.region)
                continue
            offer = next((o for o in self._market.offers if o.name == one.offer), None)
            rented = self._machines[one.machine] = _RentedInstance(offer, 0)
            self._attach(rented, one)
            rented.is_up = one.state == "running"
            found.append(FoundMachine(one.machine, rented.is_up))
        self._has_looked = True
        return Survey(found)

    def _expired(self, rented: _RentedInstance) -> None:
        self._end_stray(rented.id, rented.region)

    def close(self) -> None:
        """End all that there is, and look whether there is more."""
        self.release(list(self._machines))
        end = time.monotonic() + CLOSING
        while self._is_busy() and time.monotonic() < end:
            self._must_look.set()
            self._must_end.set()
            self._closing.wait(0.2)
        self._closing.set()
        for event in (self._has_orders, self._must_end, self._must_look):
            event.set()
        for thread in self._threads:
            thread.join()
        self._pool.shutdown(wait=True)
        self._enrolment.close()

    def _is_busy(self) -> bool:
        return bool(self._machines or self._strays or self._launches or self._is_unsure)

    def _begin(self) -> None:
        if not self._threads and not self._closing.is_set():
            for work in (self._give_orders, self._end_often, self._look_often):
                self._threads.append(threading.Thread(target=work, daemon=True))
                self._threads[-1].start()

    # --- renting, in threads ---------------------------------------------------------------------

    def _give_orders(self) -> None:
        """Gather what is ordered at about the same time, and rent each kind at once."""
        while not self._closing.is_set():
            self._has_orders.wait()
            self._closing.wait(GATHER)
            self._has_orders.clear()
            if self._orders and not self._has_looked:
                self._look_before()
            kinds: dict[str, list[RentOrder]] = {}
            while self._orders:
                order = self._orders.popleft()
                kinds.setdefault(order.offer.name, []).append(order)
            for orders in kinds.values():
                for batch in launch_batches(orders):
                    with self._lock:
                        self._launches += 1
                    self._pool.submit(self._launch_batch, batch)

    def _look_before(self) -> None:
        """An order that an earlier process gave has its machine already."""
        while not self._closing.is_set():
            try:
                self._see(self._api.describe(self._regions, self._mark, LIVING), is_first=True)
            except Ec2Error as error:
                if not (error.is_doubtful or error.is_throttled):
                    return  # it will be refused for the same reason
                self._silence.failed(error)
                self._closing.wait(RETRY)
            else:
                self._silence.answered()
                self._has_looked = True
                return

    def _launch_batch(self, orders: Sequence[RentOrder]) -> None:
        try:
            self._launch(orders)
        finally:
            with self._lock:
                self._launches -= 1
            self._must_look.set()
            self._must_end.set()

    def _launch(self, orders: Sequence[RentOrder]) -> bool:
        """Rent these, of one offer; whether all came. Where a limit is hit, fewer are tried."""
        orders = [order for order in orders if self._is_wanted(order)]
        if not orders:
            return True
        batch = write_ranges(order.machine for order in orders)
        try:
            found = self._ask_for(orders, batch)
        except Ec2Error as error:
            if error.is_doubtful:
                self._is_unsure = True  # its machines count to the end of their leases
                return False
            if error.code in LIMITS and len(orders) > 1:
                half = len(orders) // 2
                if self._launch(orders[:half]):
                    return self._launch(orders[half:])
                orders = orders[half:]
            self._refuse_all(orders, str(error))
            return False
        self._see(found)
        missing = [order for order in orders if order.machine not in {one.machine for one in found}]
        self._refuse_all(missing, f"EC2 had only {len(found)} of {len(orders)} machines")
        return not missing

    def _is_wanted(self, order: RentOrder) -> bool:
        """What was released before EC2 was asked is not rented at all."""
        rented = self._machines.get(order.machine)
        if rented is None or rented.id:
            return False
        if rented.is_leaving or order.until <= self._now():
            self._refuse_all([order], "it was released before EC2 was asked for it")
            return False
        return True

    def _ask_for(self, orders: Sequence[RentOrder], batch: str) -> list[Ec2Instance]:
        """Ask until EC2 has answered: an answer that was lost may have rented machines."""
        offer, until = orders[0].offer, min(order.until for order in orders)
        token = blake2b(f"{self._mark}/{batch}".encode(errors="surrogateescape"), digest_size=24)
        tags = {
            RUN_TAG: run_tag(self._mark),
            MACHINES_TAG: batch,
            OFFER_TAG: offer.name,
            "Name": f"bursar {''.join(c if c.isalnum() else '-' for c in self._run)[:100]}",
        }
        script = self._script(offer, batch, until)
        tries, is_doubtful = 0, False
        while True:
            try:
                return self._api.launch(offer, len(orders), token.hexdigest(), tags, script)
            except Ec2Error as error:
                tries += 1
                is_doubtful = error.is_doubtful or (is_doubtful and error.is_throttled)
                if error.code == MISMATCH:
                    numbers = {order.machine for order in orders}
                    living = self._api.describe(self._regions, self._mark, LIVING)
                    return [one for one in living if one.machine in numbers]
                is_over = until <= self._now() or self._closing.is_set()
                may_repeat = is_doubtful or (error.is_throttled and tries < LAUNCH_TRIES)
                if is_over or not may_repeat:
                    raise Ec2Error(str(error), error.code, is_doubtful=is_doubtful) from None
                self._silence.failed(error)
            pause = min(LONGEST_PAUSE, 2.0 ** (tries - 3))
            self._closing.wait(pause * random.uniform(0.5, 1.0))

    def _script(self, offer: Offer, batch: str, until: Time) -> str:
        place = offer.place or NOWHERE
        enrolment = self._enrolment
        invitation = Invitation(
            enrolment.address, enrolment.certificate, batch, enrolment.secret(batch)
        )
        return user_data(
            invitation,
            until - self._now(),
            time.time(),
            python=place.python or sys.executable,
            setup=place.setup,
        )

    def _enrol(self, machine: int) -> AgentConfig | None:
        """For a machine that enrols: it is wanted until the end of its lease as it is now."""
        rented = self._machines.get(machine)
        if rented is None or rented.offer is None or rented.is_leaving:
            return None
        return self._config_of(machine, rented.offer, rented.until, turns_off=True)

    def _refuse_all(self, orders: Sequence[RentOrder], why: str) -> None:
        """But those that came all the same."""
        for order in orders:
            with self._lock:
                rented = self._machines.get(order.machine)
                if rented is not None and not rented.id:
                    self._refuse(order.machine, rented, why)

    # --- ending, in a thread ---------------------------------------------------------------------

    def _end_often(self) -> None:
        while not self._closing.is_set():
            self._must_end.wait(RETRY)
            self._closing.wait(GATHER)
            self._must_end.clear()
            with self._lock:
                ending = {id_: region for id_, (region, _) in self._strays.items()}
                for rented in self._machines.values():
                    if rented.is_leaving and rented.id:
                        ending[rented.id] = rented.region
            for region in set(ending.values()):
                self._end(region, [id_ for id_, where in ending.items() if where == region])

    def _end(self, region: str, ids: Sequence[str]) -> None:
        """What cannot be ended now is ended later."""
        try:
            ended = set(self._api.end(region, ids))
        except Ec2Error as error:
            self._silence.failed(error)
            return
        with self._lock:
            for id_ in ended:
                self._strays.pop(id_, None)
            machines = [(n, one) for n, one in self._machines.items() if one.id in ended]
        for machine, rented in machines:
            self._down(machine, rented, "released", self._now())

    def _end_stray(self, id_: str, region: str) -> None:
        if id_:
            with self._lock:
                self._strays.setdefault(id_, (region, time.monotonic()))
            self._must_end.set()

    # --- looking, in a thread --------------------------------------------------------------------

    def _look_often(self) -> None:
        while not self._closing.is_set():
            rented = list(self._machines.values())
            try:
                if self._must_be_watched(rented):
                    self._look()
                    self._look_for_notices(rented)
                    self._silence.answered()
            except Ec2Error as error:  # nothing is known: it is asked again
                self._silence.failed(error)
            moving = any(not one.is_up or one.is_leaving for one in rented)
            self._must_look.wait(LOOK_OFTEN if moving or self._strays else LOOK_SELDOM)
            self._closing.wait(GATHER)
            self._must_look.clear()

    def _must_be_watched(self, rented: Sequence[_RentedInstance]) -> bool:
        if self._strays or self._is_unsure or time.monotonic() < self._doubts_end:
            return True
        return any(one.id for one in rented)

    def _look(self) -> None:
        """What was rented before EC2 was asked, and is not listed after a while, is gone."""
        old = time.monotonic() - VISIBLE
        with self._lock:
            known = {n: one for n, one in self._machines.items() if one.id and one.since < old}
            was_sure = not self._launches
        instances = self._api.describe(self._regions, self._mark, (*LIVING, *GONE))
        self._see(instances)
        self._is_unsure = self._is_unsure and not was_sure
        listed = {one.id for one in instances}
        with self._lock:
            for id_, (_, since) in list(self._strays.items()):
                if id_ not in listed and since < old:
                    del self._strays[id_]
        for machine, rented in known.items():
            if rented.id not in listed:
                self._down(machine, rented, "lost", self._now(), "EC2 does not know it any more")

    def _see(self, instances: Sequence[Ec2Instance], *, is_first: bool = False) -> None:
        """`is_first`: those that nobody here has rented may be another's."""
        for one in instances:
            with self._lock:
                rented = self._machines.get(one.machine)
                if rented is not None and not rented.id and one.state not in GONE:
                    self._attach(rented, one)
            if rented is None or rented.id != one.id:
                if one.state in GONE:
                    with self._lock:
                        self._strays.pop(one.id, None)
                elif not is_first:
                    self._end_stray(one.id, one.region)
            else:
                self._note(one, rented)

    def _attach(self, rented: _RentedInstance, instance: Ec2Instance) -> None:
        rented.id, rented.region = instance.id, instance.region
        rented.since = time.monotonic()

    def _note(self, one: Ec2Instance, rented: _RentedInstance) -> None:
        if one.state == "running" and not rented.is_up:
            with self._lock:
                is_new, rented.is_up = not rented.is_up, True
            if is_new:
                self._tell(Up(one.machine))
        elif one.state in GONE and rented.is_leaving:
            self._down(one.machine, rented, "released", self._now())
        elif one.state in (*GONE, *STOPPED):
            why = TAKEN if "Spot" in one.why else one.why or "EC2 has ended it"
            self._down(one.machine, rented, "lost", self._now(), why)
            if one.state in STOPPED:
                self._end_stray(one.id, one.region)

    def _look_for_notices(self, rented: Sequence[_RentedInstance]) -> None:
        if not any(one.offer is None or one.offer.pool == "unreliable" for one in rented):
            return
        notices = self._api.notices(self._regions, self._mark)
        for machine, one in list(self._machines.items()):
            gone = notices.get(one.id)
            if gone is not None and not one.is_announced:
                one.is_announced = True
                left = max(0, round((gone - time.time()) * SECOND))
                self._tell(Announced(machine, self._now() + left))
