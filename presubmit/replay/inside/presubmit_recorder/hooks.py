"""Tells the recorder which test, test module or wider fixture pytest is at."""

import functools
import os

import pytest
from presubmit_recorder import child, setting
from presubmit_recorder.core import Recorder

_COMPLETE = (0, 1, 5)
"""Exit codes of a session that came to its end: all passed, some failed, none there."""
_WEIGHT = {"": 0, "skipped": 1, "passed": 2, "failed": 3}

_running = None


def begin(told, options):
    """Start to record this pytest process before its first conftest; gives the recorder or None."""
    global _running  # noqa: PLW0603 - a module has no other place that outlives a session
    if getattr(options, "collectonly", False):
        return None  # nothing runs, so nothing is to be learned
    recorder = child.recorder
    if recorder is None:
        recorder = Recorder(told)
        measured = getattr(options, "cov_source", None) and not getattr(options, "no_cov", False)
        why = (
            "left alone: the project measures coverage itself (--cov)"
            if measured and not recorder.bears_others
            else recorder.start()
        )
        if why:
            recorder.line(kind="note", text=why)
            return None
    try:
        _announce(recorder)
    except Exception as error:
        recorder.fail(error)
        return None
    _running = recorder
    return recorder


def running():
    """Give the recorder that `begin` started in this process."""
    return _running


def _announce(recorder):
    with recorder.unheard():
        recorder.line(
            kind="start",
            core=recorder.core,
            python=setting.python(),
            environment=setting.digest(recorder.told.get("project", "")),
        )


