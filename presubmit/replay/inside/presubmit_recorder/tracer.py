"""Holds coverage's C tracer: which lines of which files of the tree ran, in all threads.

Of coverage only the tracer itself is loaded, from a folder of its own and under no module name: the project's tests
see neither another version of coverage nor that there is one. Its Python and its `sys.monitoring` cores are no choice:
the one is slow, the other gives each line once only, whichever test came first (`monitor.py` has none of coverage's).
"""

import glob
import importlib.machinery
import importlib.util
import os
import sys
import threading
import weakref

CORE = "ctrace"
_NAME = "coverage.tracer"


def load(folder):
    """Load the tracer's module from a folder that coverage was installed into; raises ImportError."""
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        found = glob.glob(os.path.join(glob.escape(folder), "coverage", "tracer" + suffix))
        if found:
            break
    else:
        raise ImportError("no tracer for this Python")
    before = sys.modules.get(_NAME)
    loader = importlib.machinery.ExtensionFileLoader(_NAME, found[0])
    spec = importlib.util.spec_from_file_location(_NAME, found[0], loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    if before is None:
        sys.modules.pop(_NAME, None)  # Python 3.8 puts it there by itself
    else:
        sys.modules[_NAME] = before
    return module


def other_tracer():
    """Say who traces already; empty where nobody does."""
    if sys.gettrace() is not None:
        return type(sys.gettrace()).__module__ or "another tracer"
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None:
        for tool in (monitoring.COVERAGE_ID, monitoring.DEBUGGER_ID):
            if monitoring.get_tool(tool) is not None:
                return monitoring.get_tool(tool)
    return ""


class Tracer:
    """Lines that ran, by file, since they were last taken."""

    core = CORE

    def __init__(self, module, wanted):
        """`wanted(filename)` gives a file's name in the record, or None where it is not to be traced."""
        self._module = module
        self._wanted = wanted
        self._data = {}
        self._cache = {}
        self._mine = None
        self._threads = weakref.WeakSet()
        self.greenlets = False

    def start(self):
        """Trace this thread, and each that is started from now on."""
        self._threads.update(threading.enumerate())  # those that are there were never traced
        threading.settrace(self._in_thread)
        self._mine = self._one()
        self._mine.start()

    def stop(self):
        """Trace no more; a tracer that took our place is left where it is."""
        if sys.gettrace() is self._mine:
            self._mine.stop()
        if _thread_hook() == self._in_thread:
            threading.settrace(None)

    def displaced(self):
        """Tell whether another tracer took this one's place."""
        return sys.gettrace() is not self._mine or _thread_hook() != self._in_thread

    def other_at_work(self):
        """Tell whether another tracer traces now, this thread or those that will be started."""
        if sys.gettrace() is not None:
            return sys.gettrace() is not self._mine or _thread_hook() not in (
                None,
                self._in_thread,
            )
        return False

    def misses_threads(self):
        """Tell whether a thread runs that was started while this tracer was displaced."""
        main = threading.main_thread()
        return any(one is not main and one not in self._threads for one in threading.enumerate())

    def unseen(self, tracers):  # noqa: ARG002 - for the other core
        """Say what hides code from us: a tracer that does took our place, and is known by that."""
        return ""

    def take(self):
        """Give the lines since the last call; the sets themselves stay, since running frames hold them."""
        found = {}
        for name, lines in list(self._data.items()):
            if lines:
                got = set(lines)
                lines.difference_update(got)
                found[name] = got
        return found

    def _one(self):
        tracer = self._module.CTracer()
        # Every attribute must be set: the C code reads each without asking whether it is there.
        tracer.data = self._data
        tracer.trace_arcs = False
        tracer.should_trace = self._judge
        tracer.should_trace_cache = self._cache
        tracer.warn = _ignore
        tracer.file_tracers = {}
        tracer.concur_id_func = self._greenlet()
        for name in ("should_start_context", "switch_context", "check_include", "disable_plugin"):
            if hasattr(type(tracer), name):
                setattr(tracer, name, None)
        for name in ("lock_data", "unlock_data"):
            if hasattr(type(tracer), name):
                setattr(tracer, name, _ignore)
        return tracer

    def _greenlet(self):
        greenlet = sys.modules.get("greenlet")
        self.greenlets = greenlet is not None
        return getattr(greenlet, "getcurrent", None)

    def _judge(self, filename, frame):  # noqa: ARG002 - what coverage calls it with
        try:
            name = self._wanted(filename)
        except Exception:
            name = None
        judged = self._module.CFileDisposition()
        judged.original_filename = judged.canonical_filename = filename
        judged.source_filename = name or filename
        judged.trace = name is not None
        judged.reason = ""
        judged.file_tracer = None
        judged.has_dynamic_filename = False
        return judged

    def _in_thread(self, frame, event, arg):
        sys.settrace(None)
        self._threads.add(threading.current_thread())
        tracer = self._one()
        function = tracer.start()
        return function(frame, event, arg) if function is not None else None


def _thread_hook():
    return getattr(threading, "_trace_hook", None)


def _ignore(*_arguments):
    pass


def check(folder):
    """Trace a little function in two threads; raises where what comes back is not what ran."""
    tracer = Tracer(load(folder), lambda name: name if name == "presubmit-check" else None)
    space = {}
    exec(compile("def f():\n    x = 1\n    return x\n", "presubmit-check", "exec"), space)  # noqa: S102 - the check
    for run in (space["f"], lambda: _run_thread(space["f"])):
        tracer.start()
        try:
            run()
        finally:
            tracer.stop()
        if tracer.take() != {"presubmit-check": {2, 3}}:
            raise RuntimeError("coverage's tracer does not give the lines that ran")


def _run_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


if __name__ == "__main__":  # in the build step, where a crash harms no test
    check(sys.argv[1])
