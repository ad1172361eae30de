"""The soak: `python -m tests.soak [SITE ...] [--seeds 1,2,3]`; see `make soak`.

For each site and seed a bag of 500 and a workflow of 100 with files, three times: only lines are
cut; workers, agents and the scheduler are killed, too; and bursar as well, and resumed.
"""

from __future__ import annotations

import argparse
import signal
import sys

from tests.soak.sites import SITES
from tests.soak.soaking import soak_once
from tests.soak.works import SoakBag, SoakFlow

WORKS = {"bag": SoakBag, "flow": SoakFlow}
WAYS = {
    "cuts": {"kills": False},
    "kills": {"kills": True},
    "resumed": {"kills": True, "resumes": True},
}


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))  # sites are closed then
    parser = argparse.ArgumentParser()
    parser.add_argument("sites", nargs="*", default=list(SITES))
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--works", default=",".join(WORKS))
    parser.add_argument("--ways", default=",".join(WAYS))
    asked = parser.parse_args()
    failed = 0
    for name in asked.sites:
        if SITES[name].why_not:
            print(f"{name}: skipped: {SITES[name].why_not}")
            continue
        for seed in asked.seeds.split(","):
            for work in asked.works.split(","):
                for way in asked.ways.split(","):
                    wrong, soak, faults = soak_once(SITES[name], WORKS[work], seed, **WAYS[way])
                    failed += bool(wrong)
                    verdict = "; ".join(wrong) if wrong else "all holds"
                    print(
                        f"{name} seed {seed} {work} {way}: {verdict}"
                        f" ({soak.seconds:.0f} s, {len(faults.reported)} faults)",
                        flush=True,
                    )
                    for line in faults.reported if wrong else ():
                        print(f"    {line}", flush=True)
    sys.exit(min(failed, 1))


if __name__ == "__main__":
    main()
