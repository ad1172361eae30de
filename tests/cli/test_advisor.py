"""An advisor is chosen by its name, as entries of the other roles are."""

import pytest

ELSEWHERE = """\
import msgspec

from bursar.engine.roles import Advisor
from bursar.model.strategy import read_strategy
from bursar.policies.provision.fixed import Fixed
from bursar.state.events import StrategyChosen


class Ready(msgspec.Struct, frozen=True):
    tasks: int


class Oracle(Advisor):
    def __init__(self, provisioner):
        assert isinstance(provisioner, Fixed)
        self.has_asked = False

    def question(self, view, now):
        if self.has_asked:
            return None
        self.has_asked = True
        return Ready(len(view.ready))

    def answer(self, question):
        return StrategyChosen(0, read_strategy("AUR"), f"{question.tasks} are ready")
"""
MIXED = """
[[offer]]
name = "spot"
price = "0.01"
limit = 2
pool = "unreliable"

[[offer]]
name = "sure"
price = "0.08"
limit = 1
"""
SIMULATED = ("--tasks", "12", "--runtime", "1s", "--budget", "5", "--runs", "2")


@pytest.fixture
def place(place):
    """With a package of somebody else, installed as pip does."""
    about = place.path / "elsewhere-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0")
    (about / "entry_points.txt").write_text("[bursar.advisor]\noracle = elsewhere:Oracle\n")
    place.write("elsewhere.py", ELSEWHERE)
    place.write("mixed.toml", MIXED)
    place.environment["PYTHONPATH"] = str(place.path)
    return place


def test_an_advisor_of_another_package_is_asked_in_real_and_simulated_runs(place):
    asked = ("-m", "market.toml", "-b", "5", "--fleet", "large=1", "--advisor", "oracle")
    place.bursar("run", *asked, "--name", "r", "sleep", ":::", "0.5", "0.5", "0.5")
    why, _ = place.bursar("why", "r")
    assert "advisor oracle" in why
    assert "3 are ready" in why
    study = place.json(
        "simulate", *asked[:2], *asked[4:], "-b", "5", "--tasks", "4", "--runtime", "1s"
    )
    assert {run["status"] for run in study["runs"]} == {"done"}


def test_a_run_on_two_pools_may_go_without_advice(place):
    study = place.json("simulate", "-m", "mixed.toml", *SIMULATED, "--advise", "none")
    assert {run["status"] for run in study["runs"]} == {"done"}
    place.write("job.toml", 'command = "true"\nargs = ["1"]\nadvisor = "none"\n')
    place.bursar("run", "job.toml", "--name", "plain")
    assert "advisor none" in place.bursar("why", "plain")[0]


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        (("--advisor", "oracel"), "no advisor 'oracel'; there are none, oracle, replan, tail"),
        (("--advisor", "replan"), "the advisor 'replan' goes with the provisioner 'prob' only"),
        (("--advisor", "tail", "--fleet", "sure=1"), "goes with the provisioner 'mixed' only"),
        (
            ("--advisor", "none", "--prefer", "cheapest"),
            "--prefer is for the advisor 'tail': leave it out, or leave out --advisor none",
        ),
        (
            ("--advisor", "tail", "--strategy", "N=3,T=1s,D=2s,Mr=0.1"),
            "--strategy says all that the advisor 'tail' would choose: leave out one of them",
        ),
    ],
)
def test_what_makes_no_sense_together_is_refused_in_one_line(place, options, reported):
    _, refused = place.bursar("simulate", "-m", "mixed.toml", *SIMULATED, *options, code=2)
    assert reported in refused
    assert len(refused.splitlines()) == 1
