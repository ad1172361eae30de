"""Machine code is kept between processes, and found again only where it is still right."""

from bursar.kernels.compiling import compile_kept, let_kernels_call, on_compilation, stamp_of
from bursar.kernels.linking import part_options


def double(number):
    return 2 * number


def test_compiled_code_is_found_again_only_with_the_same_stamp(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))

    def loads(stamp):
        function = compile_kept(double, stamp)
        assert function(3) == 6
        return sum(function.stats.cache_hits.values())

    assert [loads("one"), loads("one"), loads("other")] == [0, 1, 0]


def test_a_stamp_tells_sources_apart():
    assert stamp_of(["a", "b"]) == stamp_of(["a", "b"])
    assert len({stamp_of(["a", "b"]), stamp_of(["ab"]), stamp_of(["a", "c"])}) == 3


def test_the_first_compilation_is_announced_once_and_what_is_kept_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    reported, compiled_before = [], []

    def report():
        reported.append("compiling")
        compiled_before.extend(tmp_path.rglob("*.nb?"))

    on_compilation(report)
    first, second = compile_kept(double, "first"), compile_kept(double, "second")
    assert not reported
    assert (first(3), second(3)) == (6, 6)
    assert reported == ["compiling"]
    assert not compiled_before
    assert list(tmp_path.rglob("*.nb?")), "which is where it would have been seen"
    on_compilation(lambda: reported.append("again"))
    assert compile_kept(double, "first")(3) == 6
    assert reported == ["compiling"], "it was kept"


def increased(number):
    return number + 1


def twice_increased(number):
    return increased(increased(number))


def four_times_increased(number):
    return twice_increased(twice_increased(number))


def test_parts_are_compiled_with_the_kernel_alone_and_are_kept_with_it(tmp_path, monkeypatch):
    from numba.core.codegen import CPUCodeLibrary

    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    assert part_options(), "this version of numba links parts as we expect"
    optimised = []
    optimise = CPUCodeLibrary._optimize_final_module

    def counted(library):
        optimised.append(library.name)
        optimise(library)

    monkeypatch.setattr(CPUCodeLibrary, "_optimize_final_module", counted)
    let_kernels_call(increased, twice_increased)
    kernel = compile_kept(four_times_increased, "once")
    assert kernel(3) == 7
    assert [name for name in optimised if "increased" in name] == [kernel.py_func.__qualname__]
    again = compile_kept(four_times_increased, "once")
    assert again(4) == 8
    assert sum(again.stats.cache_hits.values()) == 1


def test_parts_are_compiled_as_numba_does_where_it_looks_different(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("bursar.kernels.linking.NEEDED", ("no_such_method",))
    part_options.cache_clear()
    try:
        let_kernels_call(decreased)
        assert compile_kept(twice_decreased)(3) == 1
    finally:
        part_options.cache_clear()


def decreased(number):
    return number - 1


def twice_decreased(number):
    return decreased(decreased(number))
