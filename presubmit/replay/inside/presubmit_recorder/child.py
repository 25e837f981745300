"""Records a Python process that a recorded one started, in the context that was current there."""

import atexit
import json
import os

from presubmit_recorder.core import CONTEXT, SESSION, TOLD, Recorder

_HELPERS = (b"multiprocessing.resource_tracker", b"multiprocessing.semaphore_tracker")

recorder = None
"""The recorder of this process, where it is such a child."""


def begin():
    """Begin, if this process was started by a recorded one."""
    global recorder  # noqa: PLW0603 - one in a process
    told = os.environ.get(TOLD)
    if not told or recorder is not None:
        return
    command = _command()
    if any(helper in command for helper in _HELPERS):
        return  # it runs none of the project's code, and outlives the session
    mine = Recorder(json.loads(told))
    if mine.start(os.environ.get(CONTEXT) or SESSION):
        return  # not acknowledged: its parent's context is then said to be open
    recorder = mine
    mine.line(
        kind="begun",
        context=mine.current.name,
        pid=mine.pid,
        parent=os.getppid(),
        # What multiprocessing starts is not announced, so it must not stand for what was.
        announced=b"multiprocessing" not in command,
    )
    mine.before_exec(_finish)
    atexit.register(_finish)


def _finish():
    mine = recorder
    if mine is not None and mine.running and os.getpid() == mine.pid:
        try:
            mine.write_raw()
            mine.stop()
        except Exception as error:
            mine.fail(error)


def _command():
    try:
        with open("/proc/self/cmdline", "rb") as stream:
            return stream.read(65536)
    except OSError:
        return b""
