"""Runs unittest's own main, or a script that runs a suite, on the chosen tests, and records what became of them.

It runs inside other people's projects: the standard library alone, Python 3.8 and later. `python -m presubmit_unittest
discover -s tests` is `python -m unittest discover -s tests`; `--script runtests.py ARGUMENTS` runs that script instead.
The record is the one of the pytest plugin, event by event, so its readers know no other form. What decides here are the
hooks that unittest itself offers: how a loader matches files, what a suite holds, what a result is told.
"""

from __future__ import annotations

import fnmatch
import json
import linecache
import os
import re
import runpy
import sys
import time
import traceback
import unittest
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

__unittest = True  # unittest leaves frames of such modules out of what it prints

_VARIABLE = "PRESUBMIT_SELECTION"
_LONGEST_TEXT = 20000
_LONGEST_MESSAGE = 2000
_NONE_RAN = 5
_MISUSED = 4
"""pytest's exit codes: the record speaks its language."""
_USAGE = 2
"""What argparse ends with."""
_FIXTURE = re.compile(r"^(setUp|tearDown)(Class|Module) \((.*)\)$", re.DOTALL)
_FRAME = re.compile(r'^  File "([^"\n]+)", line (\d+), in (.+)$', re.MULTILINE)
_LAST_LINE = re.compile(r"^([A-Za-z_][\w.]*)(?:: (.*))?$")
_STAND_INS = ("_FailedTest", "ModuleSkipped")
"""What a loader gives for a module that cannot be imported, or that skips itself (unittest/loader.py)."""
_TESTS = "_tests"
_MATCHES = "_match_path"
"""What suites and loaders keep to themselves: the one has no other way to take a test out, the other is made to be
replaced (a comment in unittest/loader.py)."""
_TAG = "_presubmit_file"
_HEARD = "_presubmit_heard"
_CHOSEN = "_presubmit_chosen"


