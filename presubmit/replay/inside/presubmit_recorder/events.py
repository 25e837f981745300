"""Hears from the interpreter which files are opened, which folders listed and which processes started.

An audit hook cannot be taken away, so it does next to nothing: where nobody listens, one comparison.
"""

import contextlib
import os
import sys
import threading

from presubmit_recorder.monitor import file_of

_WRITES_ONLY = os.O_WRONLY
_ACCESS = os.O_RDONLY | os.O_WRONLY | os.O_RDWR
_IMPORTS = "<frozen importlib._bootstrap_external>"
# Through these a folder is listed for somebody else.
_BETWEEN = (
    "/pathlib.py",
    "/pathlib/__init__.py",
    "/pathlib/_abc.py",
    "/pathlib/_local.py",
    "/glob.py",
    "/os.py",
)
_OTHERS = ("/_pytest/", "/importlib/metadata/", "/importlib_metadata/")
_MOST_FRAMES = 30
_STARTS = frozenset(
    ("subprocess.Popen", "os.posix_spawn", "os.system", "os.exec", "pty.spawn", "os.startfile")
)
# What these ask of the machine reads and runs nothing of the tree.
_LIBRARY = os.path.dirname(os.__file__) + "/"
_ASKS = frozenset(_LIBRARY + name for name in ("ctypes/util.py", "platform.py", "uuid.py"))
_STARTERS = ("/subprocess.py", "/os.py", "/presubmit_recorder/events.py")
# A program of one of these names that lies elsewhere may be anything.
_USUAL = frozenset(
    ("", "/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin")
)
# Nothing is heard of what runs in another interpreter of the process, either.
_FORKS = frozenset(("os.fork", "os.forkpty", "cpython.PyInterpreterState_New"))
_LISTS = frozenset(("os.listdir", "os.scandir"))
_TRACES = frozenset(("sys.settrace", "sys.setprofile", "sys.monitoring.register_callback"))


class Events:
    """What was heard since it was last taken: as it was given, with the working folder where that matters."""

    def __init__(self):
        self.opened = set()
        self.listed = set()
        self.started = []
        self.forked = False
        self.tracers = set()
        self.before_exec = None
        self._pid = os.getpid()
        self._muted = None

    @contextlib.contextmanager
    def muted(self):
        """Hear nothing of what this thread does: it is our own work."""
        before, self._muted = self._muted, threading.get_ident()
        try:
            yield
        finally:
            self._muted = before

    def listen(self):
        """Hear everything from now on."""
        global _listener  # noqa: PLW0603 - an audit hook is for the whole process
        if _listener is _UNHOOKED:
            sys.addaudithook(_hook)
        _listener = self

    def silence(self):
        """Hear nothing more."""
        global _listener  # noqa: PLW0603 - an audit hook is for the whole process
        if _listener is self:
            _listener = None

    def take(self):
        """Give (opened, listed, started, forked) since the last call."""
        found = self.opened, self.listed, self.started, self.forked
        self.opened, self.listed, self.started, self.forked = set(), set(), [], False
        return found

    def take_tracers(self):
        """Give the files whose functions were set to trace, since the last call."""
        found, self.tracers = self.tracers, set()
        return found

    def hear(self, event, args):  # noqa: C901 - one table of events
        """Note one event; called from the hook with those that matter only."""
        if self._muted is not None and self._muted == threading.get_ident():
            return
        if event == "open":
            path, _, flags = args
            if isinstance(path, int) or path is None or not isinstance(flags, int):
                return
            if flags & _ACCESS != _WRITES_ONLY and not flags & os.O_TRUNC:
                self.opened.add(_absolute(path))
        elif event in _LISTS:
            path = args[0]
            if not isinstance(path, int) and not _is_own_business(sys._getframe(2)):  # noqa: SLF001 - the only way
                self.listed.add(_absolute("." if path is None else path))
        elif event in _FORKS:
            self.forked = True
        elif event in _STARTS:
            self._start(event, args)
        elif event in _TRACES:
            self._trace(event, args)
        elif event in ("sqlite3.connect", "ctypes.dlopen"):
            path = args[0]
            if isinstance(path, (str, bytes)) and path:
                self.opened.add(_absolute(path))

    def _trace(self, event, args):
        """Note who sets a tracer: what its functions run may be hidden from the recorder."""
        if event == "sys.monitoring.register_callback":
            if args[0] is not None:
                self.tracers.add(file_of(args[0]))
            return
        name = sys._getframe(3).f_code.co_filename  # noqa: SLF001 - the only way
        if name == threading.__file__:
            hook = "_trace_hook" if event == "sys.settrace" else "_profile_hook"
            name = file_of(getattr(threading, hook, None))
        self.tracers.add(name)

    def _start(self, event, args):
        """Note a started process by its name."""
        if event == "os.posix_spawn":
            caller = sys._getframe(3).f_code.co_filename  # noqa: SLF001 - the only way
            if caller.endswith("subprocess.py"):
                return  # it said so itself
        if os.getpid() != self._pid:
            return  # a fork of this process, which is said to be one already
        name = args[0]
        if event == "subprocess.Popen" and name is None:
            name = args[1]
        if isinstance(name, (list, tuple)):
            name = name[0] if name else ""
        text = (
            os.fsdecode(name)
            if isinstance(name, (str, bytes)) or hasattr(name, "__fspath__")
            else event
        )
        if event == "os.system":
            text = "sh"
        if not _is_asked(sys._getframe(2)):  # noqa: SLF001 - the only way
            folder, program = os.path.split(text)
            self.started.append(("" if folder in _USUAL else "./") + program[:80])
        if event == "os.exec" and self.before_exec is not None:
            self.before_exec()


def _is_own_business(frame):
    """Tell whether imports, a look for distributions or pytest's collection lists a folder: none is the test's doing."""
    for _ in range(_MOST_FRAMES):
        name = frame.f_code.co_filename
        if not name.endswith(_BETWEEN):
            return name == _IMPORTS or any(part in name for part in _OTHERS)
        frame = frame.f_back
        if frame is None:
            break
    return False


def _is_asked(frame):
    """Tell whether the standard library starts a program to ask about the machine."""
    for _ in range(_MOST_FRAMES):
        if frame is None:
            break
        name = frame.f_code.co_filename
        # Between the hook and who asked there is nothing but what starts processes.
        if not name.endswith(_STARTERS):
            return name in _ASKS
        frame = frame.f_back
    return False


def _absolute(path):
    """Give a path that does not depend on the working folder."""
    text = os.fsdecode(path)
    return text if text.startswith("/") else os.path.join(os.getcwd(), text)


_UNHOOKED = Events()
_listener = _UNHOOKED
_HEARD = _STARTS | _FORKS | _LISTS | _TRACES | {"open", "sqlite3.connect", "ctypes.dlopen"}


def _hook(event, args):
    if _listener is not None and event in _HEARD:
        try:
            _listener.hear(event, args)
        except Exception:  # noqa: S110 - the project's own call must go on
            pass
