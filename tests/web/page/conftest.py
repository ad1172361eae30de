"""One browser for the tests of a module."""

import pytest
from tests.browser import SCREENSHOTS, Browser, require_chromium


@pytest.fixture(scope="module")
def browser():
    require_chromium()
    SCREENSHOTS.mkdir(exist_ok=True)
    made = Browser()
    yield made
    made.close()
