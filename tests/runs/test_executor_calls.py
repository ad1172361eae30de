"""What travels to workers and back. Scripts are real programs, with functions in `__main__`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial

import pytest

from bursar import BudgetExecutor, CallError
from bursar.execute.calls import RemoteTraceback


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("BURSAR_HOME", str(tmp_path / "home"))


@pytest.fixture
def pool():
    with BudgetExecutor(max_workers=1) as made:
        yield made


def run_script(text: str, *, by: str = "file", tmp_path=None) -> str:
    """What a program prints; it is a file, the text after `-c`, or comes from standard input."""
    if by == "file":
        (tmp_path / "script.py").write_text(text)
        program, fed = [str(tmp_path / "script.py")], None
    else:
        program, fed = (["-c", text], None) if by == "-c" else (["-"], text)
    done = subprocess.run(
        [sys.executable, *program],
        input=fed,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


# --- calls are what they were when they were submitted -------------------------------------------


def test_an_object_that_changes_between_two_calls_is_another(pool):
    class Model:
        w = 0

        def __call__(self, x):
            return self.w * x

    model, found = Model(), []
    for w in (1, 2, 3):
        model.w = w
        found.append(pool.submit(model, 10))
    assert [future.result(30) for future in found] == [10, 20, 30]


def test_arguments_are_those_of_the_moment(pool):
    table, found = {"w": 1}, []
    for w in (1, 2, 3):
        table["w"] = w
        found.append(pool.submit(dict, table))
        found.append(pool.submit(partial(dict, table)))
    assert [future.result(30)["w"] for future in found] == [1, 1, 2, 2, 3, 3]


def test_every_call_of_an_object_finds_it_as_it_was(pool):
    class Counter:
        n = 0

        def __call__(self):
            self.n += 1
            return self.n

    counter, kept = Counter(), []

    def append():
        kept.append(1)
        return len(kept)

    assert [pool.submit(counter).result(30) for _ in range(3)] == [1, 1, 1]
    assert [pool.submit(append).result(30) for _ in range(3)] == [1, 1, 1]


def test_a_closure_that_changes_between_two_calls_is_another(pool):
    w = 1
    first = pool.submit(lambda x: x * w, 10)
    w = 2
    assert (first.result(30), pool.submit(lambda x: x * w, 10).result(30)) == (10, 20)


SCRIPT = """
from bursar import BudgetExecutor

W, CACHE = 1, {}

def scale(x):
    return helper(x) * W

def helper(x):
    return x

def remember(x):
    CACHE[x] = True
    return len(CACHE)

with BudgetExecutor(max_workers=1) as pool:
    first = pool.submit(scale, 10)
    W = 2
    print(first.result(), pool.submit(scale, 10).result())
    def helper(x): return x + 1
    print(pool.submit(scale, 10).result())
    print([pool.submit(remember, n).result() for n in range(3)])
"""


@pytest.mark.parametrize("by", ["file", "-c", "stdin"])
def test_the_globals_of_a_script_count_and_live_in_the_worker(tmp_path, by):
    assert run_script(SCRIPT, by=by, tmp_path=tmp_path) == "10 20\n22\n[1, 2, 3]\n"


CLASSES = """
import dataclasses, enum, functools
from bursar import BudgetExecutor

@dataclasses.dataclass
class Point:
    x: int
    y: int = 2
    def norm(self): return self.x + self.y

class Colour(enum.Enum):
    RED = 1

class Estimator:
    def fit(self, data):
        self.mean_ = sum(data) / len(data)
        return self

def move(point, by, colour):
    assert colour is Colour.RED
    return dataclasses.replace(point, x=point.x + by)

with BudgetExecutor(max_workers=2) as pool:
    found = pool.submit(move, Point(1), 5, Colour.RED).result()
    print(found == Point(6), isinstance(found, Point))
    print(pool.submit(Point(3).norm).result(), pool.submit(Point, 7).result().x)
    print(list(pool.map(functools.partial(move, by=1, colour=Colour.RED), [Point(1)]))[0].x)
    print(pool.submit(Estimator().fit, [1, 2, 3]).result().mean_)
    print(pool.submit(lambda p: [q.x for q in p], [Point(1), Point(2)]).result())
"""


def test_classes_of_a_script_travel(tmp_path):
    assert run_script(CLASSES, tmp_path=tmp_path) == "True True\n5 7\n2\n2.0\n[1, 2]\n"


CURRY = """
from toolz import curry
from bursar import BudgetExecutor

