"""The configuration file of the user: `$BURSAR_CONFIG`, or `bursar/config.toml` in the directory of
the user's settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from bursar.model.errors import InputError, instead_of, shown

OF_A_JOB: Final = ("market", "budget", "retries", "timeout", "quiet")
"""as in a job file"""
KEYS: Final = (*OF_A_JOB, "page", "color")


def config_file(environment: Mapping[str, str]) -> Path:
    """Where the defaults of this user are."""
    if given := environment.get("BURSAR_CONFIG"):
        return Path(given)
    settings = environment.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(settings) / "bursar" / "config.toml"


def config_table(environment: Mapping[str, str]) -> dict[str, Any]:
    """What the file of the user says; empty: there is none."""
    path = config_file(environment)
    if not path.is_file():
        if environment.get("BURSAR_CONFIG"):
            raise InputError(f"{path}: does not exist; check BURSAR_CONFIG")
        return {}
    from bursar.formats.files import read_text  # late: most users have no such file
    from bursar.model.reading import read_toml

    table = read_toml(read_text(path, "configuration"), str(path))
    for key in table:
        if key not in KEYS:
            raise InputError(f"{path}: unknown key {shown(key)}; {instead_of(key, KEYS)}")
    return table
