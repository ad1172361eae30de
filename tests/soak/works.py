"""What is run, drawn from a seed, and what must come of it.

Every task says in a file of its own, outside of what bursar keeps, that it was begun and that it
reached its end: so it is seen from outside how often.
"""

from __future__ import annotations

from hashlib import sha256
from random import Random

SCRIPT = """#!/bin/sh
# task.sh NUMBER SECONDS BYTES
echo began >> {seen}/$1
sleep $2
cat input; echo "task $1"
if [ $3 -gt 0 ]; then yes "$1" | head -c $3 > $BURSAR_OUTPUT_DIR/large; fi
echo ended >> {seen}/$1
"""
STEP = """#!/bin/sh
# step.sh NUMBER SECONDS FILES...: writes out-NUMBER
echo began >> {seen}/$1
number=$1; sleep $2; shift 2
{{ echo "step $number"; cat input "$@"; }} | sha256sum | cut -c 1-64 > out-$number
echo ended >> {seen}/$number
"""
LARGE = 2_500_000
"""bytes that some tasks write: more than goes with a report"""
INPUT = "sent along\n"


class _SoakWork:
    """Tasks have the numbers from 1 to `count`."""

    def __init__(self, directory, count):
        self.directory = directory
        self.count = count
        self.seen = directory.parent / f"{directory.name}-seen"
        self.seen.mkdir()

    def script(self, name, text):
        (self.directory / name).write_text(text.format(seen=self.seen))
        (self.directory / name).chmod(0o755)

    def marks(self, number, word):
        """How often a task said so."""
        try:
            return (self.seen / str(number)).read_text().split().count(word)
        except FileNotFoundError:
            return 0

    @property
    def has_begun(self):
        return any(self.seen.iterdir())

    def done(self):
        return sum(1 for number in range(1, self.count + 1) if self.marks(number, "ended"))


class SoakBag(_SoakWork):
    def __init__(self, directory, seed, count=500, mean=0.4):
        super().__init__(directory, count)
        rng = Random(f"bag/{seed}")
        self._sizes = {n: LARGE if rng.random() < 0.04 else 0 for n in range(1, count + 1)}
        self.script("task.sh", SCRIPT)
        lines = [
            f"{n}\t{rng.uniform(0.2, 1.8) * mean:.2f}\t{size}\n" for n, size in self._sizes.items()
        ]
        (directory / "tasks.tsv").write_text("".join(lines))

    words = ("--colsep", "\\t", "./task.sh {1} {2} {3}", "::::", "tasks.tsv")

    def wrong(self, outputs):
        """Tasks whose outputs are not what they must be."""
        return [n for n in range(1, self.count + 1) if not self._is_right(outputs / str(n), n)]

    def _is_right(self, place, n):
        large = (f"{n}\n" * LARGE)[: self._sizes[n]].encode()
        try:
            if (place / "stdout").read_text() != f"{INPUT}task {n}\n":
                return False
            return not large or (place / "large").read_bytes() == large
        except OSError:
            return False


class SoakFlow(_SoakWork):
    """Layers of tasks that read what up to three others wrote; the last reads a whole layer."""

    def __init__(self, directory, seed, count=100, mean=2.4):
        super().__init__(directory, count)
        rng = Random(f"flow/{seed}")
        self.script("step.sh", STEP)
        self._reads = {}
        tasks = []
        width = max(2, count // 8)
        for n in range(1, count + 1):
            first = max(1, n - 2 * width)
            before = range(first, max(first, n - width // 2))
            reads = rng.sample(before, min(len(before), rng.randint(1, 3))) if n > width else []
            if n == count:
                reads = list(range(max(1, n - width), n))
            self._reads[n] = reads
            ins = ", ".join(["input", *(f"out-{m}" for m in reads)])
            files = " ".join(f"out-{m}" for m in reads)
            tasks.append(
                f"  t{n}:\n    run: ./step.sh {n} {rng.uniform(0.3, 1.7) * mean:.2f} {files}\n"
                f"    files: {{in: [{ins}], out: out-{n}}}\n"
            )
        head = "name: soak\ndefaults: {runtime: 1s}\ntasks:\n"
        (directory / "flow.yaml").write_text(head + "".join(tasks))

    words = ("flow.yaml",)

    def wrong(self, outputs):
        texts, wrong = {}, []
        for n, reads in self._reads.items():
            reported = f"step {n}\n{INPUT}" + "".join(texts[m] for m in reads)
            texts[n] = sha256(reported.encode()).hexdigest() + "\n"
            try:
                if (outputs / "files" / f"out-{n}").read_text() != texts[n]:
                    wrong.append(n)
            except OSError:
                wrong.append(n)
        return wrong
