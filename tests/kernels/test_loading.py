"""Kernels do without the linear algebra of scipy; who needs it still has it."""

import subprocess
import sys

KERNEL = """
import sys
from bursar.kernels.compiling import compile_kept
def double(number):
    return 2 * number
{before}
assert compile_kept(double)(3) == 6
"""
LINEAR_ALGEBRA = """
import numba, numpy
dot = numba.njit(lambda one, other: numpy.dot(one, other))
ones = numpy.ones(3)
assert dot(ones, ones) == 3
"""
UNTOUCHED = """
from numba.np import arraymath, linalg
assert arraymath._HAVE_BLAS
assert arraymath.ensure_blas is linalg.ensure_blas
"""


def run(tmp_path, after, before=""):
    script = tmp_path / "script.py"
    script.write_text(KERNEL.format(before=before) + after)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_kernel_runs_without_linear_algebra_which_is_loaded_on_demand(tmp_path):
    unused = "assert 'numba.np.arraymath' in sys.modules\nassert 'scipy.linalg' not in sys.modules"
    run(tmp_path, f"{unused}\n{UNTOUCHED}{LINEAR_ALGEBRA}assert 'scipy.linalg' in sys.modules")


def test_linear_algebra_that_was_loaded_before_stays(tmp_path):
    run(tmp_path, UNTOUCHED, before="import numba.np.arraymath")


def test_all_is_loaded_where_numba_looks_different(tmp_path):
    other = """
from numba.np import linalg
class Without(type(linalg)):
    def __getattribute__(self, name):
        if name == "ensure_blas" and sys._getframe(1).f_code.co_name == "load_numba":
            raise AttributeError(name)
        return super().__getattribute__(name)
linalg.__class__ = Without
"""
    run(tmp_path, "assert 'scipy.linalg' in sys.modules", before=other)
