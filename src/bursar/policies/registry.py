"""Entries by name: bursar's own, and those of other packages through entry points.

A package offers an entry under the group `bursar.provisioner`, `bursar.placer`,
`bursar.replicator` or `bursar.advisor`; the object is called and returns the entry. A provisioner
that has a parameter `fleet` gets the fleet that was asked for; an entry of another role that has a
parameter `provisioner` gets the provisioner.

A name may be followed by values for other parameters of the entry: `owm:order=highest`,
`slop:f=0.2:tokens=stay`. Nothing of that has to be quoted in a shell, and lists of names are
written with commas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from bursar.engine.roles import Placer, Policy, Provisioner, learns
from bursar.model.errors import InputError, instead_of, one_line, shown
from bursar.model.market import Market
from bursar.policies.advise.none import NoAdvice
from bursar.policies.parameters import parameters_of
from bursar.policies.place_by_account import AccountPlacer, PlacedByAccount
from bursar.policies.presets import check_accounts, check_together
from bursar.policies.reliable_retries import ReliableRetries, has_both_pools

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

BUILT_IN: Final[Mapping[str, Mapping[str, str]]] = {
    "provisioner": {
        "adapt": "bursar.policies.provision.adapt:Adapt",
        "bats": "bursar.policies.provision.bats:Bats",
        "calls": "bursar.policies.provision.calls:CallFleet",
        "conpaas": "bursar.policies.provision.conpaas:ConPaaS",
        "fixed": "bursar.policies.provision.fixed:Fixed",
        "forecast": "bursar.policies.provision.forecast:ForecastAhead",
        "frontier": "bursar.policies.provision.frontier:Frontier",
        "hedged": "bursar.policies.provision.hedged:Hedged",
        "hist": "bursar.policies.provision.hist:Hist",
        "mixed": "bursar.policies.provision.mixed:Mixed",
        "prob": "bursar.policies.provision.prob:Prob",
        "pfa": "bursar.policies.provision.pfa:Pfa",
        "plf": "bursar.policies.provision.plf:PlanningFirst",
        "plan": "bursar.policies.provision.plan:PlanAhead",
        "planned": "bursar.policies.provision.planned:Planned",
        "react": "bursar.policies.provision.react:React",
        "reg": "bursar.policies.provision.reg:Reg",
        "sample": "bursar.policies.provision.sample:Sample",
        "scf": "bursar.policies.provision.scf:ScalingFirst",
        "token": "bursar.policies.provision.token:Token",
        "uniform-progress": "bursar.policies.provision.uniform_progress:UniformProgress",
    },
    "placer": {
        "assigned": "bursar.policies.place.assigned:AssignedPlacer",
        "backfill": "bursar.policies.place.backfill:BackfillPlacer",
        "cpp": "bursar.policies.place.cpp:CppPlacer",
        "fdws": "bursar.policies.place.fdws:FdwsPlacer",
        "fes": "bursar.policies.place.fes:FesPlacer",
        "fifo": "bursar.policies.place.fifo:FifoPlacer",
        "priority": "bursar.policies.place.priority:PriorityPlacer",
        "fitting": "bursar.policies.place.fitting:FittingPlacer",
        "follow": "bursar.policies.place.follow:FollowPlacer",
        "fwp": "bursar.policies.place.fwp:FwpPlacer",
        "hr": "bursar.policies.place.hr:HrPlacer",
        "kept": "bursar.policies.place.kept:KeptPlacer",
        "owm": "bursar.policies.place.owm:OwmPlacer",
        "pooled": "bursar.policies.place.pooled:PooledPlacer",
        "random": "bursar.policies.place.random:RandomPlacer",
        "sample": "bursar.policies.place.sample:SamplePlacer",
        "slop": "bursar.policies.place.slop:SlopPlacer",
        "sr": "bursar.policies.place.sr:SrPlacer",
        "stretch": "bursar.policies.place.stretch:StretchPlacer",
        "wheft": "bursar.policies.place.wheft:WheftPlacer",
    },
    "replicator": {
        "none": "bursar.policies.replicate.none:NoReplicas",
        "stochastic": "bursar.policies.replicate.stochastic:Stochastic",
        "random": "bursar.policies.replicate.random:RandomReplicas",
        "stochastic-random": "bursar.policies.replicate.stochastic_random:StochasticRandom",
        "at-risk": "bursar.policies.replicate.at_risk:AtRisk",
        "migrate": "bursar.policies.replicate.migrate:Migrate",
        "ntdmr": "bursar.policies.replicate.ntdmr:Ntdmr",
        "silent": "bursar.policies.replicate.silent:Silent",
        "perfect": "bursar.policies.replicate.perfect:Perfect",
    },
    "advisor": {
        "none": "bursar.policies.advise.none:NoAdvice",
        "replan": "bursar.policies.advise.workflow:WorkflowAdvisor",
        "tail": "bursar.policies.advise.tail:TailAdvisor",
    },
}
"""Role to entry name to where it is; entries are imported when they are used."""

FORMER: Final = {("replicator", "insured"): "at-risk"}
"""Names that older journals have, and what they are now."""

SIMULATED_ONLY: Final = {("replicator", "perfect"): "knows true run times"}
"""Entries that a real run cannot have, with what they need."""
CHOSEN_BY_NAME: Final = ("provisioner", "placer", "replicator", "advisor")
"""Roles whose entries users choose."""
OFFERED: Final = {
    "provisioner": "fleet",
    "placer": "provisioner",
    "replicator": "provisioner",
    "advisor": "provisioner",
}
"""What an entry of another package may have a parameter for."""


def _offered(role: str) -> EntryPoints:
    """Entries of other packages."""
    from importlib.metadata import entry_points  # late: it is slow to import

    return entry_points(group=f"bursar.{role}")


def names(role: str) -> list[str]:
    """Every entry that can be used in a role."""
    return sorted({*BUILT_IN[role], *_offered(role).names})


def find(role: str, name: str) -> Callable[..., Any]:
    """The class or function that makes the entry `name`, with its parameters if it has some."""
    if role not in BUILT_IN:
        raise InputError(f"no role {shown(role)}; {instead_of(role, BUILT_IN)}")
    name, *settings = name.split(":")
    made = _find(role, name)
    return (
        partial(made, **parameters_of(made, f"the {role} '{name}'", settings)) if settings else made
    )


def plain_name(name: str) -> str:
    """The name of an entry without its parameters."""
    return name.partition(":")[0]


def _find(role: str, name: str) -> Callable[..., Any]:
    where = BUILT_IN[role].get(FORMER.get((role, name), name))
    if where is not None:
        module, _, attribute = where.partition(":")
        found: Callable[..., Any] = getattr(import_module(module), attribute)
        return found
    for point in _offered(role).select(name=name):
        return _load(role, point)
    raise InputError(f"no {role} '{name}'; there are {', '.join(names(role))}")


def _load(role: str, point: EntryPoint) -> Callable[..., Any]:
    """The object of another package; every error there becomes one line."""
    package = point.dist.name if point.dist is not None else point.value
    what = f"the {role} {shown(point.name)} of the package {package}"
    try:
        loaded: Callable[..., Any] = point.load()
    except Exception as error:
        problem = one_line(f"{type(error).__name__}: {error}")
        raise InputError(f"{what} cannot be imported: {problem}; fix or remove it") from error
    if not callable(loaded):
        raise InputError(f"{what} is {point.value}, which cannot be called; fix or remove it")
    return loaded


def arguments(role: str, name: str, offered: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the arguments offered that the entry has parameters for; they must be enough."""
    from inspect import signature

    form = signature(find(role, name))
    given = {key: value for key, value in offered.items() if key in form.parameters}
    try:
        form.bind(**given)
    except TypeError as error:
        known = f"it can get {', '.join(offered)}" if offered else "it gets none"
        raise InputError(f"the {role} {shown(name)} needs arguments: {error}; {known}") from None
    return given


