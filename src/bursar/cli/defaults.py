"""User defaults: what `bursar run` and `bursar plan` take where nothing else is given.

The configuration file has the form of a job file, with some of its keys. A command line and a job
file count for more.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from msgspec.structs import replace

from bursar.cli.config import OF_A_JOB, config_file, config_table
from bursar.formats.job import Job
from bursar.model.errors import InputError, shown


def with_defaults(job: Job, environment: Mapping[str, str] = os.environ) -> Job:
    """The job with the user's defaults for what it does not say.

    Who asks for this computer (`jobs`) or for machines elsewhere (`on`) wants no default market.
    """
    table = config_table(environment)
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
    wanted = config_table(environment).get("page", False)
    if not isinstance(wanted, bool):
        raise InputError(f"{config_file(environment)}: page is true or false, not {shown(wanted)}")
    return wanted
