"""Montage: images of the sky are projected, compared in pairs, corrected and joined.

The shape and the moments of run times are those of the generator of Bharathi et al.
("Characterization of scientific workflows", 2008). As there, the partner of an image is drawn among
all images, so that now and then an image is compared with itself.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from bursar.simulate.workloads.drawn import DrawnWorkflow, TaskDrawer

LEAST: Final = 13
"""tasks: three images and a pair"""
FIXED: Final = 6
"""tasks that every Montage has once"""


def images_of(size: int) -> int:
    """One image for six tasks, but at least so many that there are pairs enough."""
    images = 3
    while size - FIXED - 2 * images > images * (images - 1) // 2:
        images += 1
    return max(images, round((size - FIXED) / 6))


def montage(size: int, rng: np.random.Generator) -> DrawnWorkflow:
    drawer = TaskDrawer("montage", rng)
    images = images_of(size)
    pairs = size - FIXED - 2 * images
    projected = [drawer.task("mProjectPP", drawer.around(13.59, 0.245)) for _ in range(images)]
    partners = rng.integers(images, size=pairs).tolist()
    fits = [
        drawer.task(
            "mDiffFit",
            drawer.around(10.59, 0.1),
            (projected[number * images // pairs], projected[partner]),
        )
        for number, partner in enumerate(partners)
    ]
    concat = drawer.task("mConcatFit", 0.08 * pairs, fits)
    model = drawer.task("mBgModel", drawer.around(0.13 * pairs, 0.036 * pairs), (concat,))
    corrected = [
        drawer.task("mBackground", drawer.around(10.74, 0.173), (image, model))
        for image in projected
    ]
    table = drawer.task("mImgTbl", drawer.around(0.372 * images, 0.083 * images), corrected)
    added = drawer.task("mAdd", 0.602 * images, (table,))
    shrunk = drawer.task("mShrink", drawer.around(3.5 + 0.166 * images, 0.3), (added,))
    drawer.task("mJPEG", drawer.skewed(0.64 + 0.0266 * images, 0.4), (shrunk,))
    return drawer.done()
