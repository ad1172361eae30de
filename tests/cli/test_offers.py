"""`bursar offers`: market files of what clouds rent out."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

pytest.importorskip("libcloud", reason="apache-libcloud is not installed: bursar[aws]")

from bursar.cli.offers import command
from bursar.formats.market import parse_market
from bursar.model.errors import InputError


def call(*words):
    done = CliRunner().invoke(command, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def test_a_market_file_is_on_stdout_and_its_age_beside_it():
    done = call("--cloud", "ec2", "--region", "eu-west-1", "--limit", "4", "c5.*")
    market = parse_market(done.stdout)
    assert market.date >= "2025-03-02"
    assert all(offer.name.startswith("c5.") and offer.price for offer in market.offers)
    assert {offer.limit for offer in market.offers} == {4}
    assert "offers of ec2 in eu-west-1; prices of 20" in done.stderr


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("c7*",), "'c7\\*' is for the machines of a cloud: add --cloud"),
        (("--spot",), "--spot is for the machines of a cloud"),
        (("--cloud", "ecs"), "did you mean 'ec2'"),
        (("--cloud", "gce", "--live"), "--live asks Amazon"),
        (("--cloud", "ec2", "--market", "m.toml"), "leave one of them out"),
        (("--cloud", "ec2", "c99.*"), "no machine of ec2 is 'c99"),
    ],
)
def test_what_cannot_be_is_reported_in_one_line(words, complaint):
    with pytest.raises(InputError, match=complaint):
        CliRunner().invoke(command, words, catch_exceptions=False)
