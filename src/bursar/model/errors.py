"""Mistakes that a person can mend: one line that says what, where and how."""


class BursarError(Exception):
    """Anything bursar tells its user in one line instead of a traceback.

    `exit_code` is what the command line ends with: 1 internal, 2 usage (the default).
    """

    exit_code = 2


class InputError(BursarError):
    """A file, an option or a value that cannot be used as it is."""


class JournalError(BursarError):
    """A run's journal that cannot be read or written."""

    exit_code = 1


class InvariantError(AssertionError):
    """The state contradicts itself: a bug in bursar, told with the story that led there."""
