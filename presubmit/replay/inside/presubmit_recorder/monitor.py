"""Holds `sys.monitoring`, from Python 3.12: which code objects of the tree began or went on, in all threads.

Each is heard of once in a context and costs nothing after that. `restart_events` would make every code object of the
process be heard of anew, so what ran is armed again one by one: a finder hears of each code object the first time it
ever begins, a listener of those of the tree.
"""

import sys
import threading

CORE = "monitoring"
_FINDER, _LISTENER = "presubmit-finder", "presubmit-listener"
_IDS = (3, 4, 2, 5, 1, 0)  # those that no kind of tool has first
_RESUMED = 0x20 | 0x80 | 0x200  # generators, coroutines, asynchronous generators
_FUNCTION = 0x1
_COVERAGE = "/coverage/"
_HARMLESS = ("/cProfile.py", "/_lsprof.")
_TOOLS = {"coverage.py": "coverage", "cProfile": "cProfile"}
monitoring = getattr(sys, "monitoring", None)


def usable():
    """Tell whether this Python has what is needed, and two tools may still register."""
    return monitoring is not None and len(_free()) > 1


class Monitor:
    """Code that ran, by file, since it was last taken: of each its first line, its name, and whether that is a function."""

    core = CORE
    greenlets = True  # see `_events_of`

    def __init__(self, wanted):
        """`wanted(filename)` gives a file's name in the record, or None where it is not to be heard of."""
        self._wanted = wanted
        self._known = {}
        self._ran = {}
        self._lines = False
        self._finder = self._listener = None

    def start(self):
        """Hear of every thread from now on."""
        free = _free()
        if len(free) < 2:  # noqa: PLR2004 - a finder and a listener
            return
        self._finder, self._listener = free[:2]
        events = monitoring.events
        monitoring.use_tool_id(self._finder, _FINDER)
        monitoring.use_tool_id(self._listener, _LISTENER)
        monitoring.register_callback(self._finder, events.PY_START, self._found)
        # What is thrown into a generator resumes it without saying so; this one cannot be heard of by code object.
        monitoring.register_callback(self._finder, events.PY_THROW, self._thrown)
        for event in (events.PY_START, events.PY_RESUME, events.LINE):
            monitoring.register_callback(self._listener, event, self._heard)
        monitoring.set_events(self._finder, events.PY_START | events.PY_THROW)
        self._arm(self._known)

    def stop(self):
        """Hear no more; a tool that took our place is left where it is."""
        finder, listener = self._finder, self._listener
        self._finder = self._listener = None
        if listener is not None and monitoring.get_tool(listener) == _LISTENER:
            for code, _, _ in list(self._known.values()):
                monitoring.set_local_events(listener, code, 0)
            _free_tool(listener)
        if finder is not None and monitoring.get_tool(finder) == _FINDER:
            monitoring.set_events(finder, 0)
            _free_tool(finder)

    def displaced(self):
        """Tell whether another tool took this one's place."""
        if self._finder is None:
            return True
        events = monitoring.events
        return (
            monitoring.get_tool(self._finder) != _FINDER
            or monitoring.get_tool(self._listener) != _LISTENER
            or monitoring.get_events(self._finder) != events.PY_START | events.PY_THROW
        )

    def other_at_work(self):
        """Tell whether there is no place left."""
        return self.displaced() and len(_free()) < 2  # noqa: PLR2004 - a finder and a listener

    def misses_threads(self):
        """Tell whether a thread runs that is not heard of: none is."""
        return False

    def unseen(self, tracers):
        """Say what hides code from us: nothing is told of what runs inside a tracer's own functions.

        `tracers` are the files that set one since this was last asked.
        """
        if not all(self._runs_nothing_of_the_tree(one) for one in tracers):
            return "another tracer"
        for one in (sys.gettrace(), sys.getprofile()):
            if one is not None and not self._runs_nothing_of_the_tree(file_of(one)):
                return "another tracer"
        for number in range(6):
            tool = monitoring.get_tool(number)
            if tool is not None and tool not in (_FINDER, _LISTENER):
                module = sys.modules.get(_TOOLS.get(tool, ""))
                if module is None or not self._runs_nothing_of_the_tree(module.__file__):
                    return "another tool of sys.monitoring"
        return ""

    def _runs_nothing_of_the_tree(self, file):
        """Tell coverage and cProfile, where they are not what is tested."""
        return any(part in file for part in _HARMLESS) or (
            _COVERAGE in file and self._wanted(file) is None
        )

    def take(self):
        """Give what ran since the last call, and begin anew."""
        ran, self._ran = self._ran, {}
        known = self._known
        if not self._lines and "greenlet" in sys.modules:
            self._lines = True
            self._arm(known)
        elif self._listener is not None:
            self._arm(ran)
        self._go_on()
        found = {}
        for key in ran:
            _, name, mark = known[key]
            found.setdefault(name, set()).add(mark)
        return found

    def _arm(self, keys):
        """Let the code of these be heard of once more."""
        listener, known = self._listener, self._known
        set_events, events_of = monitoring.set_local_events, self._events_of
        try:
            for key in list(keys):
                code = known[key][0]
                # What was disabled at a place comes back only if the event is given anew.
                set_events(listener, code, 0)
                set_events(listener, code, events_of(code))
        except (ValueError, TypeError):
            return  # the tool was taken from us: `displaced` says so

    def _events_of(self, code):
        events = monitoring.events
        wanted = events.PY_START
        if code.co_flags & _RESUMED:
            wanted |= events.PY_RESUME
        if self._lines:
            wanted |= events.LINE  # a switch of greenlets resumes a frame, and no event tells
        return wanted

    def _go_on(self):
        """Take what other threads are in the middle of for something that runs now, too."""
        frames = sys._current_frames()  # noqa: SLF001 - the only way
        if len(frames) < 2:  # noqa: PLR2004 - this thread and another
            return
        mine = threading.get_ident()
        for thread, frame in frames.items():
            at = frame if thread != mine else None
            while at is not None:
                self._note(at.f_code)
                at = at.f_back

    def _note(self, code):
        key = id(code)
        if key not in self._known:
            name = self._wanted(code.co_filename)
            if name is None:
                return
            self._known[key] = (code, name, mark_of(code))
        self._ran[key] = None

    # --- callbacks: nothing is heard of what runs in them ---------------------------------------------------------

    def _found(self, code, offset):  # noqa: ARG002 - what the interpreter calls it with
        # By identity: code objects of two files are equal where their text and lines are.
        try:
            self._note(code)
        except Exception:  # noqa: S110 - the project's own call must go on
            pass
        return monitoring.DISABLE

    def _heard(self, code, offset):  # noqa: ARG002 - as above
        self._ran[id(code)] = None
        return monitoring.DISABLE

    def _thrown(self, code, offset, error):  # noqa: ARG002 - as above
        key = id(code)
        if key in self._known:
            self._ran[key] = None