def check_policies(
    policies: Mapping[str, str], *, simulated: bool = False, accounts: int = 1
) -> None:
    """Refuse entries that do not exist, cannot be imported, or cannot be made for this run."""
    for role, name in policies.items():
        find(role, name)
    policies = {role: plain_name(name) for role, name in policies.items()}
    for role, name in policies.items():
        need = SIMULATED_ONLY.get((role, name))
        if need is not None and not simulated:
            raise InputError(
                f"the {role} '{name}' {need}: only bursar simulate can use it; choose another"
            )
        if name not in BUILT_IN[role]:
            arguments(role, name, {OFFERED[role]: None})
    check_together(policies)
    check_accounts(policies, accounts, BUILT_IN)


def make_entry(role: str, name: str, offered: Mapping[str, Any]) -> Any:
    """An entry, made with those of the arguments offered that it has parameters for."""
    return find(role, name)(**arguments(role, name, offered))


def make_placer(name: str, offered: Mapping[str, Any], accounts: int) -> Placer:
    """A placer; where a run has several accounts, one that keeps them apart."""
    made: Placer = make_entry("placer", name, offered)
    if accounts > 1 and isinstance(made, AccountPlacer):
        return PlacedByAccount(partial(make_entry, "placer", name, offered))
    return made


def with_retries(placer: Placer, provisioner: Provisioner, market: Market) -> Placer:
    """With an autoscaler on both pools, tasks that were lost often go to reliable machines.

    A placer that learns from events stays as it is, such as one that follows plans.
    """
    from bursar.policies.autoscaling import Autoscaler  # late: few runs have one

    if not isinstance(provisioner, Autoscaler) or not has_both_pools(market) or learns(placer):
        return placer
    return ReliableRetries(placer)


def make_policy(
    provisioner: str = "fixed",
    placer: str = "random",
    replicator: str = "none",
    advisor: str = "none",
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> Policy:
    """Build a policy; `options` are keyword arguments for the entries, by role."""
    given = options or {}
    made = find("advisor", advisor)(**given.get("advisor", {}))
    advisors = () if isinstance(made, NoAdvice) else (made,)  # which need not be asked all the time
    return Policy(
        provisioner=find("provisioner", provisioner)(**given.get("provisioner", {})),
        placer=find("placer", placer)(**given.get("placer", {})),
        replicator=find("replicator", replicator)(**given.get("replicator", {})),
        advisors=advisors,
    )
