"""How much tasks read and write, by their kind, in millions of bytes.

The means of the generator of Bharathi et al. (2008), in thousands of its workflows. A task whose
kind says nothing of reading reads what those before it wrote; the others read inputs of the
workflow, too, or only a part. Nothing is drawn: run times and shapes of a seed stay what they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

MEGABYTE: Final = 1_000_000


class KindSizes(NamedTuple):
    """What a task of a kind writes and reads; None: what its parents wrote."""

    written: float
    read: float | None = None


NOTHING: Final = KindSizes(0.0)
SIZES: Final = {
    # Montage
    "mProjectPP": KindSizes(8.32, 4.22),
    "mDiffFit": KindSizes(0.284),
    "mConcatFit": KindSizes(0.0085),
    "mBgModel": KindSizes(0.00066),
    "mBackground": KindSizes(8.32, 8.33),
    "mImgTbl": KindSizes(0.0044),
    "mAdd": KindSizes(141.0),
    "mShrink": KindSizes(2.82),
    "mJPEG": KindSizes(0.536),
    # LIGO
    "TmpltBank": KindSizes(0.987, 40.5),
    "Inspiral": KindSizes(0.313, 43.4),
    "Thinca": KindSizes(0.0343),
    "TrigBank": KindSizes(0.0129),
    # SIPHT
    "Patser": KindSizes(0.0919, 5.42),
    "Patser_concate": KindSizes(1.78),
    "Findterm": KindSizes(34.6, 5.84),
    "RNAMotif": KindSizes(1.06, 5.26),
    "Transterm": KindSizes(0.442, 5.62),
    "Blast": KindSizes(5.27, 258.4),
    "SRNA": KindSizes(6.15, 59.6),
    "FFN_Parse": KindSizes(0.8, 4.63),
    "Blast_candidate": KindSizes(0.0151, 1.44),
    "Blast_QRNA": KindSizes(4.27, 259.0),
    "Blast_synteny": KindSizes(1.12, 3.48),
    "Blast_paralogues": KindSizes(0.686, 1.26),
    "SRNA_annotate": KindSizes(1.25, 4.37),
    # CyberShake
    "ExtractSGT": KindSizes(475.0, 39_860.0),
    "SeismogramSynthesis": KindSizes(0.024, 467.0),
    "PeakValCalcOkaya": KindSizes(0.000216),
    "ZipSeis": KindSizes(0.102),
    "ZipPSA": KindSizes(0.0011),
    # Epigenomics
    "fastqSplit": KindSizes(355.0, 355.0),
    "filterContams": KindSizes(49.3, 49.3),
    "sol2sanger": KindSizes(19.9, 24.7),
    "fastq2bfq": KindSizes(4.77),
    "map": KindSizes(5.19, 2_879.0),
    "mapMerge": KindSizes(50.0),
    "maqindex": KindSizes(1.22),
    "pileup": KindSizes(2.92, 3_033.0),
}


def volumes_of(
    labels: Sequence[str], parents: Sequence[Sequence[int]], written: Sequence[int | None]
) -> NDArray[np.int64]:
    """[task, 0 or 1]: bytes that it reads and writes; `written` where its kind does not tell."""
    sizes = [SIZES.get(label, NOTHING) for label in labels]
    writes = [
        round(size.written * MEGABYTE) if known is None else known
        for size, known in zip(sizes, written, strict=True)
    ]
    reads = [
        sum(writes[parent] for parent in needed)
        if size.read is None
        else round(size.read * MEGABYTE)
        for size, needed in zip(sizes, parents, strict=True)
    ]
    found: NDArray[np.int64] = np.array([reads, writes], dtype=np.int64).T
    return found