class Run:
    """One process of tests: what was chosen, and where it is recorded."""

    def __init__(self, data: Dict[str, Any]) -> None:
        self.record = str(data.get("record") or "")
        self.root = os.path.normpath(str(data.get("root") or os.getcwd()))
        self.real_root = os.path.realpath(self.root)
        self.files = set(_strings(data, "files"))
        self.ids = set(_strings(data, "ids"))
        self.without = set(_strings(data, "without"))
        self.within: Dict[str, Set[str]] = {}
        for one in _strings(data, "within"):
            self.within.setdefault(one.partition("::")[0], set()).add(one)
        if data.get("mode") not in ("all", "scoped"):
            raise ValueError("mode is neither all nor scoped")
        self.narrow = data.get("mode") == "scoped" or bool(self.ids)
        self.none_is_fine = self.narrow and data.get("none_is_fine") is True
        collects = data.get("collects") or {}
        self.patterns = _strings(collects, "patterns") or ["test*.py"]
        self.folders = _strings(collects, "folders")
        self.packages = collects.get("packages") is True
        self.watch = _strings(data, "watch")
        self.seen: Set[str] = set()
        self.found_ids: Set[str] = set()
        self.widened: Dict[str, List[str]] = {}
        self.names: Dict[str, List[str]] = {}
        """Of the chosen tests, by class and by module, as unittest prints these."""
        self.last: Dict[str, str] = {}
        """The last test that ran, by class and by module."""
        self.chosen: Set[str] = set()
        self.deselected = 0
        self.ran = 0
        self.begun = False
        self.depth = 0
        self.open: Optional[str] = None
        self.told = False
        """The open test has an outcome of its own; those of its subtests are none."""
        self.skip = ""
        self.began = 0.0

    # --- the record ---

    def write(self, event: str, **facts: Any) -> None:
        """Append one line to the record; a write that fails must not fail a test."""
        if not self.record:
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

    def start(self) -> None:
        """Record that the tests of this process begin."""
        self.begun = True
        os.environ.pop(_VARIABLE, None)  # so that processes started by tests do not see it
        self.write(
            "session",
            runner="unittest",
            python=sys.version.split()[0],
            executable=sys.executable,
            rootdir=os.getcwd(),
            cwd=os.getcwd(),
            root=self.root,
            record=self.record,
            pid=os.getpid(),
            time=time.time(),
            args=sys.argv[1:],
            narrowed=self.narrow,
        )

    def end(self, code: int) -> int:
        """Record how the tests ended; gives the code to end the process with: an empty run is no green one."""
        if not code and not self.ran:
            code = _NONE_RAN
        self.write(
            "end",
            exit=code,
            xmlpath=None,
            workers=0,
            selected=len(self.chosen),
            deselected=self.deselected,
            collected=True,
            modules=self.modules(),
            missing=self.missing(),
            widened=self.widened,
        )
        return 0 if code == _NONE_RAN and self.none_is_fine else code

    def modules(self) -> Dict[str, Optional[str]]:
        """Tell where each watched module was loaded from."""
        found: Dict[str, Optional[str]] = {}
        for name in self.watch:
            module = sys.modules.get(name)
            place = getattr(module, "__file__", None)
            found[name] = None if module is None else str(place or "built-in")
        return found

    def missing(self) -> List[str]:
        """Give what was chosen and never met."""
        if not self.narrow:
            return []
        return sorted(self.ids - self.found_ids) if self.ids else sorted(self.files - self.seen)

    # --- names ---

    def relative(self, path: str) -> Optional[str]:
        """Give a path relative to presubmit's root, or None where it lies outside."""
        absolute = os.path.abspath(path)
        for root, place in ((self.root, absolute), (self.real_root, os.path.realpath(absolute))):
            if place.startswith(root.rstrip(os.sep) + os.sep):
                return place[len(root.rstrip(os.sep)) + 1 :].replace(os.sep, "/")
        return None

    def place(self, case: Any) -> Optional[str]:
        """Give the file that a test was collected from: where its class may only have been imported into."""
        path = getattr(case, _TAG, None)
        if path is None and type(case).__name__ in _STAND_INS:
            path = file_of(str(getattr(case, "_testMethodName", "")))
        elif path is None:
            module = sys.modules.get(type(case).__module__)
            path = getattr(module, "__file__", None)
        return self.relative(path) if path else None

    def name(self, test: Any) -> str:
        """Give the id of a test as pytest would write it, `tests/test_x.py::Class::test_m`."""
        case = getattr(test, "test_case", test)
        place = self.place(case)
        if type(case).__name__ in _STAND_INS:
            return place or str(getattr(case, "_testMethodName", case))
        method = getattr(case, "_testMethodName", "")
        own = method and type(case).__module__ not in ("doctest", "unittest.case")
        parts = [*type(case).__qualname__.split("."), method] if own else [str(case.id())]
        return "::".join([place] * bool(place) + parts)

    # --- choice ---

    def is_test(self, place: str) -> bool:
        """Tell whether presubmit's choice speaks of this file at all, as `Collects` of `presubmit.runners` has it."""
        around = next((it for it in self.folders if place.startswith(it + "/")), None)
        if self.folders and around is None:
            return False
        folder = os.path.dirname(place)
        while self.packages and folder not in ("", around):
            if not os.path.isfile(os.path.join(self.root, folder, "__init__.py")):
                return False
            folder = os.path.dirname(folder)
        for pattern in self.patterns:
            subject = "/" + place if "/" in pattern else os.path.basename(place)
            if fnmatch.fnmatchcase(subject, pattern):
                return True
        return False

    def leaves_out(self, path: str) -> bool:
        """Tell whether a file need not even be imported."""
        place = self.relative(path) if self.narrow else None
        if place is None or place.endswith("__init__.py"):
            return False
        if self.ids:
            return not any(one.partition("::")[0] == place for one in self.ids)
        return place not in self.files and self.is_test(place)

    def keeps(self, test: Any) -> bool:
        """Tell whether a test was chosen."""
        place = self.place(test)
        if place is not None:
            self.seen.add(place)
        if not self.narrow:
            return True
        if type(test).__name__ in _STAND_INS:
            return self.keeps_whole(place)
        name = self.name(test)
        if self.ids:
            hits = [start for start in _starts(name) if start in self.ids]
            self.found_ids.update(hits)
            return bool(hits)
        if not self.without.isdisjoint(_starts(name)):
            return False
        if place in self.within and place in self.files:
            return not self.within[place].isdisjoint(_starts(name))
        return place is None or place in self.files or not self.is_test(place)

    def keeps_whole(self, place: Optional[str]) -> bool:
        """Tell whether something was chosen of a file that cannot be loaded; what cannot be placed stays."""
        if place is None:
            return True
        self.found_ids.update({place} & self.ids)
        return place in ({it.partition("::")[0] for it in self.ids} if self.ids else self.files)

    def choose(self, suite: Any) -> None:
        """Take out of a suite, in place and in order, what was not chosen; a second time does nothing."""
        if getattr(suite, _CHOSEN, False):
            return
        setattr(suite, _CHOSEN, True)
        if not self.begun:
            self.start()
        every = list(_cases(suite))
        met: Set[str] = set()
        for case in every:
            met.update(_starts(self.name(case)))
        for place in [*self.within]:
            lost = sorted(self.within[place] - met)
            if lost:  # it is not known what took its place
                self.widened[place] = lost
                del self.within[place]
        kept = {id(case) for case in every if self.keeps(case)}
        if len(kept) < len(every):
            _keep(suite, kept)
        for case in every:
            if id(case) in kept:
                self.remember(case)
                if type(case).__name__ != "_FailedTest":  # it stands for a file, as an error of it
                    self.chosen.add(self.name(case))
        self.deselected += len(every) - len(kept)

    def remember(self, case: Any) -> None:
        """Note whose class and module a test is of: what fails for these fails for all of it."""
        kind = type(case)
        name = self.name(case)
        for whole in (kind.__module__, "{}.{}".format(kind.__module__, kind.__qualname__)):
            self.names.setdefault(whole, []).append(name)

    # --- what a result is told ---

    def started(self, test: Any) -> None:
        """Record that a test starts."""
        kind = type(test)
        self.open = self.name(test)
        self.began = time.perf_counter()
        self.told = False
        self.skip = ""
        self.last[kind.__module__] = self.open
        self.last["{}.{}".format(kind.__module__, kind.__qualname__)] = self.open
        self.ran += 1
        self.write("start", id=self.open)

    def stopped(self, test: Any) -> None:
        """Record that a test is over."""
        if not self.told and self.skip:  # only parts of it ran
            self.phase(self.open or self.name(test), "skipped", {"message": self.skip})
        self.write("finish", id=self.name(test))
        self.open = None

    def phase(self, name: str, outcome: str, facts: Dict[str, Any], when: str = "call") -> None:
        """Record an outcome."""
        seconds = round(time.perf_counter() - self.began, 6) if self.open == name else 0.0
        self.write("phase", id=name, when=when, outcome=outcome, seconds=seconds, **facts)

    def outcome(self, test: Any, outcome: str, facts: Dict[str, Any]) -> None:
        """Record what became of a test, a part of one, or of what stands around several."""
        if type(test).__name__ == "_ErrorHolder":
            self.around(str(test.id()), outcome, facts)
            return
        if type(test).__name__ == "_FailedTest":
            self.told = True
            self.write("collect-error", id=self.name(test), **_of_loader(self, test, facts))
            return
        name = self.name(test)
        if hasattr(test, "test_case"):
            if outcome == "skipped":
                self.skip = str(facts.get("message", ""))
                return
            facts["subtest"] = True
            facts["message"] = "{}{}".format(_described(test), facts.get("message", ""))
        else:
            self.told = True
        if self.open is None:  # unittest starts no test that is skipped as a whole
            self.ran += 1
            self.write("start", id=name)
            self.phase(name, outcome, facts)
            self.write("finish", id=name)
            return
        self.phase(name, outcome, facts)

    def around(self, description: str, outcome: str, facts: Dict[str, Any]) -> None:
        """Record an outcome of setUpClass and the like, for the tests that it is an outcome of."""
        found = _FIXTURE.match(description)
        whole = found.group(3) if found else ""
        if found and found.group(1) == "tearDown" and whole in self.last:
            self.phase(self.last[whole], outcome, facts, "teardown")
            return
        names = self.names.get(whole, []) if found else []
        if not names:
            self.write("collect-error", id=description, **facts)
        for name in names:
            self.ran += 1
            self.write("start", id=name)
            self.phase(name, outcome, facts, "setup")
            self.write("finish", id=name)

    def describe(self, error: Any, text: str) -> Dict[str, Any]:
        """Say of an exception what stays the same when lines move, and where it was."""
        kind, value, trace = error if isinstance(error, tuple) else (type(error), error, None)
        facts: Dict[str, Any] = {
            "exception": "{}.{}".format(kind.__module__, kind.__qualname__),
            "message": _cut(_text_of(value), _LONGEST_MESSAGE),
            "frame": "",
            "file": "",
            "line": None,
            "text": _cut(text, _LONGEST_TEXT),
        }
        while trace is not None:
            code = trace.tb_frame.f_code
            self.point(facts, code.co_filename, trace.tb_lineno, code.co_name)
            trace = trace.tb_next
        if isinstance(value, SyntaxError) and value.filename:
            self.point(facts, value.filename, value.lineno or 0, "<module>")
        return facts

    def point(self, facts: Dict[str, Any], filename: str, line: int, function: str) -> None:
        """Point at a source of the project, not at anything installed or made up."""
        place = None if filename.startswith("<") else self.relative(filename)
        if place is None or "site-packages" in place.split("/"):
            return
        source = linecache.getline(filename, line).strip()[:300]
        facts.update(frame="{}:{}".format(place, function), file=place, line=line, source=source)


