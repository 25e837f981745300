"""JUnit XML files: read whatever a test runner left behind, and write one that every reader accepts."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from junitparser import (
    Error,
    Failure,
    JUnitXml,
    JUnitXmlError,
    Skipped,
    TestCase,
    TestSuite,
)

from presubmit.results.files import cut, read_bounded
from presubmit.values import Case, CaseOutcome, Counts, Value, counts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

MOST_BYTES: Final = 64 * 1024 * 1024
_LONGEST_TEXT: Final = 20_000
_LONGEST_MESSAGE: Final = 2_000

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REFERENCE = re.compile(r"&#(?:[xX]([0-9a-fA-F]{1,8})|([0-9]{1,8}));")
_DECLARATION = re.compile(r"\s*<\?xml\b[^>]*\?>", re.DOTALL)
_PROLOG = re.compile(r"(?:\s+|<!--.*?-->|<\?.*?\?>)*", re.DOTALL)
_PHASES: Final = (
    ("collection failure", "collect"),
    ("failed on setup", "setup"),
    ("failed on teardown", "teardown"),
)


class JUnitReport(Value, frozen=True):
    """One JUnit file: `readable` is False for a file that says nothing."""

    path: str = ""
    readable: bool = False
    missing: bool = False
    cases: tuple[Case, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def counts(self) -> Counts:
        """How many tests ended how."""
        return counts_of(self.cases)


def read_junit(path: Path, *, max_bytes: int = MOST_BYTES) -> JUnitReport:
    """Read a JUnit file; whatever is wrong with it becomes a problem, never an exception."""
    data, fault = read_bounded(path, max_bytes)
    if fault:
        return _broken(path, fault, missing=fault == "missing")
    if not data.strip():
        return _broken(path, "empty")
    text = _decoded(data)
    if _has_doctype(text):
        return _broken(path, "has a DOCTYPE, which is not read")
    try:
        document = JUnitXml.fromstring(clean(text).encode("utf-8", "backslashreplace"))
        found = [_case(suite, case) for suite, case in _all_cases(document)]
    except SyntaxError as error:  # both XML libraries' parse errors are one
        return _broken(path, f"no readable XML: {error}")
    except (JUnitXmlError, ValueError, TypeError, AttributeError, RecursionError) as error:
        return _broken(path, f"no JUnit file: {error}")
    cases, problems = _grouped(found)
    return JUnitReport(path=str(path), readable=True, cases=cases, problems=problems)


def _broken(path: Path, fault: str, *, missing: bool = False) -> JUnitReport:
    return JUnitReport(path=str(path), missing=missing, problems=(f"JUnit file: {fault}",))


def _decoded(data: bytes) -> str:
    """Decode a file without its XML declaration: what it says of the encoding must not matter."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", "replace")
    else:
        text = data.decode("utf-8-sig", "backslashreplace")
    return _DECLARATION.sub("", text, count=1) if _DECLARATION.match(text) else text


def _has_doctype(text: str) -> bool:
    """Tell whether a document type, the only place for entities, stands before the root."""
    prolog = _PROLOG.match(text)
    return text.startswith("<!", prolog.end() if prolog else 0)


def clean(text: str) -> str:
    r"""Write what XML cannot hold as `\xNN`, be it a character or a reference to one."""
    return _NOT_XML.sub(_escaped, _REFERENCE.sub(_checked_reference, text))


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"  # noqa: PLR2004 - one byte


def _checked_reference(match: re.Match[str]) -> str:
    code = int(match[1], 16) if match[1] else int(match[2])
    try:
        character = chr(code)
    except (ValueError, OverflowError):
        return "\ufffd"
    return (
        _escaped(re.match("(?s).", character) or match) if _NOT_XML.match(character) else match[0]
    )


def _all_cases(document: JUnitXml) -> Iterator[tuple[str, TestCase]]:
    for number, suite in enumerate(document):
        for case in suite:  # nested suites are walked by junitparser
            yield f"{number}:{suite.name}", case


