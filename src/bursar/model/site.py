"""Where a run has its machines, if not on this computer."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

Where = Literal["local", "dask", "ssh", "slurm", "ec2"]
PLACES: Final[tuple[Where, ...]] = ("local", "dask", "ssh", "slurm", "ec2")


class RunSite(msgspec.Struct, frozen=True, omit_defaults=True):
    """No password or key is here: the journal keeps it."""

    on: Where = "dask"
    scheduler: str = ""
    """of a Dask cluster whose workers are the machines; empty: bursar starts its own"""
    listen: str = ""
    """the address of this computer as machines see it; empty: found out"""
    shared: bool = False
    """whether machines see the working directory under the same name"""
    trust_cluster: bool = False
    """whether a given cluster is believed without TLS, by which it would prove itself"""
