"""Measuring what this machine performs: processor and disk. The network is in `bandwidth`.

Each function makes one measurement; who wants a distribution calls it again and again.
"""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

import msgspec

from bursar.model.errors import InputError

BLOCK: Final = 1 << 20
"""bytes written or read at once"""
LEAST_SIZE: Final = BLOCK
MOST_SIZE: Final = 1 << 33
"""bytes of the file that is written: 8 GiB"""
SPARE: Final = 1 << 26
"""bytes that stay free on the disk"""
_PROBES: Final = 16
"""places of a file at which it is asked whether they are in memory"""

REFERENCE_RATE: Final = 30.0
"""amounts of `_work` a second that make a speed of 1"""
_HASHED: Final = 1 << 23
"""bytes of an amount of work; they take about a third of its time"""
_STEPS: Final = 100_000
"""with whole numbers and fractions; they take the rest"""


# --- processor -----------------------------------------------------------------------------------


def measure_cpu(amounts: int = 3) -> float:
    """The speed of this processor: whole numbers, fractions and hashing, in this very Python.

    It is measured by the clock on the wall: what others take of the processor, tasks will miss,
    too. Compare machines by the same version of Python.
    """
    start = time.perf_counter()
    for amount in range(amounts):
        _work(amount)
    return amounts / (time.perf_counter() - start) / REFERENCE_RATE


def _work(seed: int) -> float:
    """A fixed amount of work, the same on each machine."""
    whole, fraction = seed + 1, 0.5
    for _ in range(_STEPS):
        whole = (whole * 1_103_515_245 + 12_345) & 0x7FFF_FFFF
        fraction = fraction * 0.5 + whole * 4.656612873077393e-10
    return fraction + hashlib.blake2b(bytes(_HASHED)).digest()[0]


# --- disk ----------------------------------------------------------------------------------------


class DiskMeasurement(msgspec.Struct, frozen=True):
    """Bytes a second, sequentially."""

    write: float
    """until the disk has them"""
    read: float
    is_cold: bool
    """the bytes came from the disk; else some were still in memory, or nobody can tell"""

    @property
    def both(self) -> float:
        """Bandwidth of writes and reads together; of writes alone if reads came from memory.

        Reads and writes are about as fast (section 5 of the paper), so one stands for the other.
        """
        return 2 / (1 / self.write + 1 / self.read) if self.is_cold else self.write


def measure_disk(directory: str | Path, size: int) -> DiskMeasurement:
    """Write a file of this size, in whole blocks, and read it back.

    The file has no name, so that it is gone with this process however that ends.
    """
    blocks = max(1, size // BLOCK)
    _check_room(directory, blocks * BLOCK)
    data = os.urandom(BLOCK)  # compresses to nothing less
    try:
        with TemporaryFile(dir=directory, buffering=0) as file:
            descriptor = file.fileno()
            start = time.perf_counter()
            for number in range(blocks):
                _write_block(descriptor, data, number * BLOCK)
            os.fsync(descriptor)
            written = time.perf_counter()
            is_cold = _forget(descriptor, blocks * BLOCK)
            began = time.perf_counter()
            room = bytearray(BLOCK)
            for number in range(blocks):
                os.preadv(descriptor, [room], number * BLOCK)
            ended = time.perf_counter()
    except OSError as error:
        raise _unusable(directory, error) from None
    total = blocks * BLOCK
    return DiskMeasurement(total / (written - start), total / (ended - began), is_cold)


def _write_block(descriptor: int, data: bytes, at: int) -> None:
    done = 0
    while done < len(data):
        done += os.pwrite(descriptor, data[done:] if done else data, at + done)


def _forget(descriptor: int, size: int) -> bool:
    """Drop the file from memory; gives whether it has gone from there."""
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    room = bytearray(1)
    for at in range(0, size, max(1, size // _PROBES)):
        try:
            os.preadv(descriptor, [room], at, os.RWF_NOWAIT)
        except BlockingIOError:
            continue
        except OSError:  # a file system that does not tell, such as one in memory
            return False
        return False
    # Asking may have fetched what comes next.
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    return True


def _check_room(directory: str | Path, size: int) -> None:
    try:
        status = os.statvfs(directory)
    except (OSError, ValueError) as error:
        raise _unusable(directory, error) from None
    free = status.f_bavail * status.f_frsize
    if size + SPARE > free:
        raise InputError(
            f"{directory}: {free / 1e6:,.0f} MB free, too little for {size / 1e6:,.0f} MB; use a"
            " smaller --size or another --directory"
        )


def _unusable(directory: str | Path, error: Exception) -> InputError:
    why = getattr(error, "strerror", None) or str(error)
    return InputError(f"{directory}: cannot measure there: {why}; choose another --directory")
