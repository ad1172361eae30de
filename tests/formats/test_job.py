"""A job file holds everything that `bursar run` can be told; the command line overrides it."""

from __future__ import annotations

import pytest

from bursar.formats.commands import Source
from bursar.formats.job import Job
from bursar.formats.job_keys import KEYS
from bursar.model.errors import InputError
from bursar.model.goal import Goal, Limits
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE

EVERYTHING = """
command = "./simulate.sh {}"
args = ["1", 2, 3.50, true]
repeat = 2
shell = true
budget = 5.10
deadline = "2h"
fleet = { small = 3, large = 1 }
retries = 2
timeout = "5m"
provisioner = "fixed"
placer = "random"
replicator = "none"
seed = 7
name = "sweep-1"
output = "out"
quiet = true
json = false

[market]
currency = "EUR"

[[market.offer]]
name = "small"
price = "0.10"

[[market.offer]]
name = "large"
price = "0.40"
limit = 1
"""


def test_a_job_file_holds_everything():
    job = Job.parse(EVERYTHING, "/jobs/job.toml")
    assert [job.bag().describe(index) for index in range(4)] == [
        "./simulate.sh 1",
        "./simulate.sh 2",
        "./simulate.sh 3.50",
        "./simulate.sh true",
    ]
    assert job.bag().count == 8
    assert job.bag().shell
    market = job.load_market()
    assert market.currency == "EUR"
    assert job.load_fleet(market) == {"small": 3, "large": 1}
    assert job.goal() == Goal(budget=Money.parse("5.1"), deadline=2 * HOUR)
    assert job.limits() == Limits(retries=2, timeout=5 * MINUTE)
    assert job.policies() == {"provisioner": "fixed", "placer": "random", "replicator": "none"}
    assert (job.seed, job.name, job.output) == (7, "sweep-1", "/jobs/out")
    assert (job.quiet, job.json) == (True, False)


def test_what_a_job_does_not_say_is_left_open():
    job = Job.parse('command = "x"')
    assert job.load_market() is None
    assert job.load_fleet(None) is None
    assert job.goal() == Goal()
    assert job.limits() == Limits()
    assert job.policies() == {}
    assert job.seed is None


def test_every_key_of_a_job_file_is_a_field_or_a_source_of_arguments():
    fields = set(Job.__struct_fields__) - {"file", "sources", "currency", "every"}
    assert set(KEYS) == fields | {"args", "arg_file"}


def test_files_are_relative_to_the_job_file(tmp_path, monkeypatch):
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    (jobs / "seeds.txt").write_text("1\n2\n")
    (jobs / "m.toml").write_text("[[offer]]\nname = 'own'\nbilling = 'free'\n")
    (jobs / "job.toml").write_text("command = 'x'\narg_file = 'seeds.txt'\nmarket = 'm.toml'\n")
    monkeypatch.chdir(tmp_path)
    job = Job.load("jobs/job.toml")
    assert job.bag().rows == (("1",), ("2",))
    assert job.load_market().is_free
    (jobs / "sweep.csv").write_text("a,b\n1,2\n")
    (jobs / "job.toml").write_text("command = ['x', '{b}']\nparams = 'sweep.csv'\n")
    assert Job.load(jobs / "job.toml").bag().command(0) == ("x", "2")


def test_a_list_of_words_is_taken_as_it_is():
    job = Job.parse('command = ["my prog", "a | b"]\nargs = ["1"]')
    assert job.bag().command(0) == ("my prog", "a | b", "1")
    assert Job.parse('command = ["my prog"]\nargs = ["1"]').bag().command(0) == ("my prog", "1")


def test_lists_of_arguments_are_combined():
    job = Job.parse('command = "x"\nargs = [["a", "b"], ["1", "2"]]')
    assert job.bag().rows == (("a", "1"), ("a", "2"), ("b", "1"), ("b", "2"))


def test_arguments_and_files_of_them_are_combined(tmp_path):
    (tmp_path / "f").write_text("1\n2")
    job = Job.parse(f'command = "x"\nargs = ["a"]\narg_file = ["{tmp_path}/f", "{tmp_path}/f"]')
    assert job.bag().rows == (("a", "1", "1"), ("a", "1", "2"), ("a", "2", "1"), ("a", "2", "2"))


