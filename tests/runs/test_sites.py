"""Where machines are decides how tasks get at their files."""

import pytest

from bursar.model.errors import InputError
from bursar.model.option_words import COMMAND_LINE
from bursar.model.site import RunSite
from bursar.runs.sites import files_mode


def test_without_a_common_directory_files_of_workflows_travel():
    there = RunSite(on="ssh")
    assert files_mode(None, there, "shared", COMMAND_LINE) == "copied"
    assert files_mode(None, None, "shared", COMMAND_LINE) == "shared"
    assert files_mode("copied", RunSite(on="ssh", shared=True), "shared", COMMAND_LINE) == "copied"
    with pytest.raises(InputError, match=r"give --shared, too, or leave out --files"):
        files_mode("shared", there, "shared", COMMAND_LINE)
