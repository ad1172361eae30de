"""Whatever is no number for an option is told in one line, whichever verb it is of."""

import click
import pytest

from bursar.cli.frontier import command as frontier
from bursar.cli.main import bursar, main
from bursar.cli.numbers import Number, Whole

STRANGE = ["nan", "inf", "-1", "٣", "1_000", "9" * 40]


def options():
    for verb in bursar.list_commands(None):
        module = __import__(f"bursar.cli.{verb}", fromlist=["command"])
        for param in module.command.params:
            yield verb, param


def test_no_option_leaves_its_numbers_to_python():
    loose = (click.types.IntParamType, click.types.FloatParamType)
    found = [(verb, param.name) for verb, param in options() if isinstance(param.type, loose)]
    assert found == []
    assert any(isinstance(param.type, Whole) for param in frontier.params)


@pytest.mark.parametrize("strange", STRANGE)
def test_every_number_of_the_command_line_is_read_strictly(strange, capsys):
    numbers = [
        (verb, param)
        for verb, param in options()
        if isinstance(param, click.Option) and isinstance(param.type, Whole | Number)
    ]
    assert len(numbers) > 20
    for verb, param in numbers:
        if strange == "-1" and (verb, param.name) == ("submit", "priority"):
            continue  # what is less urgent than most
        with pytest.raises(SystemExit) as ended:
            main([verb, param.opts[0], strange])
        err = capsys.readouterr().err
        assert ended.value.code == 2, (verb, param.opts, err)
        assert "number" in err, (verb, param.opts, err)
        assert len(err.splitlines()) == 1