class Hooks:
    """The hooks of one session; `name(nodeid, path)` gives a node id that begins at presubmit's root."""

    def __init__(self, recorder, name, relative, config):
        self.recorder = recorder
        self.name = name
        self.relative = relative
        self.complete = False
        self._tests = {}
        config.add_cleanup(self.finish)

    def guarded(self, function, *arguments):
        """Call a function of ours; what it raises ends the recording and nothing else."""
        if not self.recorder.running or os.getpid() != self.recorder.pid:
            return None
        try:
            return function(*arguments)
        except Exception as error:
            self.recorder.fail(error)
            return None

    def finish(self):
        """Write the end, after every hook of the project's."""
        recorder = self.recorder
        if os.getpid() != recorder.pid or recorder.stopped == "the recorder failed":
            return
        try:
            recorder.end(complete=self.complete)
        except Exception as error:
            recorder.fail(error)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session, exitstatus):
        """Note whether everything that was to run did."""
        yield
        status = int(getattr(session, "exitstatus", exitstatus))
        early = getattr(session, "shouldstop", False) or getattr(session, "shouldfail", False)
        self.complete = status in _COMPLETE and not early

    # --- tests --------------------------------------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        """Record a test from the beginning of its set-up to the end of its tear-down."""
        context = self.guarded(self._begin_test, item, nextitem)
        outcome = yield
        if context is not None:
            self._tests.pop(item.nodeid, None)
            end = self.recorder.leave if outcome.excinfo is None else self.recorder.drop
            self.guarded(end, context)

    def _begin_test(self, item, following):
        name = self._test(item)
        context = self.recorder.enter("test:" + name)
        if context is not None:
            context.goes_on = following is not None and self._test(following) == name
        self._tests[item.nodeid] = context
        return context

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item):
        """Note how a phase of a test ended."""
        outcome = yield
        self.guarded(self._note, item, outcome)

    def _note(self, item, outcome):
        context = self._tests.get(item.nodeid)
        if context is None or outcome.excinfo is not None:
            return
        report = outcome.get_result()
        said = "passed" if hasattr(report, "wasxfail") and report.skipped else report.outcome
        if report.when != "call" and said == "passed":
            said = ""
        if _WEIGHT.get(said, 3) > _WEIGHT.get(context.outcome, 3):
            context.outcome = said
        context.seconds += float(getattr(report, "duration", 0.0))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item):
        """Note what wider fixtures a test got, while that can still be known."""
        yield
        self.guarded(self._note_fixtures, item)

    def _note_fixtures(self, item):
        context = self._tests.get(item.nodeid)
        if context is not None:
            request = getattr(item, "_request", None) or getattr(item, "fixture_request", None)
            context.uses.update(self._wider(request, getattr(item, "_fixtureinfo", None)))

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_collection_finish(self, session):
        """Note which tests are to run, and how often each: of a session that is cut off, what is missing."""
        yield
        self.guarded(self._note_chosen, session)

    def _note_chosen(self, session):
        counts = {}
        for item in session.items:
            name = self._test(item)
            counts[name] = counts.get(name, 0) + 1
        self.recorder.line(kind="chosen", tests=counts)

    def _test(self, item):
        """Name a test without its parameters."""
        place, colons, rest = self.name(item.nodeid, _path_of(item)).partition("::")
        return place + colons + rest.partition("[")[0]

    # --- collection -----------------------------------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector):
        """Record the import of a test module and all that happens there, also what makes its parameters."""
        context = self.guarded(self._begin_collecting, collector)
        yield
        self.guarded(self.recorder.leave, context)

    def _begin_collecting(self, collector):
        module = collector.getparent(pytest.File)
        if module is None or isinstance(module, pytest.Package):
            return None
        path = _path_of(module)
        return self.recorder.enter("collect:" + self.name(module.nodeid, path).partition("::")[0])

    # --- fixtures -------------------------------------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef, request):
        """Record a fixture that several tests share, whichever of them came first, with its tear-down."""
        wide = fixturedef.scope != "function"
        context = self.guarded(self._begin_fixture, fixturedef) if wide else None
        yield
        if context is not None:
            self.guarded(self._end_fixture, context, fixturedef, request)

    def _begin_fixture(self, fixturedef):
        name = self._fixture(fixturedef)
        held = []
        # Finalizers run from the last to the first: this one after the fixture's own tear-down.
        fixturedef.addfinalizer(functools.partial(self._after_finish, held))
        context = self.recorder.enter(name)
        context.held = held
        return context

    def _end_fixture(self, context, fixturedef, request):
        context.uses.update(self._wider(request, None) - {context.name})
        self.recorder.leave(context)
        made = getattr(fixturedef, "cached_result", None)
        if made is not None:
            with self.recorder.unheard():
                self.recorder.watch.hold(context.name, made[0])
        fixturedef.addfinalizer(functools.partial(self._before_finish, context.held, context.name))

    def _before_finish(self, held, name):
        self.recorder.watch.release(name)
        held.append(self.guarded(self.recorder.enter, name))

    def _after_finish(self, held):
        if held:
            self.guarded(self.recorder.leave, held.pop())

    def _wider(self, request, info):
        """Name the fixtures of wider than function scope that a request got, those that others set up too."""
        named = dict(getattr(request, "_fixture_defs", None) or {})
        several = dict(getattr(info, "name2fixturedefs", None) or {})
        known = getattr(request, "_arg2fixturedefs", None) or {}
        for name in named:
            several.setdefault(name, known.get(name) or ())
        found = [*named.values(), *(one for defs in several.values() for one in defs)]
        return {self._fixture(one) for one in found if one.scope != "function"}

    def _fixture(self, fixturedef):
        """Name a fixture by the file that defines it, and by its class if it has one."""
        base = fixturedef.baseid or ""
        place, colons, rest = base.partition("::")
        code = getattr(getattr(fixturedef, "func", None), "__code__", None)
        found = self.relative(os.path.abspath(code.co_filename)) if code is not None else None
        if found is None:
            module = getattr(fixturedef.func, "__module__", None) or ""
            found = self.name(place, None) if place else module
        return (
            "fixture:" + found + (colons + rest if rest else "") + "::" + str(fixturedef.argname)
        )


def _path_of(node):
    return getattr(node, "path", None) or getattr(node, "fspath", "")
