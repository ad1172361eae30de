import pytest

from bursar.formats.dax import parse_dax
from bursar.model.errors import InputError

DAX = """<?xml version="1.0" encoding="UTF-8"?>
<!-- generated -->
<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="2.1" name="small" jobCount="3">
  <job id="ID00000" namespace="Montage" name="mProjectPP" version="1.0" runtime="13.59">
    <argument>-X -x 0.9 <filename file="region.hdr"/> out</argument>
    <uses file="region.hdr" link="input" register="true" size="304"/>
    <uses file="p1.fits" link="output" size="4222080"/>
    <uses file="mProjectPP" link="executable"/>
  </job>
  <job id="ID00001" name="mDiffFit">
    <profile namespace="pegasus" key="runtime">10.5</profile>
    <uses name="p1.fits" link="input" size="4222080"/>
  </job>
  <job id="ID00002" name="mAdd"/>
  <child ref="ID00002"><parent ref="ID00000"/><parent ref="ID00001"/></child>
</adag>
"""


def reported(text):
    with pytest.raises(InputError) as refusal:
        parse_dax(text, "x.dax")
    assert str(refusal.value).isprintable()
    assert str(refusal.value).startswith("x.dax: ")
    return str(refusal.value)


def test_jobs_with_their_files_run_times_and_needs_are_read():
    dag = parse_dax(DAX)
    assert dag.name == "small"
    assert dag.kind_names == ("mProjectPP", "mDiffFit", "mAdd")
    project, fit, add = (dag.task(number) for number in range(3))
    assert project.name == "ID00000"
    assert project.command == ("mProjectPP", "-X", "-x", "0.9", "region.hdr", "out")
    assert project.runtime == 13.59
    assert project.reads == {"region.hdr": 304}
    assert project.writes == {"p1.fits": 4222080}
    assert fit.runtime == 10.5
    assert fit.needs == ("ID00000",)
    assert fit.command == ()
    assert add.needs == ("ID00000", "ID00001")
    assert add.runtime is None


def test_other_encodings_are_read():
    text = DAX.replace("UTF-8", "UTF-16").replace("small", "größer")
    assert parse_dax(text.encode("utf-16")).name == "größer"


def test_entities_are_refused_before_they_grow():
    bomb = '<!DOCTYPE adag [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><adag name="&b;"/>'
    assert "line 1: document types and entities are not supported" in reported(bomb)
    assert "not supported" in reported('<!DOCTYPE adag SYSTEM "file:///etc/passwd"><adag/>')


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("<adag", "<dag", "line 3: the outermost element is 'dag'"),
        ("</adag>", "", "not valid XML"),
        ('id="ID00001"', 'id="ID00000"', "line 10: two jobs have the id 'ID00000'"),
        ('id="ID00002"', "", "has no id"),
        ('runtime="13.59"', 'runtime="long"', "line 4: runtime 'long'"),
        ('runtime="13.59"', 'runtime="nan"', "task 'ID00000': runtime"),
        ('runtime="13.59"', 'runtime="1e999"', "task 'ID00000': runtime"),
        ('size="304"', 'size="big"', "line 6: size 'big'"),
        ('child ref="ID00002"', 'child ref="ID9"', "line 15: child 'ID9' is not a job"),
        ('parent ref="ID00001"', 'parent ref="ID0000l"', "did you mean 'ID0000"),
        ('parent ref="ID00001"', 'parent ref="ID00002"', "needs itself"),
        ("UTF-8", "klingon", "not valid XML"),
    ],
)
def test_mistakes_are_reported_in_a_line_that_says_where(old, new, words):
    assert words in reported(DAX.replace(old, new, 1).encode())
