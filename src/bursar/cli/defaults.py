"""User defaults: what `bursar run` and `bursar plan` take where nothing else is given.

A file in the form of a job file, with some of its keys: `$BURSAR_CONFIG`, or `bursar/config.toml`
in the directory of the user's settings. A command line and a job file count for more.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from bursar.formats.files import read_text
from bursar.formats.job import Job
from bursar.model.errors import InputError, instead_of, shown
from bursar.model.reading import read_toml

OF_A_JOB: Final = ("market", "budget", "retries", "timeout", "quiet")
KEYS: Final = (*OF_A_JOB, "page")


def config_file(environment: Mapping[str, str]) -> Path:
    """Where the defaults of this user are."""
    if given := environment.get("BURSAR_CONFIG"):
        return Path(given)
    settings = environment.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(settings) / "bursar" / "config.toml"


def with_defaults(job: Job, environment: Mapping[str, str] = os.environ) -> Job:
    """The job with the user's defaults for what it does not say.

    Who asks for this computer (`jobs`) or for machines elsewhere (`on`) wants no default market.
    """
    table = _table(environment)
    if not table:
        return job
    of_job = {key: value for key, value in table.items() if key in OF_A_JOB}
    defaults = replace(Job.from_table(of_job, str(config_file(environment))), file=None)
    if job.jobs is not None or job.on is not None:
        defaults = replace(defaults, market=None)
    if job.market is None and defaults.market is None:
        defaults = replace(defaults, budget=None, currency=None, every=None)
    return defaults.override(job)


def wants_page(given: bool | None, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a run gets a live page: as the command line says, else as the user always wants."""
    if given is not None:
        return given
    wanted = _table(environment).get("page", False)
    if not isinstance(wanted, bool):
        raise InputError(f"{config_file(environment)}: page is true or false, not {shown(wanted)}")
    return wanted


def _table(environment: Mapping[str, str]) -> dict[str, Any]:
    """What the file of the user says; empty: there is none."""
    path = config_file(environment)
    if not path.is_file():
        if environment.get("BURSAR_CONFIG"):
            raise InputError(f"{path}: does not exist; check BURSAR_CONFIG")
        return {}
    table = read_toml(read_text(path, "configuration"), str(path))
    for key in table:
        if key not in KEYS:
            raise InputError(f"{path}: unknown key {shown(key)}; {instead_of(key, KEYS)}")
    return table
