"""The performance file: what was measured on machines of each offer, and when.

    {"version": 1,
     "offers": {"small": {"cpu": [[1790000000.5, 1.02]],
                          "disk": [[1790000000.5, 181000000.0]],
                          "network": [[1790000000.5, 943000000.0]]}}}

A measurement is the seconds since 1970 and a value: of `cpu` the speed, where 1 is the reference
processor, of `disk` and `network` bytes a second. Measurements are added, never changed; of each
resource the latest are kept. The file is replaced as a whole, so that a reader never sees half of
it, and two who add at the same time wait for each other.
"""

from __future__ import annotations

import fcntl
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import Final, Literal

import msgspec
import numpy as np

from bursar.beliefs.calibrated import OfferCalibration
from bursar.beliefs.performance import Calibration
from bursar.formats.files import read_bytes, source_name
from bursar.model.errors import InputError, one_line, shown
from bursar.model.market import check_offer_name
from bursar.model.reading import read_words
from bursar.model.time import LONGEST, SECOND

Resource = Literal["cpu", "disk", "network"]
Measurement = tuple[float, float]
"""seconds since 1970, and the value"""

FILE_NAME: Final = "performance.json"
"""in bursar's directory, by default"""
VERSION: Final = 1
MOST_KEPT: Final = 20_000
"""measurements of a resource of an offer: two weeks of one a minute"""
LATEST: Final = LONGEST / SECOND
"""seconds since 1970 that a measurement may have"""


class _Offer(msgspec.Struct, forbid_unknown_fields=True):
    cpu: list[Measurement] = msgspec.field(default_factory=list)
    disk: list[Measurement] = msgspec.field(default_factory=list)
    network: list[Measurement] = msgspec.field(default_factory=list)

    def rows(self, resource: Resource) -> list[Measurement]:
        rows: list[Measurement] = getattr(self, resource)
        return rows


class _PerformanceFile(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    offers: dict[str, _Offer] = msgspec.field(default_factory=dict)


_RESOURCES: Final[tuple[Resource, ...]] = ("cpu", "disk", "network")
_DECODER: Final = msgspec.json.Decoder(_PerformanceFile)


def read_performance(path: str | Path) -> dict[str, OfferCalibration]:
    """What was measured, by offer."""
    return {
        name: OfferCalibration(*(_calibration(offer.rows(resource)) for resource in _RESOURCES))
        for name, offer in _read(path).offers.items()
    }


def add_measurements(
    path: str | Path, offer: str, measured: Mapping[Resource, Sequence[Measurement]]
) -> None:
    """Add to what is known of an offer; the file and its directory are made if need be."""
    path = Path(path)
    try:
        check_offer_name(read_words(offer))
        for resource, rows in measured.items():
            _check(rows, f"{offer}, {resource}")
    except InputError as error:
        raise InputError(f"offer {shown(offer)}: {error}") from None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path):
            known = _read(path) if path.exists() else _PerformanceFile(VERSION)
            entry = known.offers.setdefault(offer, _Offer())
            for resource, rows in measured.items():
                kept = sorted([*entry.rows(resource), *rows], key=itemgetter(0))[-MOST_KEPT:]
                setattr(entry, resource, kept)
            _replace(path, msgspec.json.encode(known))
    except OSError as error:
        raise InputError(
            f"{source_name(path)}: cannot write the performance file: {error.strerror};"
            " choose another file"
        ) from None


def _read(path: str | Path) -> _PerformanceFile:
    source = source_name(path)
    try:
        found = _DECODER.decode(read_bytes(path, "performance file"))
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise InputError(
            f"{source}: not a performance file: {one_line(str(error))}; fix it, or move it away and"
            " calibrate again"
        ) from None
    if found.version != VERSION:
        raise InputError(
            f"{source}: a performance file of version {shown(found.version)}; only {VERSION} is"
            " read: move it away and calibrate again"
        )
    for name, offer in found.offers.items():
        for resource in _RESOURCES:
            try:
                _check(offer.rows(resource), f"{one_line(name)}, {resource}")
            except InputError as error:
                raise InputError(f"{source}: {error}") from None
    return found


def _check(rows: Sequence[Measurement], where: str) -> None:
    for number, (time, value) in enumerate(rows, 1):
        if not 0 <= time <= LATEST:
            raise InputError(f"{where}, measurement {number}: an impossible time; remove it")
        if not 0 < value < math.inf:
            raise InputError(
                f"{where}, measurement {number}: {value:g} is not a usable value; remove it"
            )


def _calibration(rows: Sequence[Measurement]) -> Calibration:
    """Ascending in time, also where the clock was once set back."""
    table = np.array(sorted(rows, key=itemgetter(0)), dtype=np.float64).reshape(-1, 2)
    return Calibration(np.rint(table[:, 0] * SECOND).astype(np.int64), table[:, 1].copy())


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One process at a time; a process that dies lets go."""
    with path.with_name(f"{path.name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _replace(path: Path, data: bytes) -> None:
    """The whole file or none of it, also after a power failure; to be called alone."""
    new = path.with_name(f"{path.name}.new")
    with new.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