def _case(suite: str, case: TestCase) -> tuple[str, Case]:
    """Read one testcase element; gives the key of the test it belongs to as well."""
    outcome, message, text, kind = CaseOutcome.PASSED, "", "", ""
    results = list(case.result)
    for result in results:
        found = _outcome_of(result)
        if _WEIGHT[found] >= _WEIGHT[outcome]:
            outcome, message = found, str(result.message or "")
            text, kind = str(result.text or ""), str(result.type or "")
    classname, name = str(case.classname or ""), str(case.name or "")
    phase = next((phase for start, phase in _PHASES if message.startswith(start)), "")
    if not phase and outcome in {CaseOutcome.FAILED, CaseOutcome.ERROR}:
        phase = "call"
    value = Case(
        id=f"{classname}::{name}" if classname else name,
        outcome=outcome,
        seconds=_seconds(case),
        phase=phase,
        exception="" if kind.startswith("pytest.") else kind,
        file=str(case._elem.get("file") or ""),  # noqa: SLF001 - junitparser has no name for it
        line=_line(case._elem.get("line")),  # noqa: SLF001 - as above
        message=cut(message, _LONGEST_MESSAGE),
        text=cut(text, _LONGEST_TEXT),
    )
    return f"{suite}:{value.id}", value


_WEIGHT: Final = {
    CaseOutcome.PASSED: 0,
    CaseOutcome.SKIPPED: 1,
    CaseOutcome.XFAILED: 1,
    CaseOutcome.ERROR: 2,
    CaseOutcome.FAILED: 3,
}


def _outcome_of(result: object) -> CaseOutcome:
    match result:
        case Failure():
            return CaseOutcome.FAILED
        case Error():
            return CaseOutcome.ERROR
        case Skipped():
            xfail = result.type == "pytest.xfail"
            return CaseOutcome.XFAILED if xfail else CaseOutcome.SKIPPED
        case _:
            return CaseOutcome.PASSED


def _seconds(case: TestCase) -> float:
    try:
        value = float(case.time or 0.0)
    except (ValueError, TypeError):
        return 0.0
    return value if math.isfinite(value) and value >= 0 else 0.0


def _line(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch("[0-9]{1,9}", text) else None


def _grouped(found: Iterable[tuple[str, Case]]) -> tuple[tuple[Case, ...], tuple[str, ...]]:
    """Make one case of a test's records: a retried attempt looks passed, a teardown error comes second."""
    cases: dict[str, Case] = {}
    repeated: set[str] = set()
    for key, case in found:
        known = cases.get(key)
        if known is None:
            cases[key] = case
            continue
        repeated.add(case.id)
        if _WEIGHT[case.outcome] >= _WEIGHT[known.outcome]:
            cases[key] = case
    many = f"{len(repeated)} tests have several records (retried, or an error after the call)"
    return tuple(cases.values()), (many,) if repeated else ()


# --- writing --------------------------------------------------------------------------------------------------------


def write_junit(path: Path, suites: Sequence[tuple[str, Sequence[Case]]]) -> None:
    """Write one JUnit file with a suite for each step."""
    document = JUnitXml()
    for name, cases in suites:
        suite = TestSuite(clean(name))
        suite.add_testcases([_element(case) for case in cases])
        document.add_testsuite(suite)
    document.update_statistics()  # type: ignore[no-untyped-call]
    path.parent.mkdir(parents=True, exist_ok=True)
    document.write(str(path))


def _element(case: Case) -> TestCase:
    place, name = _split(case.id)
    element = TestCase(clean(name), clean(place), case.seconds)
    if case.file:
        element._elem.set("file", clean(case.file))  # noqa: SLF001 - junitparser has no name for it
    if case.outcome is not CaseOutcome.PASSED:
        kind, name = _RESULTS[case.outcome]
        result = kind(clean(case.message), name or clean(case.exception))
        result.text = clean(case.text)
        element.result = [result]
    return element


_RESULTS: Final[dict[CaseOutcome, tuple[type[Failure | Error | Skipped], str]]] = {
    CaseOutcome.FAILED: (Failure, ""),
    CaseOutcome.ERROR: (Error, ""),
    CaseOutcome.SKIPPED: (Skipped, "pytest.skip"),
    CaseOutcome.XFAILED: (Skipped, "pytest.xfail"),
}


def _split(name: str) -> tuple[str, str]:
    """Split a node id into JUnit's classname and name."""
    head, bracket, parameters = name.partition("[")
    place, _, last = head.rpartition("::")
    dotted = re.sub(r"\.py(?=::|$)", "", place).replace("/", ".").replace("::", ".")
    return dotted, last + bracket + parameters
