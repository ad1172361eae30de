"""The soak: `python -m tests.soak [SITE ...] [--seeds 1,2,3]`; see `make soak`.

For each site and seed a bag of 500 and a workflow of 100 with files, in four ways (`WAYS`): only
lines are cut; workers, agents and the scheduler are killed or frozen, too; and bursar as well, and
resumed; bursar is killed, and nobody resumes. Each demand gets a yes or a no, and one no is enough
for an exit code of 1.
"""

from __future__ import annotations

import argparse
import signal
import sys
from itertools import product

from tests.soak.sites import SITES
from tests.soak.soaking import WAYS, soak_once
from tests.soak.works import SoakBag, SoakFlow

WORKS = {"bag": SoakBag, "flow": SoakFlow}
UNTRIED = {("flow", "abandoned")}
"""what runs does not matter to machines that nobody resumes"""


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))  # sites are closed then
    parser = argparse.ArgumentParser()
    parser.add_argument("sites", nargs="*", default=list(SITES))
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--works", default=",".join(WORKS))
    parser.add_argument("--ways", default=",".join(WAYS))
    asked = parser.parse_args()
    demands, failed = 0, 0
    for name, seed, work, way in product(
        asked.sites, asked.seeds.split(","), asked.works.split(","), asked.ways.split(",")
    ):
        if SITES[name].why_not:
            print(f"{name} {work} {way}: skipped: {SITES[name].why_not}")
            continue
        if (work, way) in UNTRIED:
            continue
        soak, faults = soak_once(SITES[name], WORKS[work], seed, WAYS[way])
        print(f"{name}, {work}, {way}, seed {seed}: {soak.seconds:.0f} s, faults: {faults}")
        for verdict in soak.verdicts:
            print(f"    {verdict}")
        for line in faults.reported if soak.wrong else ():
            print(f"    . {line}")
        sys.stdout.flush()
        demands += len(soak.verdicts)
        failed += len(soak.wrong)
    print(f"{demands - failed} of {demands} demands hold")
    sys.exit(1 if failed or not demands else 0)


if __name__ == "__main__":
    main()
