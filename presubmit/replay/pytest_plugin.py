"""A pytest plugin that narrows a run to the chosen tests and records what became of them.

It runs inside other people's projects, mounted as `presubmit_pytest_plugin.py`: the standard library alone, Python 3.8
and later, pytest 6 and later. Without PRESUBMIT_SELECTION it does nothing; a fault of its own never changes the outcome.
"""

from __future__ import annotations

import contextlib
import fnmatch
import json
import linecache
import os
import stat
import sys
import time
from typing import Any, Dict, Iterable, Iterator, List, Optional, Set

import pytest

_VARIABLE = "PRESUBMIT_SELECTION"
_LONGEST_TEXT = 20000
_LONGEST_MESSAGE = 2000
_LARGEST_SELECTION = 64 * 1024 * 1024
_PYTEST_MAJOR = int(pytest.__version__.split(".")[0])
_EXTRA = "presubmit_failure"
_SOURCES = ("", "src/", "lib/")
_MOST_COPIES = 20
_NONE_RAN = 5
"""pytest's exit code where no test ran; of several calls in one job, some may have no chosen test."""


class _Run:
    """One pytest session: what was chosen, and where it is recorded."""

    def __init__(self, config: Any, data: Dict[str, Any], source: str) -> None:
        self.config = config
        self.source = source
        self.worker = hasattr(config, "workerinput")
        self.record = _string(data, "record")
        self.root = os.path.normpath(_string(data, "root") or os.getcwd())
        self.real_root = os.path.realpath(self.root)
        self.rootdir = str(getattr(config, "rootpath", None) or config.rootdir)
        self.files: Set[str] = set()
        self.ids: Set[str] = set()
        self.within: Dict[str, Set[str]] = {}
        self.without: Set[str] = set()
        self.widened: Dict[str, List[str]] = {}
        self.known: Optional[Set[str]] = None
        self.watch: List[str] = []
        self.overlay = ""
        self.laid_over: Set[str] = set()
        self.narrow = False
        self.none_is_fine = False
        self.seen: Set[str] = set()
        self.found_ids: Set[str] = set()
        self.names: Dict[str, str] = {}
        self.places: Dict[str, Optional[str]] = {}
        self.selected = 0
        self.deselected = 0
        self.collected = False
        self.from_workers: List[Dict[str, Any]] = []

    def take(self, data: Dict[str, Any]) -> None:
        """Take what was chosen; raises ValueError or TypeError on data of another form."""
        self.watch = _strings(data, "watch")
        self.overlay, self.laid_over = _string(data, "overlay"), set(_strings(data, "laid_over"))
        files, ids = _strings(data, "files"), _strings(data, "ids")
        if data.get("known") is not None:
            self.known = set(_strings(data, "known"))
        mode = _string(data, "mode")
        if mode not in ("all", "scoped"):
            raise ValueError("mode is neither all nor scoped")
        self.files, self.ids = set(files), set(ids)
        for one in _strings(data, "within"):
            self.within.setdefault(one.partition("::")[0], set()).add(one)
        self.without = set(_strings(data, "without"))
        self.narrow = mode == "scoped" or bool(ids)
        self.none_is_fine = self.narrow and data.get("none_is_fine") is True

    def write(self, event: str, **facts: Any) -> None:
        """Append one line to the record; a worker has no record."""
        if self.worker or not self.record:
            return
        line = json.dumps(dict({"event": event}, **facts), default=str) + "\n"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        try:
            descriptor = os.open(self.record, flags, 0o644)
        except OSError:
            return
        try:
            rest = line.encode("ascii")
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        except OSError:
            pass
        finally:
            os.close(descriptor)

    # --- names ---

    def relative(self, path: Any) -> Optional[str]:
        """Give a path relative to presubmit's root, or None where it lies outside."""
        text = os.fspath(path)
        if text not in self.places:
            absolute = os.path.normpath(os.path.join(self.rootdir, text))
            found = _below(self.root, absolute)
            if found is None:
                found = _below(self.real_root, os.path.realpath(absolute))
            self.places[text] = found
        return self.places[text]

    def name(self, nodeid: str, path: Any = None) -> str:
        """Give a node id whose path is relative to presubmit's root."""
        if nodeid in self.names:
            return self.names[nodeid]
        place, colons, rest = nodeid.partition("::")
        found = self.relative(path if path is not None else place)
        return nodeid if found is None else found + colons + rest

    # --- choice ---

    def leaves_out(self, path: Any) -> bool:
        """Tell whether a file is one that was not chosen."""
        if not self.narrow:
            return False
        place = self.relative(path)
        if place is None:
            return False
        name = os.path.basename(place)
        if name in ("conftest.py", "__init__.py"):
            return False
        if self.ids:
            return not any(one.partition("::")[0] == place for one in self.ids)
        return place not in self.files and self.is_test(place)

    def is_test(self, place: str) -> bool:
        """Tell whether presubmit's choice speaks of this file at all."""
        if self.known is not None:
            return place in self.known
        if not place.endswith(".py"):
            return False
        for pattern in self.config.getini("python_files"):
            if "/" in pattern:
                if fnmatch.fnmatch("/" + place, "*/" + pattern.lstrip("/")):
                    return True
            elif fnmatch.fnmatch(os.path.basename(place), pattern):
                return True
        return False

    def widen(self, items: List[Any]) -> None:
        """Run a file whole where one of the ids that narrow it is not there: it is not known what took its place."""
        met: Set[str] = set()
        for item in items:
            met.update(_starts(self.name(item.nodeid, _path_of(item))))
        for place in [*self.within]:
            lost = sorted(self.within[place] - met)
            if lost:
                self.widened[place] = lost
                del self.within[place]

    def keeps(self, item: Any) -> bool:
        """Tell whether an item was chosen."""
        path = _path_of(item)
        name = self.name(item.nodeid, path)
        self.names[item.nodeid] = name
        place = self.relative(path)
        if place is not None:
            self.seen.add(place)
        if self.narrow and not self.ids:
            if not self.without.isdisjoint(_starts(name)):
                return False
            if place in self.within and place in self.files:
                return not self.within[place].isdisjoint(_starts(name))
        if self.ids:
            hits = [start for start in _starts(name) if start in self.ids]
            self.found_ids.update(hits)
            return bool(hits)
        if not self.narrow or place is None or place in self.files:
            return True
        return not self.is_test(place)

    def missing(self) -> List[str]:
        """Give what was chosen and never met."""
        if not self.narrow:
            return []
        if self.ids:
            return sorted(self.ids - self.found_ids)
        return sorted(self.files - self.seen)

    def modules(self) -> Dict[str, Optional[str]]:
        """Tell where each watched module was loaded from."""
        found: Dict[str, Optional[str]] = {}
        for name in self.watch:
            module = sys.modules.get(name)
            place = getattr(module, "__file__", None)
            found[name] = None if module is None else str(place or "built-in")
        return found

    def copies(self) -> List[str]:
        """Name files of the tree of which an installed copy ran instead that is another."""
        found = set()
        for module in [*sys.modules.values()]:
            place = getattr(module, "__file__", None)
            inside = _installed(place) if isinstance(place, str) else None
            for top in _SOURCES if inside else ():
                name = "{}{}".format(top, inside)
                if _differ(os.path.join(self.root, name), str(place)):
                    found.add(name)
        return sorted(found)[:_MOST_COPIES]

    def strays(self) -> List[str]:
        """Name loaded modules of packages with an overlay that did not come from there."""
        found = set()
        for name, module in [*sys.modules.items()] if self.laid_over else ():
            place = getattr(module, "__file__", None)
            if not isinstance(place, str) or name.partition(".")[0] not in self.laid_over:
                continue
            if not os.path.abspath(place).startswith(self.overlay + os.sep):
                found.add("{} from {}".format(name, place))
        return sorted(found)[:_MOST_COPIES]

    # --- the end ---

    def totals(self) -> Dict[str, Any]:
        """Give what is known at the end; an xdist worker tells it to its controller."""
        return {
            "selected": self.selected,
            "deselected": self.deselected,
            "collected": self.collected,
            "modules": self.modules(),
            "missing": self.missing(),
            "widened": self.widened,
            "copies": self.copies(),
            "strays": self.strays(),
        }

    def finish(self, session: Any, exitstatus: Any) -> None:
        """Record how the session ended."""
        facts = self.totals()
        for theirs in self.from_workers:
            _merge(facts, theirs)
        status = int(getattr(session, "exitstatus", exitstatus))
        if self.none_is_fine and status == _NONE_RAN:
            status = 0  # another call of the command may run what was chosen
        xmlpath = getattr(self.config.option, "xmlpath", None)
        self.write("end", exit=status, xmlpath=xmlpath, workers=len(self.from_workers), **facts)

    # --- failures ---

    def attach(self, outcome: Any, call: Any) -> None:
        """Put the facts of an exception on the report that a hook gave."""
        if outcome.excinfo is not None:
            return
        report = outcome.get_result()
        call = call if call is not None else getattr(report, "call", None)
        excinfo = getattr(call, "excinfo", None)
        if excinfo is not None and report is not None and report.outcome != "passed":
            setattr(report, _EXTRA, self.describe(excinfo.value, excinfo.tb))

    def facts(self, report: Any) -> Dict[str, Any]:
        """Say what is known of a report that did not pass."""
        if report.outcome == "passed":
            return {}
        facts = dict(getattr(report, _EXTRA, None) or {})
        longrepr = getattr(report, "longrepr", None)
        if isinstance(longrepr, tuple) and len(longrepr) == 3:  # noqa: PLR2004 - a skip: path, line, reason
            text = facts["message"] = str(longrepr[2])
        else:
            text = str(getattr(report, "longreprtext", "") or "")
        facts.setdefault("message", _cut(text.strip(), _LONGEST_MESSAGE))
        facts["text"] = _cut(text, _LONGEST_TEXT)
        if not facts.get("file"):
            facts["file"] = self.relative(report.nodeid.partition("::")[0]) or ""
        return facts

    def describe(self, value: BaseException, traceback: Any) -> Dict[str, Any]:
        """Say of an exception what stays the same when lines move, and where it was."""
        cause = value.__cause__
        if type(value).__name__ == "CollectError" and cause is not None:
            value, traceback = cause, cause.__traceback__
        kind = type(value)
        facts: Dict[str, Any] = {
            "exception": "{}.{}".format(kind.__module__, kind.__qualname__),
            "message": _cut(_text_of(value), _LONGEST_MESSAGE),
            "frame": "",
            "file": "",
            "line": None,
        }
        while traceback is not None:
            code = traceback.tb_frame.f_code
            place = self.project_file(code.co_filename)
            if place is not None:
                facts["frame"] = "{}:{}".format(place, code.co_name)
                facts["file"] = place
                facts["line"] = traceback.tb_lineno
                facts["source"] = linecache.getline(code.co_filename, traceback.tb_lineno).strip()[
                    :300
                ]
            traceback = traceback.tb_next
        if isinstance(value, SyntaxError) and value.filename:
            place = self.project_file(value.filename)
            if place is not None:
                facts.update(frame=place + ":<module>", file=place, line=value.lineno)
        return facts

    def project_file(self, filename: str) -> Optional[str]:
        """Give the path of a source of the project, None for anything installed or made up."""
        if filename.startswith("<"):
            return None
        place = self.relative(os.path.abspath(filename))
        if place is None or "site-packages" in place.split("/"):
            return None
        return place


