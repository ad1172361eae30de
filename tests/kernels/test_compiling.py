"""Machine code is kept between processes, and found again only where it is still right."""

from bursar.kernels.compiling import compile_kept, on_compilation, stamp_of


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
    told = []
    on_compilation(lambda: told.append("compiling"))
    first, second = compile_kept(double, "first"), compile_kept(double, "second")
    assert not told
    assert (first(3), second(3)) == (6, 6)
    assert told == ["compiling"]
    on_compilation(lambda: told.append("again"))
    assert compile_kept(double, "first")(3) == 6
    assert told == ["compiling"], "it was kept"
