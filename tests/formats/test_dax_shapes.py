"""DAX as other people's generators write it: what is odd is a caution, and the given edges count.

The shapes are those of Pegasus' published workflows and of the files that simulators are shipped
with: Montage, Sipht, Inspiral, Broadband, Epigenomics, CyberShake, in DAX 2 and 3.
"""

from xml.sax.saxutils import quoteattr

import pytest

from bursar.formats.dax import parse_dax
from bursar.formats.wfformat import parse_wfformat, write_wfformat
from bursar.model.errors import InputError
from bursar.model.workflow import Workflow
from bursar.plan.workflow.shape import shape

HEADS = {
    "2.1": '<?xml version="1.0" encoding="UTF-8"?>\n<!-- generated: 2008-09-24T14:29:18-07:00 -->\n'
    '<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="2.1" count="1" index="0" name="test"'
    ' jobCount="25" fileCount="0" childCount="20">\n<!-- part 2: definition of all jobs -->\n',
    "3.6": '<?xml version="1.0" encoding="UTF-8"?>\n<adag version="3.6" name="test" index="0"'
    ' xmlns="http://pegasus.isi.edu/schema/DAX">\n<metadata key="createdBy">us</metadata>\n'
    '<invoke when="at_end">/bin/date</invoke>\n<file name="f.in"><profile namespace="stat"'
    ' key="size">7</profile><pfn url="file:///f.in" site="local"/></file>\n'
    '<executable namespace="t" name="work" arch="x86_64" os="linux" installed="true">'
    '<pfn url="file:///bin/true" site="local"/></executable>\n'
    '<transformation namespace="t" name="both"><uses name="work"/></transformation>\n',
    "prefixed": '<dax:adag xmlns:dax="http://pegasus.isi.edu/schema/DAX" version="2.1">\n',
    "bare": "<adag>\n",
}


def dax(jobs, edges=(), version="2.1", edges_first=False):
    """`jobs`: id to attributes (or None), and uses as (file, link, size or None)."""
    prefix = "dax:" if version == "prefixed" else ""
    key = "name" if version == "3.6" else "file"

    def job(name, attributes, uses):
        reported = "".join(f" {k}={quoteattr(v)}" for k, v in attributes.items())
        lines = [f'  <{prefix}job id="{name}" namespace="T" version="1.0"{reported}>']
        for file, link, size in uses:
            sized = "" if size is None else f' size="{size}"'
            lines.append(
                f'    <{prefix}uses {key}="{file}" link="{link}" register="true" transfer="true"'
                f' optional="false" type="data"{sized}/>'
            )
        return "\n".join([*lines, f"  </{prefix}job>"])

    body = [job(*one) for one in jobs]
    body += [
        f'  <{prefix}child ref="{child}"><{prefix}parent ref="{parent}"/></{prefix}child>'
        for parent, child in edges
    ]
    if edges_first:
        body.reverse()
    return HEADS[version] + "\n".join(body) + f"\n</{prefix}adag>\n"


def work(runtime="13.59", kind="work"):
    return {"name": kind, "runtime": runtime}


def montage(n=6):
    """The same pair of images is compared twice, into a file of one name."""
    project = [(f"P{i}", work("13.59", "mProjectPP"), [("region.hdr", "input", 304),
               (f"p{i}.fits", "output", 4222080)]) for i in range(n)]  # fmt: skip
    pairs = [(i, (i + 1) % n) for i in range(n)] + [(0, 1), (2, 3)]
    fits = [(f"D{k}", work("10.59", "mDiffFit"), [(f"p{i}.fits", "input", 4222080),
            (f"p{j}.fits", "input", 4222080), (f"fit.{i}.{j}.txt", "output", 304)])
            for k, (i, j) in enumerate(pairs)]  # fmt: skip
    last = ("C", work("143.2", "mConcatFit"), [(f"fit.{i}.{j}.txt", "input", 304)
            for i, j in pairs] + [("fits.tbl", "output", 2000)])  # fmt: skip
    edges = [(f"P{i}", f"D{k}") for k, pair in enumerate(pairs) for i in pair]
    return [*project, *fits, last], edges + [(f"D{k}", "C") for k in range(len(pairs))]