def _installed(place: str) -> Optional[str]:
    """Give what stands below the folder of installed packages, None for what is not installed."""
    parts = place.replace(os.sep, "/").split("/")
    for number in range(len(parts) - 1, 0, -1):
        if parts[number - 1] in ("site-packages", "dist-packages"):
            return "/".join(parts[number:])
    return None


def _differ(one: str, two: str) -> bool:
    """Tell whether two files are there and not the same."""
    try:
        with open(one, "rb") as left, open(two, "rb") as right:
            return left.read() != right.read()
    except OSError:
        return False


def _merge(facts: Dict[str, Any], theirs: Dict[str, Any]) -> None:
    """Add what one xdist worker told: every worker collects everything, and loads what its tests need."""
    if not facts["collected"]:
        facts["missing"] = theirs["missing"]
        facts["widened"] = theirs.get("widened", {})
    facts["collected"] = facts["collected"] or theirs["collected"]
    for name in ("copies", "strays"):
        facts[name] = sorted({*facts[name], *theirs.get(name, ())})[:_MOST_COPIES]
    for count in ("selected", "deselected"):
        facts[count] = max(facts[count], theirs[count])
    for name, place in theirs["modules"].items():
        if facts["modules"].get(name) is None:
            facts["modules"][name] = place


def _string(data: Dict[str, Any], key: str) -> str:
    value = data.get(key, "")
    if not isinstance(value, str):
        raise TypeError(key + " is no string")
    return value


