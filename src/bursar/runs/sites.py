"""What can be rented elsewhere: the market of a run whose machines are not on this computer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bursar.execute.staging import COPIED, SHARED
from bursar.model.errors import InputError
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO
from bursar.model.option_words import PYTHON, OptionWords
from bursar.model.site import RunSite
from bursar.runs.worlds import require_dask

if TYPE_CHECKING:
    from bursar.execute.remote.clusters import FoundWorker


def site_market(site: RunSite, market: Market | None, asked: OptionWords = PYTHON) -> Market | None:
    """The market as it can be rented there; None: this computer decides."""
    require_dask()
    if site.scheduler:
        if site.on != "dask":
            raise InputError(
                f"{asked.option('scheduler')} is for {asked.given('on', 'dask')}: leave it out"
            )
        return _cluster_market(site, market, asked)
    if site.on == "dask":
        return market
    if market is None:
        raise InputError(
            f"{asked.given('on', site.on)} needs a market file that says what to rent:"
            f" {asked.option('market')}"
        )
    if site.on == "ssh":
        for offer in market.offers:
            if offer.place is None or not offer.place.hosts:
                raise InputError(
                    f'offer {offer.name} has no hosts: write hosts = ["ada", "grace"] in the'
                    " market file"
                )
            if offer.limit is not None and offer.limit > len(offer.place.hosts):
                raise InputError(
                    f"offer {offer.name} has a limit of {offer.limit} machines and"
                    f" {len(offer.place.hosts)} hosts; each host is one machine"
                )
    if site.on == "ec2":
        _check_ec2(market)
    return market


def _check_ec2(market: Market) -> None:
    """Ask EC2 before anything begins whether there is what the market file names."""
    from bursar.rent.ec2_api import Ec2Api, Ec2Error
    from bursar.rent.user_data import LONGEST_SETUP

    for offer in market.offers:
        if offer.place is None or not offer.place.image:
            raise InputError(
                f'offer {offer.name} has no image: write image = "ami-..." in the market file'
            )
        if len(offer.place.setup) > LONGEST_SETUP:
            raise InputError(
                f"the setup of offer {offer.name} has more than {LONGEST_SETUP:,} letters: let it"
                " fetch a script, or put that into the image"
            )
    try:
        Ec2Api().check(market.offers)
    except Ec2Error as error:
        raise InputError(str(error)) from None


def _cluster_market(site: RunSite, market: Market | None, asked: OptionWords) -> Market:
    """The workers that are there now, as offers with limits."""
    scheduler = site.scheduler
    workers = asyncio.run(_workers(site, asked))
    if not workers:
        raise InputError(f"{scheduler}: the cluster has no workers; start some")
    if market is None:
        slots = min(worker.threads for worker in workers)
        offer = Offer("worker", ZERO, limit=len(workers), slots=max(1, slots))
        return Market(currency="USD", date="undated", offers=(offer,))
    from bursar.execute.remote.clusters import serves

    names = [offer.name for offer in market.offers]
    offers = []
    for offer in market.offers:
        count = sum(serves(worker, offer.name, names) for worker in workers)
        most = count if offer.limit is None else min(count, offer.limit)
        offers.append(replace(offer, limit=most))
    if not any(offer.limit for offer in offers):
        raise InputError(
            f"no worker of {scheduler} has the name of an offer; begin names of workers with"
            f" '{names[0]}-', for example"
        )
    return replace(market, offers=tuple(offers))


async def _workers(site: RunSite, asked: OptionWords) -> Sequence[FoundWorker]:
    from bursar.execute.remote.clusters import GivenCluster
    from bursar.execute.remote.security import UnprovedPeerError

    scheduler = site.scheduler
    cluster = GivenCluster("", scheduler, trust=site.trust_cluster)
    try:
        workers = await asyncio.wait_for(cluster.known_workers(), 15)
        return [worker for worker in workers if not worker.is_paused]
    except UnprovedPeerError as error:
        raise InputError(
            f"{error}; if you trust its network, add {asked.option('trust_cluster')}"
        ) from None
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        raise InputError(
            f"{scheduler}: no Dask scheduler answers ({type(error).__name__}: {error}); check"
            " the address and, for tls://, Dask's configuration of certificates"
        ) from None


def files_mode(given: str | None, site: RunSite | None, default: str, asked: OptionWords) -> str:
    """How tasks of workflows get at their files; without a common directory, they are copied."""
    if site is None or site.shared:
        return given or default
    if given == SHARED:
        raise InputError(
            "tasks on machines elsewhere share files only in a directory that all machines see:"
            f" give {asked.option('shared')}, too, or leave out {asked.option('files')}"
        )
    return COPIED