def sipht(n=4):
    """Several chains in one file, each of which leaves its errors under the same name."""
    jobs, edges = [], []
    for i in range(n):
        jobs += [
            (f"F{i}", work("981.0277", "Findterm"), [("RNAfold", "input", 591942),
             ("findterm.out", "output", 134), ("findterm.err", "output", 0)]),
            (f"S{i}", work("22.1", "SRNA"), [("findterm.out", "input", 134),
             ("findterm.err", "input", 0), (f"srna{i}", "output", 9)]),
        ]  # fmt: skip
        edges.append((f"F{i}", f"S{i}"))
    return jobs, edges


def inspiral(n=4):
    """Two groups whose triggers collide in their names."""
    bank = [(f"T{i}", work("18.06", "TmpltBank"), [("H1.gwf", "input", 902334),
            (f"bank-{i % 2}.xml", "output", 986360)]) for i in range(n)]  # fmt: skip
    main = [(f"I{i}", work("378.00", "Inspiral"), [(f"bank-{i % 2}.xml", "input", 986360),
            (f"insp-{i}.xml", "output", 221205)]) for i in range(n)]  # fmt: skip
    return bank + main, [(f"T{i}", f"I{i}") for i in range(n)]


def broadband(n=3):
    """Files that are changed in place, by one job after the other."""
    jobs = [(f"U{i}", work("12", "ucsb"), [("velocity", "inout", 5000)]) for i in range(n)]
    return jobs, [(f"U{i}", f"U{i + 1}") for i in range(n - 1)]


def epigenomics(n=4):
    """Sizes below zero, as of a counter that ran over."""
    jobs = [("split", work("34.41", "fastqSplit"), [("in.sfq", "input", -1886416896),
            *((f"c{i}.sfq", "output", -i) for i in range(n))])]  # fmt: skip
    jobs += [(f"m{i}", work("2.1", "map"), [(f"c{i}.sfq", "input", -i)]) for i in range(n)]
    return jobs, [("split", f"m{i}") for i in range(n)]


def cybershake(n=3):
    """Sizes of many digits."""
    jobs = [("x", work("1e2", "ExtractSGT"), [("sgt", "output", 40_000_000_000)])]
    jobs += [(f"z{i}", work("47.7", "Seis"), [("sgt", "input", 40_000_000_000),
             (f"s{i}", "output", 24000)]) for i in range(n)]  # fmt: skip
    return jobs, [("x", f"z{i}") for i in range(n)]


SHAPES = (montage, sipht, inspiral, broadband, epigenomics, cybershake)


@pytest.mark.parametrize("edges_first", [False, True])
@pytest.mark.parametrize("version", HEADS)
@pytest.mark.parametrize("make", SHAPES)
def test_the_edges_of_real_shapes_are_the_given_ones(make, version, edges_first):
    jobs, edges = make()
    dag = parse_dax(dax(jobs, edges, version, edges_first))
    given = {(parent, child) for parent, child in edges}
    found = {(need, task.name) for task in map(dag.task, range(len(dag))) for need in task.needs}
    assert found == given
    assert len(dag) == len(jobs)
    assert shape(dag).critical_path_s > 0
    for caution in dag.cautions:
        assert caution.isprintable()
    assert parse_wfformat(write_wfformat(dag)) == dag
    assert Workflow.of(dag).dag == dag
    assert Workflow.of(dag).dag.cautions == dag.cautions


@pytest.mark.parametrize(
    ("make", "reported"),
    [
        (montage, "2 files with several writers ('fit.0.1.txt' is written by 'D0' and by 'D6')"),
        (sipht, "2 files with several writers ('findterm.err' is written by 'F0' and by 'F3')"),
        (inspiral, "2 files with several writers"),
        (broadband, "3 files changed in place ('U0' reads and writes the file 'velocity')"),
        (epigenomics, "7 sizes below 0, taken as not known; the first is in line 6"),
    ],
)
def test_what_is_odd_is_reported_once(make, reported):
    cautions = parse_dax(dax(*make())).cautions
    assert sum(reported in caution for caution in cautions) == 1, cautions