def mark_of(code):
    """Give what tells a code object in its file: its first line, its name, whether it is or lies in a function."""
    function = bool(code.co_flags & _FUNCTION) or ".<locals>." in code.co_qualname
    return code.co_firstlineno, code.co_name, function


def file_of(function):
    """Give the file of a function that traces; of one that is written in C, its module's."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is not None:
        return code.co_filename
    module = getattr(type(function), "__module__", None) or ""
    if module == "builtins":  # a built-in function, or a method of an object of C
        module = type(getattr(function, "__self__", None)).__module__ or ""
    return getattr(sys.modules.get(module), "__file__", None) or module


def _free():
    return [number for number in _IDS if monitoring.get_tool(number) is None]


def _free_tool(number):
    for event in (monitoring.events.PY_START, monitoring.events.PY_RESUME, monitoring.events.LINE):
        monitoring.register_callback(number, event, None)
    monitoring.register_callback(number, monitoring.events.PY_THROW, None)
    monitoring.free_tool_id(number)


def check():
    """Hear of a little function in two contexts and two threads; raises where what comes back is not what ran."""
    monitor = Monitor(lambda name: name if name == "presubmit-check" else None)
    space = {}
    exec(compile("def f():\n    x = 1\n    return x\n", "presubmit-check", "exec"), space)  # noqa: S102 - the check
    thread = threading.Thread(target=space["f"])
    monitor.start()
    try:
        for run in (space["f"], space["f"], lambda: (thread.start(), thread.join())):
            run()
            if monitor.take() != {"presubmit-check": {(1, "f", True)}}:
                raise RuntimeError("sys.monitoring does not give what ran")
    finally:
        monitor.stop()


if __name__ == "__main__":  # in the build step, where a crash harms no test
    if not usable():
        sys.exit("this Python has no sys.monitoring")
    check()