def _of_loader(run: Run, test: Any, facts: Dict[str, Any]) -> Dict[str, Any]:
    """Read the error of an import out of the text that the loader made of it."""
    text = _text_of(getattr(test, "_exception", "")) or str(facts.get("message", ""))
    lines = [line for line in text.strip().splitlines() if line.strip()]
    told = _LAST_LINE.match(lines[-1]) if lines else None
    facts = dict(facts, text=_cut(text, _LONGEST_TEXT), frame="", line=None, file="")
    facts["message"] = _cut((told.group(2) if told else "") or text.strip(), _LONGEST_MESSAGE)
    if told:
        facts["exception"] = told.group(1)
    for filename, line, function in _FRAME.findall(text):
        run.point(facts, filename, int(line), function)
    facts["file"] = facts["file"] or run.place(test) or ""
    return facts


def _described(part: Any) -> str:
    """Name a part of a test by its parameters, not by an address."""
    items = dict(getattr(part, "params", None) or {}).items()
    return "({}) ".format(", ".join("{}={!r}".format(*it) for it in items)) if items else ""


def file_of(name: str) -> Optional[str]:
    """Give the source of the longest part of a dotted name that is a module, without importing it."""
    parts = name.split(".")
    while parts:
        for folder in sys.path:
            stem = os.path.join(folder or os.getcwd(), *parts)
            for path in (stem + ".py", os.path.join(stem, "__init__.py")):
                if os.path.isfile(path):
                    return path
        parts.pop()
    return None


