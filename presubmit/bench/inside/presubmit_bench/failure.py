"""What is said of an exception: its last lines."""

import os
import traceback

_LINES = 12
_CHARACTERS = 2000
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Skipped(Exception):  # noqa: N818 - no error
    """A benchmark that the suite itself leaves out here."""


def last_lines(error):
    """Give the end of a traceback."""
    at = error.__traceback__
    while at is not None and at.tb_frame.f_code.co_filename.startswith(_HERE) and at.tb_next:
        at = at.tb_next  # how we came there says nothing to the reader
    return tail("".join(traceback.format_exception(type(error), error, at)))


def tail(text):
    """Give the last lines of a text."""
    return "\n".join(text.rstrip().splitlines()[-_LINES:])[-_CHARACTERS:]