def _strings(data: Dict[str, Any], key: str) -> List[str]:
    value = data.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError(key + " is no list of strings")
    return value


def _below(root: str, path: str) -> Optional[str]:
    if path == root:
        return "."
    prefix = root.rstrip(os.sep) + os.sep
    if path.startswith(prefix):
        return path[len(prefix) :].replace(os.sep, "/")
    return None


def _path_of(node: Any) -> Any:
    return getattr(node, "path", None) or getattr(node, "fspath", "")


def _starts(name: str) -> Iterator[str]:
    """Give every id that would choose this one: itself, its function, its class, its file."""
    yield name
    for index, letter in enumerate(name):
        if letter == "[" or name.startswith("::", index):
            yield name[:index]


def _text_of(value: BaseException) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - a project's exception may do anything when it is printed
        return "<unprintable {}>".format(type(value).__name__)


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return text[:half] + "\n[...]\n" + text[-half:]


def _read(path: str) -> str:
    """Read the selection; never blocks, whatever the path names."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("no regular file")
        chunks = []
        size = 0
        while True:
            chunk = os.read(descriptor, 1 << 20)
            if not chunk:
                break
            size += len(chunk)
            if size > _LARGEST_SELECTION:
                raise OSError("too large")
            chunks.append(chunk)
    finally:
        os.close(descriptor)
    return b"".join(chunks).decode("utf-8", "surrogateescape")


class _Guard:
    """Turns an error of ours into a line of the record, after which nothing is narrowed any more."""

    def __init__(self, run: _Run) -> None:
        self.run = run

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: Any) -> bool:  # noqa: PYI036
        if not isinstance(error, Exception):
            return False
        self.run.narrow = False
        with contextlib.suppress(Exception):
            text = "{}: {}".format(type(error).__name__, error)
            self.run.write("plugin-error", where=trace.tb_frame.f_code.co_name, error=text)
        return True


# --- the session ----------------------------------------------------------------------------------------------------

_taken = False


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    """Begin to record before the project's first conftest is imported, where a recording is asked for."""
    path = os.environ.get(_VARIABLE)
    if path and not _taken:
        with contextlib.suppress(Exception):
            _record(json.loads(_read(path)), early_config.known_args_namespace)