def _strings(data: Dict[str, Any], key: str) -> List[str]:
    value = data.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError(key + " is no list of strings")
    return value


def _starts(name: str) -> Iterator[str]:
    """Give every id that would choose this one: itself, its class, its file."""
    yield name
    for index in range(len(name)):
        if name.startswith("::", index):
            yield name[:index]


def _text_of(value: Any) -> str:
    try:
        return str(value)
    except Exception:
        return "<unprintable {}>".format(type(value).__name__)


def _cut(text: str, most: int) -> str:
    half = most // 2
    return text if len(text) <= most else text[:half] + "\n[...]\n" + text[-half:]


# --- suites -----------------------------------------------------------------------------------------------------------


def _parts(suite: Any) -> Optional[List[Any]]:
    """Give what a suite holds; None for a test. Django keeps the parts of a parallel one under another name."""
    found = getattr(suite, "subsuites", None)
    if found is None and isinstance(suite, unittest.BaseTestSuite):
        found = getattr(suite, _TESTS)
    return None if found is None else list(found)


def _cases(suite: Any) -> Iterator[Any]:
    parts = _parts(suite)
    if parts is None:
        yield suite
        return
    for part in parts:
        if part is not None:
            yield from _cases(part)


def _keep(suite: Any, kept: Set[int]) -> None:
    """Leave in a suite, and in those inside it, the tests with these identities."""
    left = [
        p for p in _parts(suite) or () if p is not None and any(id(c) in kept for c in _cases(p))
    ]
    for part in left:
        if _parts(part) is not None:
            _keep(part, kept)
    setattr(suite, "subsuites" if hasattr(suite, "subsuites") else _TESTS, left)


def _tag(suite: Any, path: Optional[str]) -> None:
    """Write on tests, unless that is done, in which file they were found."""
    for case in _cases(suite) if path else ():
        if getattr(case, _TAG, None) is None:
            try:
                setattr(case, _TAG, path)
            except AttributeError:
                continue


# --- the hooks --------------------------------------------------------------------------------------------------------

Method = Callable[..., Any]


def watch_suites(run: Run, kind: Any) -> None:
    """Choose and record in every suite of a class that is run, those inside of others and of tests apart."""
    original: Method = kind.run

    def outermost(suite: Any, result: Any, *args: Any, **kwargs: Any) -> Any:
        if run.depth:
            return original(suite, result, *args, **kwargs)
        run.depth += 1
        try:
            run.choose(suite)
            listen(run, result)
            return original(suite, result, *args, **kwargs)
        finally:
            run.depth -= 1

    kind.run = outermost


