"""Keeps the contexts of one process: what runs now belongs to the innermost; each is written down when it ends."""

import json
import os
import sys
import threading
import time

from presubmit_recorder import monitor
from presubmit_recorder.events import Events
from presubmit_recorder.lines import Table
from presubmit_recorder.places import Places
from presubmit_recorder.state import Watch
from presubmit_recorder.tracer import Tracer, load, other_tracer

TOLD = "PRESUBMIT_RECORDER"
CONTEXT = "PRESUBMIT_RECORDER_CONTEXT"
SESSION = "session:"
TEST = "test:"
MOST_BYTES = 48 * 1024 * 1024
_MOST_NAMES = 20000
_SOURCES = (".py", ".pyw")


class Context:
    """What one context ran and opened; `lines` holds by file what the core gives, until it is resolved."""

    def __init__(self, name):
        self.name = name
        self.lines = {}
        self.opened = set()
        self.listed = set()
        self.started = []
        self.open = set()
        self.uses = set()
        self.outcome = ""
        self.seconds = 0.0
        self.goes_on = False
        """Whether the next test is the same with other parameters: what both leave is seen at its end."""

    @property
    def empty(self):
        """Whether there is nothing to write."""
        return not (self.lines or self.opened or self.listed or self.started or self.open)

    def mind_size(self):
        """Take note where more was opened, listed or started than is written down."""
        if max(len(self.opened), len(self.listed), len(self.started)) > _MOST_NAMES:
            self.open.add("opened or started too many files to name")


