"""Jobs: what is to be run, from a job file, from the command line, or from both.

A job file is TOML with a key for every flag of `bursar run` (`arg_file` for `--arg-file`):

    command = "./simulate.sh {}"        # or a list of words: ["./simulate.sh", "{}"]
    args = ["1", "2", "3"]              # or a list of lists, combined: [["a", "b"], ["x", "y"]]
    market = "ec2.toml"                 # or a table [market] with [[market.offer]] tables
    budget = "5.00"
    deadline = "2h"

| key | holds |
|---|---|
| `command` | the command; see `bursar.formats.commands` |
| `workflow` | a workflow file, in place of a command |
| `confidence` | with which its plan is to keep the goal: `0.9` |
| `budget_as` | its budget is kept with that, `"percentile"`, or on average, `"expectation"` |
| `deviation` | of its run times: `"30%"`; of a bag's, with `runtime`: `"40s"`, too |
| `performance` | a file with what machines perform, for its plan |
| `files` | how its tasks get at their files: `"shared"` or `"copied"` |
| `args` | arguments, or lists of them, as after `:::` |
| `arg_file` | a file with an argument a line (or a list of files), as after `::::` |
| `params` | a file of parameters, or `[[params]]` tables with a row each |
| `colsep` `null` | what separates columns in an argument; true: NULs end arguments, not newlines |
| `runtime` | what a task of a bag takes at speed 1, where that is known: `"3m"` |
| `repeat` | how often to run it all; without arguments: how many tasks |
| `jobs` | tasks at once on this computer, where no market is given: `4`, `"50%"`, `"+1"` |
| `shell` | true: /bin/sh runs the command |
| `market` | a market file, or its content as a table |
| `on` | where machines are: `"local"`, `"dask"`, `"ssh"`, `"slurm"` or `"ec2"` |
| `scheduler` `listen` | of a Dask cluster that is there; this computer, as machines see it |
| `trust_cluster` | true: use that cluster also where it has no TLS |
| `shared` | true: machines see the working directory, under the same name |
| `budget` | the most money ever committed: `"5"`, `"5 USD"`; or in each interval: `"5/h"` |
| `best_effort` | true: where the budget does not do for all tasks, go on for as many as it buys |
| `deadline` | when everything must be done: `"2h"` |
| `fleet` | `"small=10,large=3"`, or a table `{small = 10, large = 3}` |
| `retries` `timeout` | further attempts of a task that failed; longest run time of one |
| `provisioner` `placer` `replicator` `advisor` | the policy: an entry for each role |
| `faithful` | true: the algorithm as published |
| `prefer` | of strategies for machines that may vanish: `"makespan*cost"`, `"ask"`, ... |
| `strategy` | that strategy itself: `"N=3,T=30m,D=1h,Mr=0.1"` |
| `sabotage` | mean life of unreliable machines, which are then taken away at random |
| `seed` `name` `output` | of the random choices; of the run; directory for results |
| `quiet` `json` | no progress; results as JSON |

Files and directories are relative to the job file; the command runs where bursar was started.
`bursar run job.toml --budget 9 ::: 4 5` takes the file and overrides what was given: arguments and
parameters of the command line replace those of the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bursar.formats.commands import Command, Source, command_bag, split_words
from bursar.formats.files import read_text, source_name, stdin_is_given
from bursar.formats.job_keys import READERS, read_fields
from bursar.formats.market import read_market
from bursar.formats.params import Params, read_params
from bursar.formats.recognise import is_workload, named_kind
from bursar.model.amount import check_currency
from bursar.model.deviation import Deviation
from bursar.model.errors import EmptyListError, InputError, instead_of, shown
from bursar.model.fleet import parse_fleet
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market
from bursar.model.money import Money
from bursar.model.option_words import COMMAND_LINE
from bursar.model.plan_options import CONFIDENCE, PlanOptions
from bursar.model.reading import (
    read_toml,
)
from bursar.model.site import RunSite
from bursar.model.time import Time
from bursar.model.work import Bag, Work
from bursar.policies import registry


class Job(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The single description of a run that somebody asks for. None: it was not said."""

    file: str | None = None
    """the job file, for messages"""
    command: Command | None = None
    workflow: str | None = None
    """a file, in whatever format"""
    files: str | None = None
    confidence: float | None = None
    budget_as: str | None = None
    deviation: Deviation | None = None
    performance: str | None = None
    sources: tuple[Source, ...] = ()
    """`args` and `arg_file`, or what follows `:::` and `::::`"""
    params: str | Params | None = None
    """a file, or the rows themselves"""
    colsep: str | None = None
    null: bool | None = None
    runtime: Time | None = None
    """of a bag's tasks at speed 1, as far as somebody knows it"""
    repeat: int | None = None
    jobs: int | None = None
    """tasks at once on this computer"""
    shell: bool | None = None
    market: str | Market | None = None
    """a file, or the market itself"""
    on: str | None = None
    scheduler: str | None = None
    trust_cluster: bool | None = None
    listen: str | None = None
    shared: bool | None = None
    budget: Money | None = None
    currency: str | None = None
    """of the budget, if it was written with it"""
    every: Time | None = None
    """interval of the budget; None: it is for the whole run"""
    best_effort: bool | None = None
    deadline: Time | None = None
    fleet: str | None = None
    """as `parse_fleet` reads it: it needs the market"""
    retries: int | None = None
    timeout: Time | None = None
    provisioner: str | None = None
    placer: str | None = None
    replicator: str | None = None
    advisor: str | None = None
    faithful: bool | None = None
    prefer: str | None = None
    strategy: str | None = None
    sabotage: Time | None = None
    seed: int | None = None
    name: str | None = None
    output: str | None = None
    quiet: bool | None = None
    json: bool | None = None

    # --- reading ---------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: str | Path) -> Job:
        """Read a job file."""
        return cls.parse(read_text(path, "job file"), str(path))

    @classmethod
    def parse(cls, text: str, path: str = "job.toml") -> Job:
        """Read the text of a job file, as if it were the file at `path`."""
        return cls.from_table(read_toml(text, source_name(path)), path)

    @classmethod
    def from_table(cls, table: Mapping[str, Any], path: str = "job.toml") -> Job:
        """Check and build a job from a parsed file."""
        source = source_name(path)
        for key in table:
            if key not in READERS:
                raise InputError(f"{source}: unknown key {shown(key)}; {instead_of(key, READERS)}")
        fields = read_fields(table, Path(path).parent, lambda key: f"{source}: {key}")
        return cls(file=path, **fields)

    @classmethod
    def from_command_line(cls, words: Sequence[str], options: Mapping[str, Any]) -> Job:
        """A job from the words after `bursar run` and from its options.

        The words are a job file, a workflow file (see `named_kind`), or a command and arguments.
        The options are named as the keys of a job file; one that is None was not given. A command
        without arguments gets them from standard input, if it is a file or a pipe.
        """
        command, sources = split_words(words)
        given = {key: value for key, value in options.items() if value is not None and value != ()}
        fields = read_fields(given, Path(), lambda key: f"--{key.replace('_', '-')}")
        fields["sources"] = (*fields.get("sources", ()), *sources)
        kind = None
        if isinstance(command, str):
            if not fields["sources"] and is_workload(command):
                message = "is a workload, which can only be simulated"
                raise InputError(f"{command}: {message}: bursar simulate {command}")
            kind = named_kind(command, with_arguments=bool(fields["sources"]))
        if kind == "workflow":
            return cls(workflow=str(command), **fields)
        if kind == "job":
            return cls.load(str(command)).override(cls(**fields))
        if command and not {"params", "repeat"} & set(fields) and not fields["sources"]:
            fields["sources"] = (Source(file="-"),) if stdin_is_given() else ()
        return cls(command=command or None, **fields)

    def override(self, other: Job) -> Job:
        """This job with everything that the other says in place of what this one says."""
        given = {
            field: value
            for field in Job.__struct_fields__
            if (value := getattr(other, field)) is not None and value != ()
        }
        if other.sources or other.params is not None:
            given = {"sources": (), "params": None, **given}
        if other.budget is not None:
            given |= {"currency": other.currency, "every": other.every}
        return msgspec.structs.replace(self, **given)

    # --- what a run is made of -------------------------------------------------------------------

    def bag(self) -> Bag:
        """The tasks; reads the files that the arguments are in."""
        try:
            if self.command is None:
                raise InputError(
                    "there is no command; write one, for example './simulate.sh {}', or 'sh -c {}'"
                    " if the arguments are commands"
                )
            params = read_params(self.params) if isinstance(self.params, str) else self.params
            return command_bag(
                self.command,
                self.sources,
                params=params,
                repeat=self.repeat,
                shell=bool(self.shell),
                null=bool(self.null),
                colsep=self.colsep,
            )
        except EmptyListError:
            raise
        except InputError as error:
            where = "" if self.file is None else f"{source_name(self.file)}: "
            raise InputError(f"{where}{error}") from None

    def work(self) -> Work | None:
        """The workflow as it arrives; None: none was given."""
        if self.workflow is None:
            return None
        if self.command or self.sources or self.params is not None or self.repeat is not None:
            raise InputError(
                f"{source_name(self.workflow)}: a workflow has its own commands; leave out the"
                " command and its arguments"
            )
        from bursar.formats.workflow import read_workflow  # late: it brings numpy

        return Work.of_dag(read_workflow(self.workflow, asked=COMMAND_LINE))

    def planning(self) -> PlanOptions:
        """What is wanted of the plan for a workflow."""
        deviation = self.deviation
        if deviation is not None and deviation.share is None and self.runtime is None:
            raise InputError("--deviation: must be a share of a workflow's run times, such as 30%")
        performance = None if self.performance is None else str(Path(self.performance).absolute())
        return PlanOptions(
            confidence=self.confidence or CONFIDENCE,
            on_average=self.budget_as == "expectation",
            deviation=None if deviation is None else deviation.share,
            performance=performance,
            seed=self.seed or 0,
        )

    def spread(self) -> Time | None:
        """The deviation of a bag's run times; None: it was not said."""
        if self.deviation is None:
            return None
        if self.runtime is None:
            raise InputError("--deviation is for the run times of a workflow, or with --runtime")
        return self.deviation.of(self.runtime)

    def load_market(self) -> Market | None:
        """The market, which must have the currency of the budget; None: none was given."""
        market = read_market(self.market) if isinstance(self.market, str) else self.market
        if market is not None:
            self.check_currency(market)
        return market

    def site(self) -> RunSite | None:
        """Where machines are; None: on this computer."""
        if self.on in (None, "local"):
            for name in ("scheduler", "trust_cluster", "listen", "shared"):
                if getattr(self, name):
                    option = COMMAND_LINE.option(name)
                    raise InputError(f"{option} is for machines elsewhere: add --on dask")
            return None
        return msgspec.convert(
            {
                "on": self.on,
                "scheduler": self.scheduler or "",
                "listen": self.listen or "",
                "shared": bool(self.shared),
                "trust_cluster": bool(self.trust_cluster),
            },
            RunSite,
        )

    def check_currency(self, market: Market) -> None:
        """Refuse a budget in another currency than that of the prices."""
        try:
            check_currency(self.currency, market.currency)
        except InputError as error:
            raise InputError(f"the budget: {error}") from None

    def load_fleet(self, market: Market) -> dict[str, int] | None:
        """The fleet, within the limits of this market; None: none was given."""
        return None if self.fleet is None else parse_fleet(self.fleet, market)

    def goal(self) -> Goal:
        return Goal(budget=self.budget, deadline=self.deadline, every=self.every)

    def limits(self) -> Limits:
        return Limits(retries=self.retries or 0, timeout=self.timeout)

    def policies(self) -> dict[str, str]:
        """Role to entry, for `make_policy`: only those that were given."""
        given = {role: getattr(self, role) for role in registry.CHOSEN_BY_NAME}
        return {role: entry for role, entry in given.items() if entry is not None}