def watch_loaders(run: Run) -> None:
    """Keep loaders from importing what was not chosen, and note where tests were found."""
    kind: Any = unittest.TestLoader
    by_module: Method = kind.loadTestsFromModule
    by_name: Method = kind.loadTestsFromName
    matches: Method = getattr(kind, _MATCHES)

    def load_module(loader: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
        suite = by_module(loader, module, *args, **kwargs)
        _tag(suite, getattr(module, "__file__", None))
        return suite

    def load_name(loader: Any, name: str, module: Any = None) -> Any:
        suite = by_name(loader, name, module)
        if any(type(case).__name__ in _STAND_INS for case in _cases(suite)):
            _tag(suite, getattr(module, "__file__", None) or file_of(name))
        return suite

    def match(loader: Any, path: str, full_path: str, pattern: str) -> bool:
        left_out = os.path.isfile(full_path) and run.leaves_out(full_path)
        return not left_out and bool(matches(loader, path, full_path, pattern))

    kind.loadTestsFromModule = load_module
    kind.loadTestsFromName = load_name
    setattr(kind, _MATCHES, match)


def listen(run: Run, result: Any) -> None:
    """Hear what a result is told, whatever class it is of; the result itself goes on as it would."""
    if getattr(result, _HEARD, False):
        return
    setattr(result, _HEARD, True)
    for name, heard in _heard(run, result).items():
        original = getattr(result, name, None)
        if original is not None:
            setattr(result, name, _both(run, original, heard))


def _both(run: Run, original: Method, heard: Method) -> Method:
    def told(*args: Any, **kwargs: Any) -> Any:
        given = original(*args, **kwargs)
        if run.depth:
            try:
                heard(*args, **kwargs)
            except Exception:
                run.write("plugin-error", where="listen", error=traceback.format_exc()[-500:])
        return given

    return told


def _heard(run: Run, result: Any) -> Dict[str, Method]:
    """Say what is recorded of each thing that a result is told."""

    def last_text(kept: str) -> str:
        found: List[Tuple[Any, str]] = getattr(result, kept, None) or []
        return str(found[-1][1]) if found else ""

    def failed(kept: str) -> Method:
        def hear(test: Any, err: Any) -> None:
            run.outcome(test, "failed", run.describe(err, last_text(kept)))

        return hear

    def subtest(_test: Any, part: Any, err: Any) -> None:
        if err is not None:
            run.outcome(
                part, "failed", run.describe(err, "".join(traceback.format_exception(*err)))
            )

    def skipped(test: Any, reason: Any) -> None:
        run.outcome(test, "skipped", {"message": str(reason)})

    def expected(test: Any, err: Any) -> None:
        run.outcome(test, "skipped", dict(run.describe(err, ""), wasxfail=""))

    def unexpected(test: Any) -> None:
        message = "Unexpected success"
        facts = {"exception": "unittest.UnexpectedSuccess", "message": message, "text": message}
        facts["file"] = run.place(test) or ""
        run.outcome(test, "failed", facts)

    return {
        "startTest": run.started,
        "stopTest": run.stopped,
        "addSuccess": lambda test: run.outcome(test, "passed", {}),
        "addError": failed("errors"),
        "addFailure": failed("failures"),
        "addSubTest": subtest,
        "addSkip": skipped,
        "addExpectedFailure": expected,
        "addUnexpectedSuccess": unexpected,
    }


def begin() -> Optional[Run]:
    """Read what was chosen, and put the hooks in place; None where nothing was."""
    path = os.environ.get(_VARIABLE)
    if not path:
        return None
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        run = Run(json.load(file))
    watch_loaders(run)
    watch_suites(run, unittest.TestSuite)
    return run


def _code(error: SystemExit) -> int:
    if error.code is None or isinstance(error.code, int):
        return int(error.code or 0)
    sys.stderr.write("{}\n".format(error.code))
    return 1


def main() -> None:
    """Run the tests, and end as they do."""
    run = begin()
    arguments = sys.argv[1:]
    code = 0
    scripted = arguments[:1] == ["--script"]
    if scripted:
        sys.argv = arguments[1:]
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[1]))  # as Python does for a script
    else:
        sys.argv[0] = os.path.basename(sys.executable) + " -m unittest"
    if run is not None and not scripted:  # a script may call pytest, whose plugin then records
        run.start()
    try:
        if scripted:
            runpy.run_path(arguments[1], run_name="__main__")
        else:
            unittest.main(module=None)
    except SystemExit as error:
        code = _code(error)
    if run is not None and run.begun:
        misused = code == _USAGE and not scripted and not run.ran
        code = run.end(_MISUSED if misused else code)
    sys.exit(code)


if __name__ == "__main__":
    main()