class Recorder:
    """The recording of one process; `told` is what the plugin was told, with the file that all processes append to."""

    def __init__(self, told):
        self.told = told
        self.key = "{}-{}".format(os.getpid(), os.urandom(4).hex())
        self.places = Places(told["root"], told.get("source", ""))
        self.running = False
        self.pid = os.getpid()
        self._events = Events()
        self.watch = Watch(self.places.traced)
        self._unseen = []
        """Tests that ended since the last look at what they left."""
        self._tracer = None
        self._stack = [Context(SESSION)]
        self._tables = {}
        self._numbers = {}
        self._began = None
        self._restore = {}
        self._said_stale = False
        self._file = None
        self.stopped = ""

    # --- the lifetime -------------------------------------------------------------------------------------------------

    def start(self, context=SESSION):
        """Begin to record; gives why not, or an empty text."""
        why = self._choose_core()
        if why:
            return why
        self._stack = [Context(context)]
        self.told.setdefault("main", self.pid)
        self._tell(TOLD, json.dumps(self.told))
        self._tell(CONTEXT, context)
        os.register_at_fork(after_in_child=self._in_fork)
        self.running = True
        self._events.listen()
        self._start_tracer()
        return ""

    def _start_tracer(self):
        with self._events.muted():  # it is no other tracer
            self._tracer.start()

    def _choose_core(self):
        """Make what hears of code: `sys.monitoring` where Python has it, else coverage's tracer; gives why not."""
        if self.bears_others:
            self._tracer = monitor.Monitor(self.places.traced)
            return ""
        other = other_tracer()
        if other:
            return "left alone: {} traces already".format(other)
        try:
            self._tracer = Tracer(load(self.told["coverage"]), self.places.traced)
        except ImportError as error:
            return "coverage's tracer cannot be loaded: {}".format(error)
        return ""

    @property
    def bears_others(self):
        """Whether the project may measure itself at the same time."""
        return monitor.usable() and self.told.get("core") in (None, monitor.CORE)

    @property
    def core(self):
        """What hears of code, by its name in the recording."""
        return self._tracer.core

    def stop(self):
        """Record nothing more; what is not written yet can still be."""
        if not self.running:
            return
        self.running = False
        self._tracer.stop()
        self._events.silence()
        for name, value in self._restore.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    def limit(self, why):
        """Stop before the end, and say why: what comes after has no record."""
        self.stopped = self.stopped or why
        self._gather()
        self.stop()
        self.write_session()

    def fail(self, error):
        """Stop since something of ours went wrong: then nothing of the recording may be used."""
        self.stopped = "the recorder failed"
        try:
            self.stop()
        finally:
            self.line(kind="fault", error="{}: {}".format(type(error).__name__, error)[:500])

    def _in_fork(self):
        """In a fork: it is recorded no further, and its parent's context says that there was one."""
        if self.running:
            self.running = False
            self._tracer.stop()
            self._events.silence()

    def before_exec(self, function):
        """Call a function before this process becomes another program."""
        self._events.before_exec = function

    def _tell(self, name, value):
        self._restore.setdefault(name, os.environ.get(name))
        os.environ[name] = value

    def end(self, *, complete):
        """Write what is left, with what child processes gave, and how the session ended."""
        if self.running:
            self._gather()
            self.stop()
            self.look()
            self.write_session()
        self._mind_stale()
        if self.told.get("main") == self.pid:
            self.write_children()
        self.line(kind="end", complete=complete and not self.stopped, note=self.stopped)

    def unheard(self):
        """Give a context manager in which this thread's own work is not recorded."""
        return self._events.muted()

    # --- contexts ---------------------------------------------------------------------------------------------------

    @property
    def current(self):
        """The innermost context."""
        return self._stack[-1]

    def enter(self, name):
        """Let what runs from now on belong to a context; gives it, None where nothing is recorded."""
        if not self._alive():
            return None
        self._gather()
        if name.startswith(TEST):
            self._write_so_far()
            with self._events.muted():
                if self.watch.before():
                    self._unseen = []  # what they left is now what is there before the next
        context = Context(name)
        self._stack.append(context)
        os.environ[CONTEXT] = name
        return context

    def leave(self, context):
        """End a context and write it down."""
        if context is None or not self._alive() or context not in self._stack:
            return
        self._gather()
        while self._stack.pop() is not context:
            pass
        os.environ[CONTEXT] = self.current.name
        self.write(context)
        if context.name.startswith(TEST):
            self._unseen.append(context.name)
            if not context.goes_on and self.watch.affordable:
                self.look()
        self._mind_takeover(context)
        self._mind_limits(context)

    def look(self):
        """See what the tests left, together, that ended since the last look."""
        if not self._unseen:
            return
        with self._events.muted():
            left = self.watch.after()
        if left is not None:
            self.line(kind="left", tests=self._unseen, left=left)
        self._unseen = []

    def drop(self, context):
        """End a context that did not run to its end: nothing is known of it."""
        if context is None or not self._alive() or context not in self._stack:
            return
        self._gather()
        while self._stack.pop() is not context:
            pass
        os.environ[CONTEXT] = self.current.name

    def _alive(self):
        return self.running and os.getpid() == self.pid

    def _gather(self):
        """Give the innermost context what ran since the last call."""
        if self._tracer is None:
            return
        context = self.current
        for name, lines in self._tracer.take().items():
            known = context.lines.get(name)
            if known is None:
                context.lines[name] = lines
            else:
                known |= lines
        opened, listed, started, forked = self._events.take()
        context.opened |= opened
        context.listed |= listed
        context.started += started
        if forked:
            context.open.add("forked")
        self._mind_tracer()

    def _mind_tracer(self):
        """Take note of another tracer, and go on where it is gone; one that is at work is left alone."""
        tracer = self._tracer
        why = tracer.unseen(self._events.take_tracers())
        if why:
            self._lose(why, session=False)
        if not self.running or threading.current_thread() is not threading.main_thread():
            return
        if tracer.displaced():
            self._lose("another tracer", session=tracer.misses_threads())
            if not tracer.other_at_work():
                tracer.stop()
                self._start_tracer()
        elif not tracer.greenlets and "greenlet" in sys.modules:
            self._lose("greenlets", session=False)
            tracer.stop()
            self._start_tracer()

    def _lose(self, why, session):
        """Say of what is under way that not all of it was traced; of the session only where nothing else is.

        What ran since the last context began or ended belongs to the innermost one, and the frames around it are
        not traced to their end. `session`: something goes on untraced that outlives them.
        """
        inner = [context for context in self._stack if context.name != SESSION]
        for context in self._stack if session or not inner else inner:
            context.open.add(why)

    def _mind_takeover(self, context):
        """Stop where another tracer is at work after a test ended: none of what follows could be recorded."""
        if self.running and len(self._stack) == 1 and self._tracer.other_at_work():
            self.stopped = (
                self.stopped or "another tracer took over in " + context.name.partition(":")[2]
            )
            self.stop()
            self.write_session()

    def _mind_stale(self):
        """Say once that what runs is not what stands in the tree."""
        if self.places.stale and not self._said_stale:
            self._said_stale = True
            self.line(kind="fault", error=_another_copy(self.places.stale))

    def _mind_limits(self, context):
        if not self.running or not context.name.startswith(TEST):
            return
        now = time.monotonic()
        if self._began is None:
            self._began = now - context.seconds
        seconds = self.told.get("seconds")
        if seconds is not None and now - self._began > seconds:
            self.limit("recorded for {:g} s only, as asked for".format(seconds))

    # --- writing ------------------------------------------------------------------------------------------------------

    def write(self, context, of=None):
        """Write what a context did, its lines as functions."""
        if context.empty and context.name == SESSION:
            return
        context.mind_size()
        self._mind_stale()
        with self._events.muted():
            functions, modules = {}, []
            for name, lines in context.lines.items():
                # A template engine compiles templates under their own names; some of them are Python, too, by chance.
                table = self._table(name) if name.endswith(_SOURCES) else None
                if table is None:
                    context.opened.add(self.places.where(name))
                    continue
                found, module = table.resolve(lines)
                if found:
                    functions[self._number(name, table)] = sorted(found)
                if module:
                    modules.append(name)
            self.line(
                kind="ran",
                context=context.name,
                functions=functions,
                modules=sorted(modules),
                opened=self._opened(context, modules),
                listed=self._named(context.listed),
                uses=sorted(context.uses),
                started=context.started[:_MOST_NAMES],
                open=sorted(context.open),
                outcome=context.outcome,
                seconds=round(context.seconds, 6),
                **({"of": of} if of else {}),
            )

    def _write_so_far(self):
        """Write what belongs to the session before a test begins: no test's record may stay without it."""
        for number, context in enumerate(self._stack):
            if context.name == SESSION and not context.empty:
                self.write(context)
                self._stack[number] = Context(SESSION)

    def write_session(self):
        """Write what belongs to the session, with every context that is still open."""
        while self._stack:
            self.write(self._stack.pop(0))
        self._stack = [Context(SESSION)]

    def write_raw(self):
        """Write the lines of a child process as they are: whoever records the session knows their functions."""
        self._gather()
        context = self.current
        if self.places.stale:
            context.open.add(_another_copy(self.places.stale))
        context.mind_size()
        with self._events.muted():
            self.line(
                kind="raw",
                context=context.name,
                files={name: sorted(lines) for name, lines in context.lines.items()},
                opened=self._opened(context, context.lines),
                listed=self._named(context.listed),
                started=context.started[:_MOST_NAMES],
                open=sorted(context.open),
            )
        self._stack = [Context(context.name)]

    def write_children(self):
        """Resolve what child processes wrote."""
        for found in self._raw_lines():
            context = Context(found["context"])
            context.lines = {
                name: {tuple(one) if isinstance(one, list) else one for one in marks}
                for name, marks in found["files"].items()
            }
            self.write(context, of=found["p"])

    def _raw_lines(self):
        try:
            with self._events.muted(), open(self.told["file"], "rb") as stream:
                for line in stream:
                    if line.startswith(b'{"kind": "raw"'):
                        yield json.loads(line)
        except (OSError, ValueError):
            return

    def line(self, kind, **facts):
        """Append one line, in one write: many processes append to this file."""
        facts = dict({"kind": kind, "p": self.key}, **facts)
        data = (json.dumps(facts) + "\n").encode("ascii")
        with self._events.muted():
            descriptor, size = self._open()
            if size + len(data) <= MOST_BYTES or kind in ("end", "fault"):
                if os.write(descriptor, data) != len(data):
                    raise OSError("the recording could not be written whole")
            elif not self.stopped:
                self.stopped = "the recording grew too large"
                self.stop()

    def _open(self):
        """Give the file that is written to, and its size; the project may have closed it, or have its number now."""
        if self._file is not None:
            descriptor, known = self._file
            try:
                facts = os.fstat(descriptor)
                if (facts.st_dev, facts.st_ino) == known:
                    return descriptor, facts.st_size
            except OSError:
                pass
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(self.told["file"], flags, 0o644)
        facts = os.fstat(descriptor)
        self._file = descriptor, (facts.st_dev, facts.st_ino)
        return descriptor, facts.st_size

    def _opened(self, context, modules):
        """Name what was opened; a source or bytecode that was merely imported apart."""
        found = set()
        for path in context.opened:
            if not path.endswith((".pyc", ".pyo")):
                found |= self.places.both(path)
        return sorted(found.difference(modules))[:_MOST_NAMES]

    def _named(self, paths):
        return sorted({name for path in paths for name in self.places.both(path)})[:_MOST_NAMES]

    def _table(self, name):
        if name not in self._tables:
            try:
                with open(self.places.where(name), "rb") as stream:
                    self._tables[name] = Table(stream.read())
            except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
                self._tables[name] = None  # a template, say: what is no Python is read like data
        return self._tables[name]

    def _number(self, name, table):
        if name not in self._numbers:
            self._numbers[name] = len(self._numbers)
            self.line(kind="names", n=self._numbers[name], file=name, names=table.names)
        return self._numbers[name]


def _another_copy(names):
    """Say that what ran is not what stands in the tree: the recording then holds too little."""
    return "an installed copy ran that differs from the tree: {}".format(sorted(names)[0])


__all__ = ["CONTEXT", "SESSION", "TOLD", "Context", "Recorder"]
