"""What no tool looks at in the files of a change: markers, size, line ends, submodules, tests that nobody collects."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from presubmit.change.definitions import read_definitions
from presubmit.change.diff import GITLINK
from presubmit.review import customs, loose
from presubmit.review.facts import added_lines, before, in_head
from presubmit.review.values import Remark, Severity
from presubmit.selector.layout import CONFIG_NAMES, in_test_folder, is_test, make_settings
from presubmit.values import FileStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from presubmit.review.facts import Facts, Said
    from presubmit.values import ChangedFile

LARGE: Final = 500_000
_BUILT: Final = (
    ".so",
    ".o",
    ".a",
    ".pyc",
    ".pyd",
    ".dll",
    ".dylib",
    ".exe",
    ".whl",
    ".class",
    ".obj",
)
_WINDOWS: Final = (".bat", ".cmd", ".ps1", ".sln", ".vcxproj")
_SNIFFED: Final = 8000


def remarks(facts: Facts) -> Iterable[Said]:
    """Look at every file that the change adds or edits."""
    settings, _ = make_settings(
        {name: text for name in CONFIG_NAMES if (text := facts.head.text(name)) is not None}
    )
    attributes = facts.head.text(".gitattributes") or ""
    for file in in_head(facts.change):
        if facts.head.modes.get(file.path) == GITLINK:
            yield from _submodule(facts, file)
            continue
        data = facts.head.data(file.path)
        if data is None:
            continue
        old = facts.base.data(before(file))
        yield from _size(file, data, old)
        if b"\0" in data[:_SNIFFED]:
            continue
        yield from _markers(file.path, old or b"", data)
        if "eol=crlf" not in attributes and not file.path.endswith(_WINDOWS):
            yield from _line_ends(file.path, old, data)
        is_new = file.status is not FileStatus.MODIFIED
        if is_new and in_test_folder(file.path) and not is_test(file.path, settings):
            yield from _uncollected(file.path, data)
    yield from loose.remarks(facts)
    yield from customs.remarks(facts)


def _submodule(facts: Facts, file: ChangedFile) -> Iterator[Remark]:
    old, new = facts.base.blobs.get(before(file)), facts.head.blobs[file.path]
    if old is None or old == new:
        return
    yield Remark(
        code="files.submodule-moved",
        severity=Severity.WARNING,
        text=f"the submodule {file.path} moves from {old[:7]} to {new[:7]}",
        why="a checkout that was not updated before `git add -A` moves it back, unseen",
        mend=f"if that is not meant: `git submodule update {file.path}`, and add it again",
        file=file.path,
        subject=file.path,
    )


def _size(file: ChangedFile, data: bytes, old: bytes | None) -> Iterator[Remark]:
    if file.status is FileStatus.RENAMED:
        return
    if old is None and file.path.endswith(_BUILT):
        yield Remark(
            code="files.built",
            severity=Severity.WARNING,
            text=f"{file.path} is what a build makes",
            why="it is stale as soon as its source changes",
            mend="take it out, and let git ignore it",
            file=file.path,
            subject=file.path,
        )
    elif len(data) > LARGE and (old is None or len(old) <= LARGE):
        yield Remark(
            code="files.large",
            severity=Severity.WARNING,
            text=f"{file.path} has {len(data) / 1e6:.1f} MB",
            why="it stays in everybody's clone for ever",
            mend="make it smaller, or keep it elsewhere (git-lfs, a download)",
            file=file.path,
            subject=file.path,
        )


def _markers(path: str, old: bytes, data: bytes) -> Iterator[Remark]:
    """Both ends of a conflict must be new: a text on merging may show one."""
    if b"<<<<<<< " not in data or b">>>>>>> " not in data:
        return
    added = [*added_lines(old.decode("utf-8", "replace"), data.decode("utf-8", "replace"))]
    first = next((number for number, line in added if line.startswith("<<<<<<< ")), None)
    last = next((number for number, line in added if line.startswith(">>>>>>> ")), None)
    if first is None or last is None or last < first:
        return
    yield Remark(
        code="files.merge-marker",
        severity=Severity.WARNING if in_test_folder(path) else Severity.ERROR,
        text=f"{path} holds a merge conflict",
        why="the merge was not finished",
        mend="settle it and take the markers out",
        file=path,
        line=first,
        subject=path,
    )


def _line_ends(path: str, old: bytes | None, data: bytes) -> Iterator[Remark]:
    if b"\r\n" not in data or (old is not None and b"\r\n" in old):
        return
    if data.count(b"\r\n") * 2 < data.count(b"\n"):
        return  # a file that holds some on purpose
    what = "is new with" if old is None else "changes to"
    yield Remark(
        code="files.crlf",
        severity=Severity.WARNING,
        text=f"{path} {what} Windows line ends",
        why="every line of it differs, and a script with them does not start on Linux",
        mend=f"`dos2unix {path}`; `core.autocrlf=input` keeps it so",
        file=path,
        line=1,
        subject=path,
    )


def _uncollected(path: str, data: bytes) -> Iterator[Remark]:
    name = posixpath.basename(path)
    if (
        not name.endswith(".py")
        or name in {"conftest.py", "__init__.py"}
        or re.search(r"(?:^|_)(?:util|helper|common|base|mixin)", name)
    ):
        return
    tests = [
        d
        for d in read_definitions(path, data)
        if re.fullmatch(r"test_\w+|Test\w+\.test_\w+", d.qualname)
    ]
    if tests:
        yield Remark(
            code="files.uncollected-test",
            severity=Severity.WARNING,
            text=f"no runner collects {path}, which defines {tests[0].qualname}",
            why="a test that never runs is never red",
            mend="rename it to what the project collects (`test_*.py`)",
            file=path,
            line=tests[0].first_line,
            subject=path,
        )
