"""Products of matrices that are computed in the thread that asks for them.

From some size on, the library behind numpy shares a product out to a thread for each processor.
These take longer to begin than the products here, they wait for the next one in a busy loop, and
where they cut a product, its last bits depend on how many there are. So it is cut here, into parts
that stay below that size, and where the library cuts as well: the bits are those of one thread.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_OF_MATRICES: Final = 262_144
"""Products of numbers up to which OpenBLAS multiplies two matrices in one thread ..."""
MOST_OF_VECTOR: Final = 9_216
"""... and a vector and a matrix."""
ROWS, COLUMNS = 8, 32
"""It computes so many rows, or columns, at once: parts are as many times as long."""


def product_of(left: Floats, right: Floats) -> Floats:
    """A matrix or a vector by a matrix."""
    if left.ndim == 1:
        cuts = _cuts(right.shape[1], MOST_OF_VECTOR // max(1, len(right)), COLUMNS)
        parts = [left @ right[:, part] for part in cuts]
    else:
        cuts = _cuts(len(left), MOST_OF_MATRICES // max(1, right.size), ROWS)
        parts = [left[part] @ right for part in cuts]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _cuts(length: int, most: int, step: int) -> list[slice]:
    """Parts of about equal length, whole steps each; what is left over is in the last one."""
    long = max(1, most // step) * step
    ends = [*range(long, length - step + 1, long), length]
    return [slice(begin, end) for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