def _record(data: Dict[str, Any], options: Any) -> None:
    """Begin to record; the recorder lies in a folder of its own, and is there only if it is needed."""
    told = data.get("recording")
    if isinstance(told, dict):
        from presubmit_recorder import (  # type: ignore[import-not-found]  # noqa: PLC0415 - see above
            hooks,
        )

        hooks.begin(dict(told), options)


def _recording_hooks(run: _Run) -> Any:
    """Give the hooks that tell the recorder where pytest is, None where nothing is recorded."""
    hooks = sys.modules.get("presubmit_recorder.hooks")
    recorder = hooks.running() if hooks is not None else None
    if hooks is None or recorder is None:
        return None
    return hooks.Hooks(recorder, run.name, run.relative, run.config)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: Any) -> None:
    """Read what was chosen, once in a process: sessions that the project's own tests start are none of ours."""
    global _taken  # noqa: PLW0603 - a plugin module has no other place that outlives a session
    if _taken:
        return
    _taken = True
    path = os.environ.pop(_VARIABLE, None)  # so that processes started by tests do not see it
    try:
        worker = getattr(config, "workerinput", None)
        if worker is not None:
            source = worker.get("presubmit_selection")
        else:
            source = _read(path) if path else None
        data = json.loads(source) if source else None
        if not isinstance(data, dict):
            return
        run = _Run(config, data, source or "")
    except Exception:  # noqa: BLE001 - no record to write to: its absence tells that nothing was narrowed
        return
    with _Guard(run):
        run.take(data)
    config.pluginmanager.register(_Hooks(run), "presubmit-hooks")
    with contextlib.suppress(Exception):
        if run.worker:
            _record(data, config.option)
        recording = _recording_hooks(run)
        if recording is not None:
            config.pluginmanager.register(recording, "presubmit-recorder")


class _NotChosen(pytest.File):
    """Stands for a test file that was named on the command line and not chosen: it is not imported."""

    def collect(self) -> Iterable[Any]:
        """Give no tests."""
        return []


