"""Entries by name: bursar's own, and those of other packages through entry points.

A package offers an entry under the group `bursar.provisioner`, `bursar.placer` or
`bursar.replicator`; the object is called with the options of the run and returns the entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bursar.model.errors import InputError, instead_of, shown
from bursar.policies.roles import Placer, Provisioner, Replicator

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

BUILT_IN: Final[Mapping[str, Mapping[str, str]]] = {
    "provisioner": {
        "bats": "bursar.policies.provision.bats:Bats",
        "fixed": "bursar.policies.provision.fixed:Fixed",
        "sample": "bursar.policies.provision.sample:Sample",
    },
    "placer": {
        "fitting": "bursar.policies.place.fitting:FittingPlacer",
        "random": "bursar.policies.place.random:RandomPlacer",
        "sample": "bursar.policies.place.sample:SamplePlacer",
    },
    "replicator": {
        "none": "bursar.policies.replicate.none:NoReplicas",
        "stochastic": "bursar.policies.replicate.stochastic:Stochastic",
        "random": "bursar.policies.replicate.random:RandomReplicas",
        "stochastic-random": "bursar.policies.replicate.stochastic_random:StochasticRandom",
        "migrate": "bursar.policies.replicate.migrate:Migrate",
        "perfect": "bursar.policies.replicate.perfect:Perfect",
    },
}
"""Role to entry name to where it is; entries are imported when they are used."""


class Policy(msgspec.Struct, frozen=True):
    """One entry in each role."""

    provisioner: Provisioner
    placer: Placer
    replicator: Replicator


def _offered(role: str) -> EntryPoints:
    """Entries of other packages."""
    from importlib.metadata import entry_points  # late: it is slow to import

    return entry_points(group=f"bursar.{role}")


def names(role: str) -> list[str]:
    """Every entry that can be used in a role."""
    return sorted({*BUILT_IN[role], *_offered(role).names})


def find(role: str, name: str) -> Callable[..., Any]:
    """The class or function that makes the entry `name`."""
    if role not in BUILT_IN:
        raise InputError(f"no role {shown(role)}; {instead_of(role, BUILT_IN)}")
    where = BUILT_IN[role].get(name)
    if where is not None:
        module, _, attribute = where.partition(":")
        found: Callable[..., Any] = getattr(import_module(module), attribute)
        return found
    for point in _offered(role).select(name=name):
        loaded: Callable[..., Any] = point.load()
        return loaded
    raise InputError(f"no {role} '{name}'; there are {', '.join(names(role))}")


def make_policy(
    provisioner: str = "fixed",
    placer: str = "random",
    replicator: str = "none",
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> Policy:
    """Build a policy; `options` are keyword arguments for the entries, by role."""
    given = options or {}
    return Policy(
        provisioner=find("provisioner", provisioner)(**given.get("provisioner", {})),
        placer=find("placer", placer)(**given.get("placer", {})),
        replicator=find("replicator", replicator)(**given.get("replicator", {})),
    )
