"""The order of tests for processes side by side: some begin with tests that wait, others compute.

Tests that mostly wait (for leases, boots, other programs) would otherwise come at the same time in
all processes, while processors have nothing to do, or at the end, when there is nothing else left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

WAITING: tuple[tuple[str, ...], ...] = (
    (
        "tests/airflow/test_real_airflow.py",
        "tests/soak/test_soak.py",
        "tests/execute/remote/test_lines.py",
        "tests/docs/test_pages.py",
    ),
    (
        "tests/cli/test_machines.py",
        "tests/cli/test_hosts.py",
        "tests/cli/test_ec2_killed.py",
        "tests/cli/test_ec2.py",
        "tests/testing/test_dask_runner.py",
        "tests/rent/test_slurm.py",
        "tests/rent/test_hosts.py",
        "tests/cli/test_crash.py",
        "tests/web/service/test_elsewhere.py",
    ),
)
"""for each process that begins with them, the files of such tests: the longest first"""

Item = TypeVar("Item")


def waiting_first(tests: Sequence[tuple[str, Item]], processes: int) -> list[Item]:
    """The same tests, given with their files, as `--dist worksteal` hands them out.

    That cuts them into as many equal shares as there are processes, one after another.
    """
    begin = [
        [item for name in names for file, item in tests if file == name]
        for names in WAITING[: processes // 2]
    ]
    taken = {name for names in WAITING[: processes // 2] for name in names}
    others = [item for file, item in tests if file not in taken]
    found: list[Item] = []
    for number in range(processes):
        size = (len(tests) - len(found)) // (processes - number)
        share = begin[number] if number < len(begin) else []
        more = max(0, size - len(share))
        found += share + others[:more]
        del others[:more]
    return found + others