class _CommonHooks:
    """The hooks of one session; registered for it alone."""

    def __init__(self, run: _Run) -> None:
        self.run = run
        self.guard = _Guard(run)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Hand the choice to an xdist worker."""
        with self.guard:
            node.workerinput["presubmit_selection"] = self.run.source

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what an xdist worker told at its end."""
        with self.guard:
            told = (getattr(node, "workeroutput", None) or {}).get("presubmit")
            if told:
                self.run.from_workers.append(json.loads(told))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: Any) -> None:
        """Record that pytest started."""
        with self.guard:
            self.run.write(
                "session",
                pytest=pytest.__version__,
                python=sys.version.split()[0],
                executable=sys.executable,
                rootdir=self.run.rootdir,
                cwd=os.getcwd(),
                root=self.run.root,
                record=self.run.record,
                pid=os.getpid(),
                time=time.time(),
                args=[str(one) for one in session.config.args],
                narrowed=self.run.narrow,
            )

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: Any, exitstatus: Any) -> Iterator[None]:
        """Record how the session ended, after every other plugin had its say."""
        if self.run.worker:
            with self.guard:  # xdist sends `workeroutput` when the hook has run
                session.config.workeroutput["presubmit"] = json.dumps(self.run.totals())
            yield
            return
        yield
        with self.guard:
            self.run.finish(session, exitstatus)
        if self.run.none_is_fine and int(getattr(session, "exitstatus", exitstatus)) == _NONE_RAN:
            session.exitstatus = 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: Any, items: List[Any]) -> None:
        """Deselect what was not chosen, in place and in order."""
        with self.guard:
            kept: List[Any] = []
            dropped: List[Any] = []
            if self.run.narrow and self.run.within:
                self.run.widen(items)
            for item in items:
                (kept if self.run.keeps(item) else dropped).append(item)
            self.run.collected = True
            self.run.selected = len({self.run.names.get(it.nodeid, it.nodeid) for it in kept})
            if dropped:
                self.run.deselected += len(dropped)
                items[:] = kept
                config.hook.pytest_deselected(items=dropped)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, call: Any) -> Iterator[None]:
        """Put the exception's facts on the report: they travel with it from an xdist worker."""
        outcome = yield
        with self.guard:
            self.run.attach(outcome, call)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self) -> Iterator[None]:
        """Do the same for an error of collection."""
        outcome = yield
        with self.guard:
            self.run.attach(outcome, None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Record that a test starts: one that never ends is what a crash was in."""
        with self.guard:
            self.run.write("start", id=self.run.name(nodeid))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Record a phase of a test: the call, and any other that did not pass."""
        with self.guard:
            name = self.run.name(report.nodeid)
            if report.when == "call" or report.outcome != "passed":
                facts = self.run.facts(report)
                if hasattr(report, "wasxfail"):
                    facts["wasxfail"] = str(report.wasxfail)
                if hasattr(report, "context"):
                    facts["subtest"] = True
                seconds = round(float(getattr(report, "duration", 0.0)), 6)
                outcome = str(report.outcome)
                self.run.write(
                    "phase", id=name, when=report.when, outcome=outcome, seconds=seconds, **facts
                )
            if report.when == "teardown":
                self.run.write("finish", id=name)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: Any) -> None:
        """Record an error of collection."""
        with self.guard:
            if report.failed:
                name = self.run.name(report.nodeid)
                self.run.write("collect-error", id=name, **self.run.facts(report))

    def ignores(self, path: Any) -> Optional[bool]:
        """Tell pytest to leave a file out, or say nothing."""
        with self.guard:
            if not os.path.isdir(os.fspath(path)) and self.run.leaves_out(path):
                return True
        return None

    def stands_in(self, module: Any, parent: Any, **place: Any) -> Any:
        """Give a stand-in for a file that the command line names and that was not chosen."""
        with self.guard:
            # With an id on the command line pytest would miss what it was asked for.
            named = any("::" in str(one) for one in parent.config.args)
            if not named and self.run.leaves_out(module):
                return _NotChosen.from_parent(parent, **place)
        return None


if _PYTEST_MAJOR >= 7:  # noqa: PLR2004 - the version that brought pathlib to these hooks

    class _Hooks(_CommonHooks):
        """The hooks whose parameters changed."""

        @pytest.hookimpl(tryfirst=True)
        def pytest_ignore_collect(self, collection_path: Any) -> Optional[bool]:
            """Leave out test files that were not chosen, so that they are not even imported."""
            return self.ignores(collection_path)

        @pytest.hookimpl(tryfirst=True)
        def pytest_pycollect_makemodule(self, module_path: Any, parent: Any) -> Any:
            """Do the same for files that the command line names."""
            return self.stands_in(module_path, parent, path=module_path)

else:

    class _Hooks(_CommonHooks):  # type: ignore[no-redef]
        """The hooks whose parameters changed."""

        @pytest.hookimpl(tryfirst=True)
        def pytest_ignore_collect(self, path: Any) -> Optional[bool]:
            """Leave out test files that were not chosen, so that they are not even imported."""
            return self.ignores(path)

        @pytest.hookimpl(tryfirst=True)
        def pytest_pycollect_makemodule(self, path: Any, parent: Any) -> Any:
            """Do the same for files that the command line names."""
            return self.stands_in(path, parent, fspath=path)
