"""A row says yes, no or not judged, by its band alone, and the page counts them."""

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from bursar.cli import reproduce as cli
from bursar.model.errors import InputError, InvariantError
from bursar.reproduce import __main__ as pages
from bursar.reproduce.page import PageSummary, entry_page, figure, index_page, summary_in
from bursar.reproduce.result import (
    Reproduction,
    Verdict,
    around,
    between,
    checked,
    judged,
    rounded,
    same,
    shown_only,
)

RANGE = between(72, 78, "the range of section 6.1")


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [(72, Verdict.YES), (78.0, Verdict.YES), (71.9, Verdict.NO), (86.5, Verdict.NO)],
)
def test_a_band_has_two_ends(ours, verdict):
    assert judged("x", 72, ours, RANGE).verdict is verdict


def test_a_published_figure_without_a_band_is_not_judged_even_if_ours_is_the_same():
    assert shown_only("x", 5, 5).verdict is Verdict.NOT_JUDGED
    assert shown_only("x", "most", 51.6).verdict is Verdict.NOT_JUDGED


def test_a_published_word_can_have_a_band():
    under = between(0, 1, "printed as under 1")
    assert judged("x", "under 1", 0.79, under).verdict is Verdict.YES
    assert judged("x", "under 1", 1.01, under).verdict is Verdict.NO


def test_what_could_not_be_computed_is_within_no_band():
    assert judged("x", 36, "N/A", between(30, 40, "r")).verdict is Verdict.NO


def test_text_must_be_the_same():
    assert same("x", "864.00", "864.00").verdict is Verdict.YES
    assert same("x", "864.00", "864.50").verdict is Verdict.NO


def test_a_band_that_does_not_hold_the_published_figure_is_refused():
    with pytest.raises(InvariantError, match="must hold the published figure, 25"):
        judged("x", 25, 41.8, between(30, 50, "r"))


@pytest.mark.parametrize("ends", [(0, float("inf")), (float("-inf"), 0), (2, 1), (0, float("nan"))])
def test_a_band_with_one_end_is_refused(ends):
    with pytest.raises(InvariantError, match="two ends"):
        between(*ends, "r")


def test_a_printed_figure_stands_for_all_that_are_rounded_to_it():
    band = rounded(0.78, 0.01)
    assert (band.low, band.high) == pytest.approx((0.775, 0.785))
    assert band.reason == "printed to 0.01"


def test_a_share_is_allowed_either_way():
    band = around(-50, 0.1, "r")
    assert (band.low, band.high) == (-55, -45)


ROWS = (
    judged("good", 75, 75.5, RANGE, note="n", why="never shown"),
    judged("bad", 72, 86.5, RANGE, note="a note", why="the distribution is not printed"),
    shown_only("open", 4, 5.0),
    checked("own", 1.0, between(0, 2, "r")),
    checked("own that fails", 3.0, between(0, 2, "r")),
    shown_only("information", None, 3),
)
FOUND = Reproduction(name="fig-1.2", title="A figure", source="a paper", rows=ROWS)


def test_counts_keep_published_figures_apart_from_demands_of_our_own():
    counts = FOUND.counts
    assert (counts.rows, counts.published) == (6, 3)
    assert list(counts.of_published.values()) == [1, 1, 1]
    assert list(counts.of_own.values()) == [1, 1, 1]


def test_the_index_counts_what_the_pages_say_and_why_rows_say_no():
    text = index_page([PageSummary.of(FOUND)], missing=["fig-9"])
    counts = (
        "6 rows; 3 published figures: 1 yes, 1 no, 1 not judged; 1 of 2 demands of our own hold"
    )
    assert f"{counts}." in text
    assert "| [fig-1.2](reproductions/fig-1.2.md) | 6 | 3 | 1 | 1 | 1 | 1 | 1 |" in text
    assert "- fig-1.2: bad: paper 72, ours 86.5: the distribution is not printed" in text
    assert "- fig-1.2: own that fails: ours 3, not 0 to 2: not known why" in text
    assert "Without a page yet: `fig-9`." in text


