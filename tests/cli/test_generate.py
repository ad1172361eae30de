"""`bursar generate`: draws a workload into a file."""

import pytest

from bursar.formats.workload import read_workload


def test_a_workload_is_written_with_what_was_asked_for(place):
    facts = place.json(
        "generate", "--kind", "montage,ligo", "--count", "20", "--seed", "1", "--machines", "10",
        "--utilization", "0.5", "--classes", "30-38:1", "--out", "w.jsonl.gz",
    )  # fmt: skip
    assert facts["works"] == 20
    assert facts["utilization"] == pytest.approx(0.5, rel=1e-6)
    assert len(read_workload(place.path / "w.jsonl.gz").arrivals) == 20


def test_people_see_one_line_and_no_file_is_overwritten(place):
    words = ("generate", "--count", "3", "--out", "w.jsonl")
    reported = place.bursar(*words)[1].splitlines()
    assert len(reported) == 1
    assert reported[0].startswith("w.jsonl: 3 workflows, ")
    assert "'w.jsonl': exists already" in place.bursar(*words, code=2)[1]


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("--kind", "lego"), "--kind: no kind of workflows 'lego'; did you mean 'ligo'?"),
        (("--classes", "x"), "--classes: 'x' is not a class of sizes; write for example 30-38:75"),
        (("--totals", "x"), '--totals: must be "hyper-gamma", "generated" or the mean'),
    ],
)
def test_mistakes_are_one_line_with_the_option(place, words, reported):
    _, printed = place.bursar("generate", *words, "--out", "w.jsonl", code=2)
    assert printed.startswith(f"bursar: {reported}")
    assert len(printed.splitlines()) == 1


def test_a_workload_cannot_be_run_and_that_is_reported(place):
    place.bursar("generate", "--count", "2", "--out", "w.jsonl")
    reported = "w.jsonl: is a workload, which can only be simulated: bursar simulate w.jsonl"
    assert reported in place.bursar("run", "w.jsonl", code=2)[1]
