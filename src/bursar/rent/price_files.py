"""Prices from a file in the format of apache-libcloud, such as the one that comes with it.

It has prices of EC2 by type and region, and of Google's Compute Engine by series, for a processor
and for a GiB of memory. Types of EC2 with their processors and memory are libcloud's, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import msgspec

from bursar.model.errors import InputError, instead_of, shown
from bursar.rent.catalogue import Catalogue, Cloud, PricedMachine

GCE_SHAPES: Final[Mapping[str, tuple[str, tuple[int, ...]]]] = {
    "n1-standard": ("3.75", (1, 2, 4, 8, 16, 32, 64, 96)),
    "n1-highmem": ("6.5", (2, 4, 8, 16, 32, 64, 96)),
    "n1-highcpu": ("0.9", (2, 4, 8, 16, 32, 64, 96)),
    "n2-standard": ("4", (2, 4, 8, 16, 32, 48, 64, 80, 96, 128)),
    "n2-highmem": ("8", (2, 4, 8, 16, 32, 48, 64, 80, 96)),
    "n2-highcpu": ("1", (2, 4, 8, 16, 32, 48, 64, 80, 96)),
    "n2d-standard": ("4", (2, 4, 8, 16, 32, 48, 64, 80, 96, 128, 224)),
    "n2d-highmem": ("8", (2, 4, 8, 16, 32, 48, 64, 80, 96)),
    "n2d-highcpu": ("1", (2, 4, 8, 16, 32, 48, 64, 80, 96, 128, 224)),
    "e2-standard": ("4", (2, 4, 8, 16, 32)),
    "e2-highmem": ("8", (2, 4, 8, 16)),
    "e2-highcpu": ("1", (2, 4, 8, 16, 32)),
    "c2-standard": ("4", (4, 8, 16, 30, 60)),
}
"""predefined machines: GiB for a processor, and how many of these they may have"""


def read_prices(cloud: Cloud, region: str, file: Path | None = None) -> Catalogue:
    """The prices of a region; without a file, those that come with apache-libcloud."""
    path = file or _libcloud_file()
    try:
        data = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; name a file with prices") from None
    except msgspec.DecodeError as error:
        raise InputError(f"{path}: cannot be read as prices in JSON ({error})") from None
    try:
        updated = datetime.fromtimestamp(float(data["updated"]), UTC).date()
        tables = data["compute"]
        machines = list(_ec2(tables, region) if cloud == "ec2" else _gce(tables, region))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{path}: cannot be read as prices in the format of apache-libcloud"
            f" ({type(error).__name__}: {error})"
        ) from None
    source = str(path) if file is not None else "apache-libcloud"
    return Catalogue(cloud, source, updated, machines)


def _libcloud_file() -> Path:
    """The newer prices that `libcloud.pricing.download_pricing_file` puts there come first."""
    own = Path("~/.libcloud/pricing.json").expanduser()
    if own.exists():
        return own
    found = find_spec("libcloud")
    if found is None or found.origin is None:
        raise InputError(
            "prices come with apache-libcloud: pip install 'bursar[aws]', or name a file of prices"
        )
    return Path(found.origin).with_name("data") / "pricing.json"


def _ec2(tables: Mapping[str, Any], region: str) -> Iterator[PricedMachine]:
    prices: Mapping[str, Mapping[str, float]] = tables["ec2_linux"]
    _check_region(region, {name for table in prices.values() for name in table})
    try:
        from libcloud.compute.constants.ec2_instance_types import INSTANCE_TYPES
    except ImportError:
        raise InputError(
            "types of EC2 come with apache-libcloud: pip install 'bursar[aws]'"
        ) from None
    types: Mapping[str, Any] = INSTANCE_TYPES
    for name, table in prices.items():
        known = types.get(name)
        if known is None or region not in table:
            continue
        cpus = int(known["extra"].get("vcpu") or known["extra"].get("cpu") or 0)
        memory = Decimal(known["ram"]) / 1024
        yield PricedMachine(name, region, cpus, memory, Decimal(str(table[region])))


def _gce(tables: Mapping[str, Any], region: str) -> Iterator[PricedMachine]:
    prices = tables["gce_instances"]
    _check_region(region, prices["n1"]["cpu"]["on_demand"])
    for shape, (gibibytes, counts) in GCE_SHAPES.items():
        series = prices[shape.split("-")[0]]
        for term, is_spot in (("on_demand", False), ("preemptible", True)):
            cpu, ram = (
                Decimal(str(series[part].get(term, {}).get(region, {}).get("price", 0)))
                for part in ("cpu", "ram")
            )
            for count in counts:
                memory = Decimal(gibibytes) * count
                price = cpu * count + ram * memory if cpu and ram else Decimal(0)
                yield PricedMachine(f"{shape}-{count}", region, count, memory, price, is_spot)


def _check_region(region: str, known: Any) -> None:
    if region not in known:
        raise InputError(f"no region {shown(region)}; {instead_of(region, sorted(known))}")