@curry
def add(a, b): return a + b

def multiply(a, b): return a * b

with BudgetExecutor(max_workers=1) as pool:
    print(pool.submit(add, 1, 2).result(), pool.submit(add(1), 2).result())
    print(pool.submit(curry(multiply)(3), 4).result(), list(pool.map(add(5), range(3))))
"""


def test_curried_functions_of_a_script_travel(tmp_path):
    pytest.importorskip("toolz")
    assert run_script(CURRY, tmp_path=tmp_path) == "3 3\n12 [5, 6, 7]\n"


class Local:
    """Of a module that workers cannot import: pytest loads it in its own way."""

    def __init__(self, x):
        self.x = x


def doubled(local):
    return Local(2 * local.x)


def test_what_is_in_a_module_that_workers_cannot_import_travels(pool):
    found = pool.submit(doubled, Local(21)).result(30)
    assert (type(found), found.x) == (Local, 42)
    assert [one.x for one in pool.map(doubled, [Local(1), Local(2)], chunksize=2)] == [2, 4]
    assert pool.submit(partial(doubled, Local(5))).result(30).x == 10


def test_such_a_module_is_known_also_when_only_an_argument_comes_from_it(pool, monkeypatch):
    from bursar.execute import shipped_modules as homeless

    monkeypatch.delitem(homeless._HOMELESS, __name__, raising=False)
    monkeypatch.setattr(homeless, "_MARKS", [b"__main__"])
    homeless._SEEN.clear()
    assert pool.submit(getattr, Local(21), "x").result(30) == 21


def test_a_module_that_was_loaded_from_a_file_travels(pool, tmp_path):
    from importlib.util import module_from_spec, spec_from_file_location

    (tmp_path / "plugin_of_mine.py").write_text(
        "def triple(x): return 3 * helper(x)\nhelper = abs\n"
    )
    spec = spec_from_file_location("plugin_of_mine", tmp_path / "plugin_of_mine.py")
    module = sys.modules["plugin_of_mine"] = module_from_spec(spec)
    spec.loader.exec_module(module)
    assert pool.submit(module.triple, -2).result(30) == 6


# --- proxies -------------------------------------------------------------------------------------


def test_proxies_of_a_manager_work_in_calls_also_of_one_made_later(pool):
    from multiprocessing import Manager

    def put(table, key):
        table[key] = key * key
        return len(table)

    assert pool.submit(abs, -1).result(30) == 1
    with Manager() as manager:
        table, queue = manager.dict(), manager.Queue()
        assert [pool.submit(put, table, n).result(30) for n in range(3)] == [1, 2, 3]
        pool.submit(queue.put, "hello").result(30)
        assert (dict(table), queue.get(timeout=10)) == ({0: 0, 1: 1, 2: 4}, "hello")


def test_the_key_of_the_program_is_seen_in_no_environment_and_no_command_line(pool):
    from multiprocessing import current_process

    def look():
        from multiprocessing import current_process
        from pathlib import Path

        shown = Path("/proc/self/environ").read_bytes() + Path("/proc/self/cmdline").read_bytes()
        key = bytes(current_process().authkey)
        return key, key in shown or key.hex().encode() in shown

    assert pool.submit(look).result(30) == (bytes(current_process().authkey), False)


# --- answers that misbehave ----------------------------------------------------------------------


class Becomes:
    """When it is unpickled, something is called."""

    def __init__(self, function, *args):
        self.what = function, args

    def __reduce__(self):
        return self.what


def odd_answers():
    """Calls whose answers misbehave while they are unpickled, and what their futures get."""

    def only_there(name):
        """A pickle that is fine in the worker, and calls `name` of sys or os elsewhere."""
        code = f"__import__('os').environ.get('BURSAR_ATTEMPT') or {name}"
        return Becomes(eval, code)

    def value(name):
        return lambda: only_there(name)

    class ReadOnly(Exception):  # noqa: N818
        @property
        def __cause__(self):
            return None

    class Other(Exception):  # noqa: N818
        def __reduce__(self):
            return str, ("I was an exception",)

    class Shy(Exception):  # noqa: N818
        def __str__(self):
            raise ValueError("no words")

        __repr__ = __str__

    class Sour(Exception):  # noqa: N818
        def __reduce__(self):
            return only_there("__import__('sys').exit(3)").__reduce__()

    def throw(kind):
        def call():
            raise kind("bad")

        return call

    return {
        "exits": (value("__import__('sys').exit(3)"), CallError),
        "interrupts": (value("exec('raise KeyboardInterrupt')"), CallError),
        "read-only cause": (throw(ReadOnly), ReadOnly),
        "another type": (throw(Other), CallError),
        "no words": (throw(Shy), Exception),
        "an exception that exits": (throw(Sour), CallError),
    }


@pytest.mark.parametrize("what", odd_answers())
def test_an_answer_that_misbehaves_fails_its_own_future_alone(pool, what):
    call, kind = odd_answers()[what]
    before = [pool.submit(abs, -n) for n in range(3)]
    odd = pool.submit(call)
    after = [pool.submit(abs, -n) for n in range(3)]
    error = odd.exception(30)
    assert type(error).__name__ == kind.__name__ or isinstance(error, kind)
    assert [future.result(30) for future in (*before, *after)] == [0, 1, 2] * 2
    assert pool.submit(abs, -7).result(30) == 7


def test_an_exception_has_the_remote_traceback_as_its_cause_where_it_lets_it(pool):
    def fail():
        raise LookupError("lost")

    error = pool.submit(fail).exception(30)
    assert isinstance(error.__cause__, RemoteTraceback)


def test_a_result_that_exits_while_it_is_pickled_fails_alone(pool):
    class Sour:
        def __reduce__(self):
            raise SystemExit(3)

    error = pool.submit(Sour).exception(30)
    assert isinstance(error, CallError)
    assert "the result, of type Sour, cannot be pickled" in str(error)
    assert pool.submit(abs, -7).result(30) == 7


def test_a_large_argument_that_exits_while_it_is_pickled_fails_alone(pool):
    class Sour:
        def __reduce__(self):
            raise SystemExit(3)

    odd = pool.submit(len, [bytes(200_000), Sour()])  # what is large is pickled when it is sent
    assert isinstance(odd.exception(30), SystemExit)
    assert pool.submit(abs, -7).result(30) == 7


def test_a_callback_that_exits_ends_nothing(pool, caplog):
    future = pool.submit(time.sleep, 0.1)
    future.add_done_callback(lambda _: sys.exit(3))
    assert future.result(30) is None
    assert pool.submit(abs, -7).result(30) == 7
    assert "a callback of" in caplog.text


def test_a_very_long_message_of_an_exception_travels(pool):
    def fail():
        raise ValueError("x" * 300_000 + "\udcff")

    assert len(str(pool.submit(fail).exception(30))) == 300_001


def test_whatever_can_be_called_has_a_name(pool):
    class Odd:
        __qualname__ = "Odd"

        def __init__(self, name):
            self.__dict__["__qualname__"] = name

        def __call__(self):
            return 1

    for name in (5, "a\nb" * 300, "\udcff", None):
        assert pool.submit(Odd(name)).result(30) == 1
    pool.shutdown()
    assert pool.summary().tasks.done == 4


# --- processes -----------------------------------------------------------------------------------


def test_a_program_that_forks_keeps_its_pool_and_the_child_has_none(pool):
    assert pool.submit(abs, -1).result(30) == 1
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            pool.submit(abs, -1)
        except RuntimeError as error:
            os.write(writing, str(error).encode())
        pool.shutdown()
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as reported:
        assert f"it belongs to process {os.getpid()}" in reported.read()
    assert pool.submit(abs, -2).result(30) == 2


def test_multiprocessing_may_fork_beside_a_pool(pool):
    import multiprocessing

    with multiprocessing.get_context("fork").Pool(1) as other:
        assert other.map(abs, [-1, -2]) == [1, 2]
        assert list(pool.map(abs, [-1, -2])) == [1, 2]


def test_cancelled_calls_are_told_from_those_that_are_done():
    with BudgetExecutor(max_workers=1) as pool:
        futures = [pool.submit(time.sleep, 0.2) for _ in range(20)]
        futures[0].result()
        cancelled = sum(future.cancel() for future in futures)
    tasks = pool.summary().tasks
    assert cancelled > 0
    assert (tasks.done, tasks.cancelled, tasks.total) == (20 - cancelled, cancelled, 20)
    assert pool.summary().status == "done"
