"""The line to the driver: one JSON object a line, on what were stdin and stdout."""

import faulthandler
import json
import os
import sys


class Channel:
    """Both ends, kept from what the benchmarks read and print."""

    def __init__(self, told, said, trouble):
        self._told = told
        self._said = said
        self._trouble = trouble
        self._rest = b""
        self.timeout = 0.0
        """Seconds that may pass between two commands before this process ends itself; 0: any."""

    def say(self, what, **more):
        """Tell the driver something."""
        line = json.dumps(dict(more, say=what), allow_nan=False).encode("ascii") + b"\n"
        while line:
            line = line[os.write(self._said, line) :]

    def hear(self):
        """Wait for the driver's next object; ends this process where the driver has gone."""
        faulthandler.cancel_dump_traceback_later()
        while b"\n" not in self._rest:
            data = os.read(self._told, 65536)
            if not data:
                # Without clean-up: who closed the line has no use for what is left here.
                os._exit(0)
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        self.arm(self.timeout)
        return json.loads(line.decode("utf-8"))

    def arm(self, seconds):
        """Let this process end with a traceback when so many seconds pass before the next command is awaited."""
        faulthandler.cancel_dump_traceback_later()
        if seconds > 0:
            faulthandler.dump_traceback_later(seconds, exit=True, file=self._trouble)


def take_channel():
    """Take stdin and stdout away: what prints goes to stderr from now on, what reads finds an empty input."""
    told, said, trouble = os.dup(0), os.dup(1), os.dup(2)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdout.flush()
    os.dup2(2, 1)
    return Channel(told, said, trouble)