def test_a_page_carries_its_summary_whatever_its_rows_say():
    odd = judged("a --> b", 72, 86.5, RANGE, why="x -->")
    found = msgspec.structs.replace(FOUND, rows=(odd,))
    text = entry_page(found)
    assert text.partition("\n")[0].count("-->") == 1, "the comment ends early"
    assert summary_in(text, "fig-1.2.md") == PageSummary.of(found)


def test_a_page_that_somebody_else_wrote_is_named():
    with pytest.raises(InputError, match=r"^mine.md: this is no page of a reproduction"):
        summary_in("# My page", "mine.md")


def test_one_page_is_written_again_and_the_others_stay(tmp_path):
    pages.main(tmp_path, ["bats-sarsa"])
    before = (tmp_path / "reproductions/bats-sarsa.md").read_text()
    pages.main(tmp_path, ["bats-kohonen"])
    assert (tmp_path / "reproductions/bats-sarsa.md").read_text() == before
    index = (tmp_path / "reproduction.md").read_text()
    assert "| [bats-kohonen](reproductions/bats-kohonen.md) | 6 |" in index
    assert "| [bats-sarsa](reproductions/bats-sarsa.md) | 6 |" in index
    assert "Without a page yet: `bats-table-2.1`" in index


def test_the_index_in_the_documentation_is_that_of_its_pages(tmp_path):
    docs = Path(__file__).parents[2] / "docs"
    (tmp_path / "reproductions").symlink_to(docs / "reproductions")
    pages.write_index(tmp_path)
    written, expected = (
        [line for line in path.read_text().splitlines() if not line.startswith("Without a page")]
        for path in (docs / "reproduction.md", tmp_path / "reproduction.md")
    )
    assert written == expected


def test_the_page_has_the_band_and_its_reason_in_every_row():
    text = entry_page(FOUND)
    assert "| good | 75 | 75.5 | 72 | 78 | the range of section 6.1 | yes | n |" in text
    bad = "**no** | a note; the distribution is not printed |"
    assert f"| bad | 72 | 86.5 | 72 | 78 | the range of section 6.1 | {bad}" in text
    assert "| open | 4 | 5 |  |  |  | not judged |  |" in text


@pytest.mark.parametrize(
    ("value", "reported"),
    [
        (15_640.4, "15,640"),
        (0.67744, "0.6774"),
        (61980, "61980"),
        (9.33e17, "9.33e+17"),
        (None, ""),
    ],
)
def test_figures_have_about_four_digits_and_no_needless_exponent(value, reported):
    assert figure(value) == reported


def invoked(monkeypatch, *arguments):
    monkeypatch.setattr(cli, "reproduce", lambda name, **asked: FOUND)
    return CliRunner().invoke(cli.command, ["fig-1.2", *arguments], standalone_mode=False)


def test_the_command_line_tells_the_three_verdicts(monkeypatch):
    result = invoked(monkeypatch)
    assert result.return_value == 3
    assert "not judged" in result.stdout
    assert "1 yes, 1 no, 1 not judged" in result.stdout
    assert "Band of 2 rows: the range of section 6.1" in result.stderr


def test_json_has_the_verdict_and_the_band_of_every_row(monkeypatch):
    found = json.loads(invoked(monkeypatch, "--json").stdout)
    assert [row["verdict"] for row in found["rows"]] == [
        *("yes", "no", "not judged"),
        *("yes", "no", "not judged"),
    ]
    assert found["rows"][1]["high"] == 78
    assert found["rows"][1]["band"] == "the range of section 6.1"
    assert found["published"] == {"yes": 1, "no": 1, "not judged": 1}
    assert found["own demands"] == {"yes": 1, "no": 1, "not judged": 1}


def test_asked_for_help_nothing_is_computed(capsys):
    with pytest.raises(SystemExit) as ended:
        pages.arguments(["--help"])
    assert ended.value.code == 0
    assert "DOCS" in capsys.readouterr().out
