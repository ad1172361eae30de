"""Parameter files: a named column for each argument, a row for each task."""

from __future__ import annotations

import csv
import io
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.formats.params import inline_params, read_params
from bursar.model.errors import InputError


@pytest.fixture
def read(tmp_path):
    def read(name, data):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return read_params(str(path))

    return read


def refused(read, name, data):
    with pytest.raises(InputError) as refusal:
        read(name, data)
    assert str(refusal.value).isprintable()
    return str(refusal.value)


def test_a_csv_file_has_a_header_and_rows(read):
    params = read("a.csv", '\ufeffrate, size\r\n0.10,8\r\n\r\n"1,5","a ""b""\nc"\r\n')
    assert params.columns == ("rate", "size")
    assert params.rows == (("0.10", "8"), ("1,5", 'a "b"\nc'))


def test_a_file_separated_by_tabs_is_reported_by_its_name(read):
    assert read("a.tsv", "a\tb\n1,5\t2\n").rows == (("1,5", "2"),)


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.JSONL"])
def test_json_values_keep_the_text_they_are_written_with(read, name):
    first = '{"a": 1e-05, "b": 1.50, "c": -0}'
    second = '{"c": "x\\ny", "a": true, "b": 12345678901234567890123}'
    params = read(name, f"{first}\n\n{second}")
    assert params.columns == ("a", "b", "c")
    assert params.rows == (("1e-05", "1.50", "-0"), ("true", "12345678901234567890123", "x\ny"))


def test_a_json_array_of_objects_is_a_table(read):
    assert read("a.json", '[{"a": 1},\n {"a": "2"}]').rows == (("1",), ("2",))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,b\n1,2\n", (("1", "2"),)),
        (' {"a": 1, "b": 2}\n', (("1", "2"),)),
        ('\n[{"a": 1, "b": 2}]', (("1", "2"),)),
    ],
)
def test_standard_input_is_recognised(text, rows, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    params = read_params("-")
    assert params.rows == rows
    assert params.source == "standard input"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.csv: empty; write a line of column names"),
        ("\n\n", "a.csv: empty"),
        ("a,b\n", "a.csv: no line after the column names"),
        ("a,b\n1,2\n3\n", "a.csv, line 3: 1 values for the 2 columns a, b"),
        ("a,b\n1,2,3\n", "a.csv, line 2: 3 values for the 2 columns a, b"),
        ("a,b,a\n1,2,3\n", "a.csv, line 1: column 'a' appears twice"),
        ("a,,b\n1,2,3\n", "a.csv, line 1: column 2 has no name"),
        ('a,b\n1,"2\n', "a.csv, line 2: not valid CSV"),
        ('a,b\n1,"2"x\n', "a.csv, line 2: not valid CSV"),
        ('"a\nb",c\n1,2\n', r"a.csv, line 2: column name 'a\nb' cannot be printed"),
        (b"a,b\n1,2\n\xff,3\n", "a.csv, line 3: the parameter file is not UTF-8 text"),
        ("a\n" + "x" * 200_000, "a.csv, line 2: not valid CSV: field larger"),
        (
            ",".join(map(str, range(20))) + "\n1\n",
            "1 values for the 20 columns 0, 1, 2, 3, 4, 5, 6",
        ),
    ],
    ids=lambda value: value[:30],
)
def test_a_mistake_in_csv_is_reported_with_its_line(read, text, message):
    assert message in refused(read, "a.csv", text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.jsonl: empty; write an object for each task"),
        ('{"a": 1}\n{"b": 1}', "a.jsonl, line 2: column 'b' is new; the rows before have a"),
        ('{"a": 1, "b": 2}\n\n{"b": 1}', "a.jsonl, line 3: column 'a' is missing"),
        ('{"a": 1}\n{"a": 1, "a": 2}', "a.jsonl, line 2: column 'a' appears twice"),
        ('{"a": 1, "a": 2}', "a.jsonl, line 1: column 'a' appears twice"),
        ('{"a": [1]}', "a.jsonl, line 1, column 'a': must be text, a number, true or false"),
        ('{"a": {}}', "a.jsonl, line 1, column 'a': must be text"),
        ('{"a": null}', "a.jsonl, line 1, column 'a': must be text"),
        ('{"a": NaN}', "a.jsonl, line 1: not valid JSON: NaN"),
        ('{"a": -Infinity}', "a.jsonl, line 1: not valid JSON: -Infinity"),
        ('{"a": 1}\n{"a": }', "a.jsonl, line 2, column 7: not valid JSON: Expecting value"),
        ("[1]", "a.jsonl, line 1: must be an object"),
        ("3", "a.jsonl, line 1: must be an object"),
        ("{}", "a.jsonl, line 1: no columns"),
        ('{"": 1}', "a.jsonl, line 1: column 1 has no name"),
        ("[" * 200_000, "a.jsonl, line 1: not valid JSON: nested too deeply"),
    ],
    ids=lambda value: value[:30],
)
def test_a_mistake_in_json_lines_is_reported_with_its_line(read, text, message):
    assert message in refused(read, "a.jsonl", text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.json, line 1, column 1: not valid JSON"),
        ("[]", "a.json: empty"),
        ('{"a": 1}', "a.json: must be an array of objects"),
        ('[{"a": 1},\n 3]', "a.json, row 2: must be an object"),
        ('[{"a": 1},\n {"a": ]', "a.json, line 2, column 8: not valid JSON"),
    ],
)
def test_a_mistake_in_a_json_array_is_reported_with_its_place(read, text, message):
    assert message in refused(read, "a.json", text)


def test_a_file_that_cannot_be_read_is_reported(tmp_path):
    with pytest.raises(InputError, match=r"no\.csv: cannot read the parameter file: No such file"):
        read_params(str(tmp_path / "no.csv"))


def test_tables_of_a_job_file_are_parameters():
    assert inline_params([{"a": 1, "b": True}, {"b": "x", "a": 2}], "job").rows == (
        ("1", "true"),
        ("2", "x"),
    )


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
names = st.text(st.characters(categories=["L", "Nd"]), min_size=1)
tables = st.lists(names, unique=True, min_size=1, max_size=4).flatmap(
    lambda columns: st.tuples(
        st.just(columns),
        st.lists(st.tuples(*[cells for _ in columns]), min_size=1, max_size=5),
    )
)


@given(tables)
def test_whatever_a_csv_writer_wrote_is_read_back(tmp_path_factory, table):
    columns, rows = table
    path = tmp_path_factory.getbasetemp() / "written.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([columns, *rows])
    params = read_params(str(path))
    assert (list(params.columns), list(params.rows)) == (columns, rows)


@given(tables)
def test_whatever_json_was_written_is_read_back(tmp_path_factory, table):
    columns, rows = table
    objects = [dict(zip(columns, row, strict=True)) for row in rows]
    directory = tmp_path_factory.getbasetemp()
    (directory / "written.jsonl").write_text("\n".join(map(json.dumps, objects)))
    (directory / "written.json").write_text(json.dumps(objects, indent=1))
    for name in ("written.jsonl", "written.json"):
        params = read_params(str(directory / name))
        assert (list(params.columns), list(params.rows)) == (columns, rows)
