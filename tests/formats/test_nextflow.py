import pytest

from bursar.formats.nextflow import parse_nextflow
from bursar.model.errors import InputError

HEADER = "task_id\thash\tname\tstatus\texit\tduration\trealtime\trchar\twchar"
TRACE = f"""{HEADER}
1\tab/1\tFASTQC (one)\tCOMPLETED\t0\t1m 2s\t58.5s\t1.5 MB\t12 KB
2\tab/2\tFASTQC (two)\tFAILED\t1\t5s\t4s\t-\t-
3\tab/3\tFASTQC (two)\tCOMPLETED\t0\t1h 2m\t1h 1m 3s\t2048\t-
4\tab/4\tMULTIQC\tCACHED\t0\t900ms\t-\t-\t-
5\tab/5\tMULTIQC\tCOMPLETED\t0\t-\t-\t-\t-
"""


def reported(text):
    with pytest.raises(InputError) as refusal:
        parse_nextflow(text, "trace.txt")
    assert str(refusal.value).isprintable()
    return str(refusal.value)


def test_tasks_with_a_result_are_read_and_are_independent():
    dag = parse_nextflow(TRACE)
    assert dag.names == ("FASTQC (one)", "FASTQC (two)", "MULTIQC", "MULTIQC #5")
    assert dag.kind_names == ("FASTQC", "MULTIQC")
    assert dag.edges == 0
    assert dag.runtimes.tolist()[:3] == [58.5, 3663.0, 0.9]
    assert dag.task(3).runtime is None
    assert dag.volumes.tolist()[:2] == [[1572864, 12288], [2048, -1]]


def test_raw_traces_have_milliseconds():
    dag = parse_nextflow("task_id\tprocess\tname\trealtime\n7\tP\tP (1)\t12500\n")
    assert dag.runtimes.tolist() == [12.5]
    assert dag.kind_names == ("P",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "trace.txt, line 1: no header"),
        ("task_id\tname\n1\ta\n", "no column realtime"),
        (f"{HEADER}\n1\tx\n", "trace.txt, line 2: has 2 columns, but the header has 9"),
        (TRACE.replace("58.5s", "quick"), "line 2: realtime: 'quick'"),
        (TRACE.replace("1.5 MB", "much"), "line 2: rchar: 'much'"),
        (TRACE.replace("COMPLETED", "FAILED").replace("CACHED", "FAILED"), "no task of this trace"),
        (TRACE.replace("FASTQC (one)", ""), "line 2: task 1: the name is empty"),
    ],
)
def test_mistakes_are_reported_with_their_line(text, words):
    assert words in reported(text)
