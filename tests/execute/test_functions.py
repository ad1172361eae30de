"""Functions are kept by what they are, not by which object they are."""

from __future__ import annotations

import gc
import math
import sys
import types
import weakref

import cloudpickle
import pytest

from bursar.execute import functions
from bursar.execute.functions import Functions


@pytest.fixture
def known():
    return Functions()


@pytest.fixture
def pickled(monkeypatch):
    """How often something was pickled by value."""
    counted = []
    dumps = cloudpickle.dumps

    def count(value, protocol):
        counted.append(value)
        return dumps(value, protocol)

    monkeypatch.setattr(cloudpickle, "dumps", count)
    return counted


@pytest.fixture
def script():
    """A module that no other process can import, with whatever is executed in it."""
    module = types.ModuleType("__main__")

    def execute(text):
        exec(text, module.__dict__)  # noqa: S102
        return module

    return execute


def test_a_function_that_cannot_change_is_pickled_once(known, pickled, script):
    text = "import math\nSIDE = (1, 2.5, 'a')\ndef helper(x): return math.sin(x)\n"
    module = script(text + "def f(x, y=3): return helper(x) + SIDE[0] + len('a') + y")
    assert len({known.get(module.f).number for _ in range(5)}) == 1
    assert pickled == [module.f]


@pytest.mark.parametrize(
    "change",
    [
        "WEIGHT = 2",
        "f.__defaults__ = (2,)",
        "f.__code__ = (lambda x, y=1: 7).__code__",
        "def helper(x): return 2",
        "helper.__code__ = (lambda x: 2).__code__",
        "TABLE['a'] = 2",
        "Class.attribute = 2",
        "helper.mark = 2",
    ],
)
def test_a_function_is_another_when_anything_in_it_changed(known, script, change):
    module = script(
        "WEIGHT, TABLE = 1, {'a': 1}\nclass Class: attribute = 1\n"
        "def helper(x): return x\n"
        "def f(x, y=1): return helper(x) * WEIGHT * TABLE['a'] * Class.attribute * y"
    )
    first = known.get(module.f)
    assert known.get(module.f) == first
    script(change)
    second = known.get(module.f)
    assert second.number != first.number
    assert known.get(module.f) == second


def test_equal_functions_are_one(known):
    def make(n):
        return lambda: n

    assert known.get(make(3)).number == known.get(make(3)).number != known.get(make(4)).number


def test_a_closure_that_can_change_travels_with_the_call(known):
    def make(kept):
        return lambda: kept

    assert known.get(make([])) is None
    assert known.get(make((1, [2]))) is None
    assert known.get(make((1, "two", math.sin))) is not None


def test_large_globals_are_looked_at_again_only_when_they_are_bound_anew(known, pickled, script):
    module = script("DATA = bytearray(1_000_000)\ndef f(): return DATA[0]")
    first = known.get(module.f)
    module.DATA[0] = 1
    assert known.get(module.f) == first
    assert len(pickled) == 1
    script("DATA = bytearray(1_000_001)")
    assert known.get(module.f) != first


def test_what_is_kept_is_bounded_in_bytes(known, monkeypatch):
    monkeypatch.setattr(functions, "MOST_BYTES", 100_000)

    def make(text):
        return lambda: text

    kept = [make(str(n) * 30_000) for n in range(10)]
    for function in kept * 2:
        assert cloudpickle.loads(known.get(function).data)() == function()
    assert sum(len(code.data) for code in known._codes.values()) <= 100_000
    assert known._size == sum(len(code.data) for code in known._codes.values())
    assert set(known._numbers.values()) == set(known._codes)


def test_no_function_is_kept_alive(known, script):
    module = script("f = lambda: 1")
    gone = weakref.ref(module.f)
    assert known.get(module.f) is not None
    del module.f
    gc.collect()
    assert gone() is None


def test_a_new_function_at_the_place_of_an_old_one_is_not_mistaken_for_it(known):
    numbers = set()
    for n in range(50):
        numbers.add(known.get(eval(f"lambda: {n}")).number)  # noqa: S307
        gc.collect(0)  # all generations of a long test process would take minutes
    assert len(numbers) == 50
    assert sys.getsizeof(known._portraits) < 50_000


def test_modules_of_the_library_are_found_and_one_that_was_put_there_by_hand_is_not(monkeypatch):
    from bursar.execute.shipped_modules import _look_around, is_homeless

    for name in (
        "os",
        "posixpath",
        "os.path",
        "io",
        "abc",
        "builtins",
        "sys",
        "json.decoder",
        "numpy",
    ):
        assert not is_homeless(name), name
    made = types.ModuleType("made_by_hand")
    made.__file__ = "/nowhere/made_by_hand.py"
    monkeypatch.setitem(sys.modules, "made_by_hand", made)
    _look_around()
    assert is_homeless("made_by_hand")