def test_a_plain_workflow_has_no_cautions():
    assert parse_dax(dax(*cybershake())).cautions == ()


def test_a_negative_size_is_not_known_and_others_stay():
    dag = parse_dax(dax(*epigenomics()))
    sizes = dict(zip(dag.files.names, dag.files.sizes.tolist(), strict=True))
    assert sizes == {"c0.sfq": 0, "c1.sfq": -1, "c2.sfq": -1, "c3.sfq": -1, "in.sfq": -1}


def test_files_of_one_writer_make_edges_beside_the_given_ones():
    jobs = [("a", work(), [("x", "output", 1)]), ("b", work(), [("x", "input", 1)])]
    dag = parse_dax(dax([*jobs, ("c", work(), [])], [("a", "c")]))
    assert [dag.task(n).needs for n in range(3)] == [(), ("a",), ("a",)]


def test_files_against_the_given_edges_are_a_caution():
    jobs = [("a", work(), [("x", "input", 1)]), ("b", work(), [("x", "output", 1)])]
    dag = parse_dax(dax(jobs, [("a", "b")]))
    assert [dag.task(n).needs for n in range(2)] == [(), ("a",)]
    assert "against the given edges, which count" in dag.cautions[0]
    with pytest.raises(InputError, match="wait for each other"):
        parse_dax(dax(jobs, [("a", "b"), ("b", "a")]))


def test_without_any_edge_nobody_can_say_which_writer_is_meant():
    with pytest.raises(InputError, match="a file has one writer"):
        parse_dax(dax(montage()[0]))


@pytest.mark.parametrize(
    ("runtime", "seconds"),
    [("13,59", 13.59), ("1,234.5", 1234.5), ("0,5", 0.5), (" 7 ", 7.0), ("1e2", 100.0),
     ("-3.2", 0.0), (".5", 0.5), ("12,345,678.9", 12345678.9), ("0,001", 0.001)],
)  # fmt: skip
def test_run_times_as_generators_write_them(runtime, seconds):
    dag = parse_dax(dax([("a", work(runtime), [])]))
    assert dag.runtimes.tolist() == [seconds]
    assert bool(dag.cautions) == runtime.startswith("-")


def test_a_run_time_that_can_be_read_in_two_ways_is_refused():
    with pytest.raises(InputError, match="line 5: runtime '1,234' can be read in two ways"):
        parse_dax(dax([("a", work("1,234"), [])]))


@pytest.mark.parametrize(
    ("size", "known"),
    [("304", 304), ("1074.25", 1075), ("1.5E9", 1_500_000_000), ("", None), (None, None),
     ("-1", None), ("9" * 40, None), (str(2**62), 2**62), (str(2**62 + 1), None), ("1e400", None)],
)  # fmt: skip
def test_sizes_as_generators_write_them(size, known):
    dag = parse_dax(dax([("a", work(), [("x", "input", size)])]))
    assert dag.task(0).reads == {"x": known}


def test_a_job_may_lack_everything_but_its_id():
    dag = parse_dax(dax([("a7", {}, []), ("b", {"name": ""}, [])]))
    assert dag.kind_names == ("a7", "b")
    assert dag.task(0).runtime is None


def test_redirections_belong_to_the_command():
    text = (
        '<adag><job id="a" name="sort"><argument>-n</argument><stdin name="in put" link="input"/>'
        '<stdout name="out" link="output"/><stderr file="err"/></job></adag>'
    )
    task = parse_dax(text).task(0)
    assert task.command == ("/bin/sh", "-c", "sort -n < 'in put' > out 2> err")
    assert (set(task.reads), set(task.writes)) == ({"in put"}, {"out", "err"})