def test_parameters_may_stand_in_the_job_file():
    text = 'command = "x {b} {a}"\n[[params]]\na = 1\nb = "y"\n[[params]]\nb = "z"\na = 2\n'
    bag = Job.parse(text).bag()
    assert [bag.describe(index) for index in range(2)] == ["x y 1", "x z 2"]


# --- the command line ----------------------------------------------------------------------------


def test_the_command_line_alone_is_a_job():
    options = {"budget": "2.50", "deadline": None, "retries": 1, "quiet": None, "arg_file": ()}
    job = Job.from_command_line(["echo", "{}", ":::", "1", "2"], options)
    assert job == Job(
        command=("echo", "{}"),
        sources=(Source(values=("1", "2")),),
        budget=Money.parse("2.5"),
        retries=1,
    )
    assert job.bag().count == 2


@pytest.fixture
def job_file(tmp_path):
    path = tmp_path / "job.toml"
    path.write_text(EVERYTHING)
    return str(path)


def test_what_the_command_line_says_overrides_the_file(job_file):
    job = Job.from_command_line([job_file], {"budget": "9", "shell": False, "output": "here"})
    assert job.budget == Money.parse("9")
    assert job.shell is False
    assert job.output == "here"
    assert job.deadline == 2 * HOUR
    assert job.bag().count == 8


def test_arguments_of_the_command_line_replace_those_of_the_file(job_file, tmp_path):
    job = Job.from_command_line([job_file, ":::", "7"], {"repeat": 1})
    assert job.bag().rows == (("7",),)
    (tmp_path / "sweep.csv").write_text("a\n8\n9\n")
    job = Job.from_command_line([job_file], {"params": str(tmp_path / "sweep.csv"), "repeat": 1})
    assert job.bag().rows == (("8",), ("9",))
    again = job.override(Job.from_command_line(["x", ":::", "1"], {}))
    assert again.bag().rows == (("1",),)


def test_a_job_without_anything_to_override_stays_as_it_is(job_file):
    assert Job.from_command_line([job_file], {}) == Job.load(job_file)


def test_a_command_that_ends_with_a_toml_file_is_no_job_file():
    job = Job.from_command_line(["./tool config.toml", ":::", "1"], {})
    assert job.bag().command(0) == ("./tool", "config.toml", "1")


def test_a_mistake_in_an_option_names_the_option():
    for options, message in [
        ({"budget": "2,50"}, "--budget: '2,50' is not an amount of money"),
        ({"deadline": "soon"}, "--deadline: 'soon' is not a duration"),
        ({"arg_file": " "}, "--arg-file: must be text, and not empty"),
        ({"placer": "randm"}, "--placer: no placer 'randm'; did you mean 'random'?"),
    ]:
        with pytest.raises(InputError) as refusal:
            Job.from_command_line(["x"], options)
        assert message in str(refusal.value)


