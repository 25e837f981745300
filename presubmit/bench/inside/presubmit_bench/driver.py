"""What the adapters tell and ask of the driver, in each of the three modes."""

import atexit
import contextlib
import shutil
import tempfile

from presubmit_bench.clocks import Watch
from presubmit_bench.failure import last_lines
from presubmit_bench.proof import loaded
from presubmit_bench.serve import obey
from presubmit_bench.trace import Trace


class Driver:
    """One job: list the benchmarks, run those that are wanted, or trace them."""

    def __init__(self, channel, job, tree):
        self._channel = channel
        self.mode = job["mode"]
        self.suite = job["suite"]
        self.ids = list(dict.fromkeys(job.get("ids", ())))
        self.tree = tree
        self.scratch = job.get("scratch", "")
        self.alone = bool(job.get("alone"))
        self.timeout = float(job.get("timeout") or self.suite.get("timeout") or 0)
        self._watch = job.get("watch", ())
        self._wanted = set(self.ids)
        self._settled = set()
        self._failed = set()
        self._ran = set()
        self._listed = set()
        self._trace = Trace(tree, self._watch) if self.mode == "trace" else None

    def folder(self):
        """Give a folder to write in: the one that was named, or one that goes with this process."""
        if not self.scratch:
            self.scratch = tempfile.mkdtemp(prefix="presubmit-bench-")
            atexit.register(shutil.rmtree, self.scratch, True)
        return self.scratch

    @property
    def lists(self):
        """Whether the benchmarks are only to be named."""
        return self.mode == "list"

    # --- mode list --------------------------------------------------------------------------------------------------

    def bench(self, name, file, kind="time", unit="seconds"):
        """Name a benchmark."""
        if self.lists and name not in self._listed:
            self._listed.add(name)
            self._channel.say("bench", id=name, file=file, kind=kind, unit=unit)

    def broken(self, name, error):
        """Say that a file, or a benchmark, cannot be read; in a run its benchmarks are missed at the end."""
        if self.lists:
            self._channel.say("broken", id=name, error=error)

    # --- modes run and trace ----------------------------------------------------------------------------------------

    def wants(self, name):
        """Whether a benchmark is to be run, and was not yet."""
        return not self.lists and name in self._wanted and name not in self._settled

    def begin(self, timeout=None):
        """Set one up: from here on its time is limited, and what it runs is noted."""
        self.limit(timeout)
        if self._trace:
            self._trace.start()

    def limit(self, timeout=None):
        """Limit what happens from now on until a command is awaited, and then between two commands."""
        self._channel.timeout = self.timeout if timeout is None else float(timeout)
        self._channel.arm(self._channel.timeout)

    def offer(self, name, work):
        """Let the driver have it; what it raises goes on to the caller."""
        if self._trace:
            work.run(1, Watch(waits=False))
            self._ran.add(name)
        else:
            self._channel.say("at", id=name)
            obey(self._channel, work)
        self._settled.add(name)

    def shared(self):
        """Give a context in which what runs is noted for the later benchmarks, too."""
        return self._trace.shared() if self._trace else contextlib.nullcontext()

    def finish(self, name):
        """Say what ran, where that is asked for; after `offer`, with what is torn down."""
        if self._trace:
            functions = self._trace.stop()
            if name in self._ran - self._failed:
                more = {"files": self._trace.files(), "elsewhere": self._trace.elsewhere}
                self._channel.say("ran", id=name, functions=functions, **more)
        self._channel.timeout = 0.0
        self._channel.arm(0.0)

    def failed(self, name, error, *, absent=False):
        """Say that one does not run; also after its turns, where what it checks at its end does not hold."""
        if name in self._failed:
            return
        self._failed.add(name)
        text = error if isinstance(error, str) else last_lines(error)
        self._settled.add(name)
        self._channel.say("failed", id=name, error=text, absent=absent)

    def skipped(self, name, why):
        """Say that the suite itself leaves one out here."""
        if self.lists or self.wants(name):
            self._settled.add(name)
            self._channel.say("skipped", id=name, why=why)

    def end(self, missing=""):
        """Say what was not come to, and what was loaded."""
        if not self.lists:
            for name in self.ids:
                if name not in self._settled:
                    why = missing or "there is no such benchmark on this side"
                    self.failed(name, why, absent=not missing)
        if self._trace:
            self._trace.end()
        self._channel.say("end", proof=loaded(self._watch, self.tree))