def test_a_job_file_that_cannot_be_read_is_reported(tmp_path):
    with pytest.raises(InputError, match=r"no\.toml: cannot read the job file: No such file"):
        Job.from_command_line([str(tmp_path / "no.toml")], {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("budjet = 5", "job.toml: unknown key 'budjet'; did you mean 'budget'?"),
        ("arg-file = 'x'", "job.toml: unknown key 'arg-file'; did you mean 'arg_file'?"),
        ("xyzzy = 5", "job.toml: unknown key 'xyzzy'; known: command, workflow"),
        ("file = 'x'", "job.toml: unknown key 'file'"),
        ("sources = []", "job.toml: unknown key 'sources'"),
        ("budget = ", "job.toml: not valid TOML"),
        ("command = 3", "command: must be text, or a list of texts"),
        ("command = ''", "command: is empty"),
        ("command = []", "command: is empty"),
        ("command = ['x', 3]", "command: must be text, or a list of texts"),
        ("command = 'x {} ::: 1 2'", "command: ':::' is for the command line; write args"),
        ("command = ['x', '::::', 'f']", "command: '::::' is for the command line"),
        ("args = []", "args: must be a list of arguments"),
        ("args = 'a'", "args: must be a list of arguments"),
        ("args = [['a'], 'b']", "args: must be a list of arguments, or a list of such lists"),
        ("args = [['a'], []]", "args: must be a list of arguments, or a list of such lists"),
        ("args = [1979-05-27]", "args: must be text, a number, true or false"),
        ("args = [nan]", "args: must be text, a number, true or false"),
        ("args = [[['a']]]", "args: must be text, a number"),
        ("arg_file = []", "arg_file: must be a file"),
        ("arg_file = 3", "arg_file: must be text"),
        ("params = []", "params: params: empty"),
        ("params = [1]", "params: params, row 1: must be an object"),
        ("[[params]]\na = 1\n[[params]]\nb = 1", "params, row 2: column 'b' is new"),
        ("[[params]]\na = {b = 1}", "params, row 1, column 'a': must be text"),
        ("params = 7", "params: must be text"),
        ("repeat = 0", "repeat: must be a whole number from 1 to 10,000,000"),
        ("repeat = true", "repeat: must be a whole number"),
        ("shell = 1", "shell: must be true or false"),
        ("shell = 'yes'", "shell: must be true or false"),
        ("[market]\n", "market: the table: no [[offer]] table"),
        ("market = 3", "market: must be text"),
        ("budget = -1", "budget: -1.00 is negative"),
        ("budget = nan", "budget: 'NaN' is not an amount"),
        ("budget = true", "budget: must be an amount"),
        ("budget = 1e400", "budget: '1E+400' is more than 9,000,000,000"),
        ("deadline = 60", "deadline: must be a duration with its unit"),
        ("deadline = '0s'", "deadline: '0s' is too short"),
        ("deadline = 2012-09-21T10:00:00Z", "deadline: must be a duration"),
        ("timeout = '-1s'", "timeout: '-1s' is not a duration"),
        ("fleet = 3", "fleet: must be text"),
        ("fleet = {small = -1}", "fleet: must be a whole number"),
        ("retries = -1", "retries: must be a whole number from 0"),
        ("retries = 1.5", "retries: must be a whole number"),
        ("seed = -1", "seed: must be a whole number from 0"),
        ("seed = 9223372036854775808", "seed: must be a whole number"),
        ("name = ''", "name: must be text, and not empty"),
        ("name = 'a/b'", "name: 'a/b' may contain only letters, digits and . _ -"),
        ("name = '../up'", "name: '../up' may contain only letters"),
        ('name = "a\\nb"', "name: 'a\\nb' has characters that cannot be printed"),
        ("output = ['x']", "output: must be text"),
        ("placer = 'rnadom'", "placer: no placer 'rnadom'; did you mean 'random'?"),
        ("replicator = 3", "replicator: must be text"),
        ("quiet = 'no'", "quiet: must be true or false"),
        ("json = 0", "json: must be true or false"),
    ],
)
def test_a_mistake_is_reported_in_one_line_that_says_where(text, message):
    with pytest.raises(InputError) as refusal:
        Job.parse(text)
    assert message in str(refusal.value)
    assert str(refusal.value).startswith("job.toml: ")
    assert str(refusal.value).isprintable()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("budget = 5", "job.toml: there is no command"),
        ("command = 'x'", "job.toml: the command has no arguments"),
        ("command = 'x'\nargs = ['1']\nparams = [{a = 1}]", "job.toml: arguments (':::') and"),
        ("command = 'x {b}'\nparams = [{a = 1}]", "job.toml: params: no column 'b' for {b}"),
        ('command = "x"\nargs = ["\\u0000"]', "job.toml: an argument of task 1 contains a NUL"),
        ("command = 'x'\narg_file = 'nowhere.txt'", "job.toml: nowhere.txt: cannot read"),
        ("command = 'x'\nparams = 'nowhere.csv'", "job.toml: nowhere.csv: cannot read"),
    ],
)
def test_a_job_that_gives_no_tasks_is_reported_with_its_file(text, message):
    with pytest.raises(InputError) as refusal:
        Job.parse(text).bag()
    assert message in str(refusal.value)


def test_a_budget_is_in_the_currency_of_the_market(tmp_path):
    market = tmp_path / "market.toml"
    market.write_text('currency = "EUR"\n[[offer]]\nname = "a"\nprice = "0.08/h"\n')
    for budget in ("5", "5 EUR", "€5", "5.00 eur"):
        job = Job.from_command_line(["true"], {"budget": budget, "market": str(market)})
        assert job.goal().budget == Money.parse(5)
        assert job.load_market().currency == "EUR"
    job = Job.from_command_line(["true"], {"budget": "$5", "market": str(market)})
    with pytest.raises(InputError, match="the budget: an amount in 'USD', but the prices are in"):
        job.load_market()
    assert job.override(Job(budget=Money.parse(6))).load_market() is not None
