"""What the wheel that head really builds lacks of the package folders, and the base's did not."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from presubmit.convention import is_build_file
from presubmit.review.facts import packages_of
from presubmit.review.values import Remark, Severity, Unchecked
from presubmit.values import FileStatus, counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from presubmit.review.built import Wheels
    from presubmit.review.facts import Facts, Said, Tree

_CODE: Final = (".py", ".pyi")
_SUBMODULE: Final = "160000"
_TESTS: Final = frozenset(["test", "tests", "testing", "conftest.py"])

_SOURCES: Final = (
    *(".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".inl"),
    *(".pyx", ".pxd", ".pxi", ".f", ".f90", ".rs", ".s", ".md", ".rst"),
    *(".build", ".in", ".cmake", "CMakeLists.txt", ".sh"),
)
"""What builds read and packages mostly do not hold."""


def lacking(facts: Facts, wheels: Wheels) -> dict[str, str]:
    """Give the files of head's package folders that its wheel lacks through the change: path -> since when.

    A file that the change brings must be in, where its neighbours are. One that was there before must be in, where
    the base's wheel has it.
    """
    places = installed_paths(facts.head, (*wheels.head, *(wheels.base or ())))
    there, theirs = set(wheels.head), set(wheels.base or ())
    missing = {path: place for path, place in places.items() if not _holds(there, place)}
    fresh = _fresh(facts)
    found = {}
    for path, place in missing.items():
        if path in fresh:
            if _wanted(path, missing, places, fresh):
                found[path] = "it is new"
        elif path in facts.base.blobs and _holds(theirs, place):
            found[path] = "the base's wheel has it"
    return found


def may_differ(facts: Facts) -> bool:
    """Tell whether head's wheel may hold other files than the base's: not where package files were only edited."""
    inside = installed_paths(facts.head, ())
    return any(
        file.status is not FileStatus.MODIFIED
        or file.path not in inside
        or is_build_file(file.path)
        for file in facts.change.files
    )


def asks_base(facts: Facts, head: Iterable[str]) -> bool:
    """Tell whether head's wheel lacks files that the base has, too: only the base's own wheel says if that is news."""
    files = set(head)
    fresh = _fresh(facts)
    places = installed_paths(facts.head, files)
    return any(
        not _holds(files, place) and path not in fresh and path in facts.base.blobs
        for path, place in places.items()
    )


def remarks(facts: Facts, wheels: Wheels, static: Iterable[Remark] = ()) -> Iterator[Said]:
    """Say what the wheel lacks; of a single file in the words of the build files' remark, where there is one."""
    if wheels.why_no_base:
        what = "what the base's wheel has and head's lacks"
        yield Unchecked(rule="packaging", what=what, why=wheels.why_no_base)
    lost = lacking(facts, wheels)
    known = {one.file: one for one in static}
    places = installed_paths(facts.head, (*wheels.head, *(wheels.base or ())))
    for folder, paths in _folders(lost, places).items():
        yield known.get(folder) or _remark(folder, paths, lost)


def installed_paths(tree: Tree, files: Iterable[str]) -> dict[str, str]:
    """Give where the tracked files of every package folder belong in a wheel; `files` are those that wheels have."""
    every = [path for path in tree.blobs if tree.modes.get(path) != _SUBMODULE]
    roots = _roots(every, set(files))
    roots |= {top: folder for top, folder in packages_of(tree).items() if top not in roots}
    found: dict[str, str] = {}
    for top, folder in roots.items():
        prefix = f"{folder}/"
        found |= {p: f"{top}/{p[len(prefix) :]}" for p in every if p.startswith(prefix)}
    return found


def _roots(paths: Iterable[str], files: Collection[str]) -> dict[str, str]:
    """Find the folder that each top-level package of a wheel comes from: the one that most of its modules match."""
    matches: dict[str, dict[str, int]] = {}
    tops = {one.partition("/")[0] for one in files if "/" in one and one.endswith(_CODE)}
    for path in paths:
        parts = path.split("/")
        for number, part in enumerate(parts[:-1]):
            if part in tops and "/".join(parts[number:]) in files:
                folder = "/".join(parts[: number + 1])
                counts = matches.setdefault(part, {})
                counts[folder] = counts.get(folder, 0) + 1
    return {top: max(counts, key=lambda it: counts[it]) for top, counts in matches.items()}


def _holds(files: Collection[str], place: str) -> bool:
    """Tell whether a wheel has a file, or the extension module that a Python file was compiled to."""
    if place in files:
        return True
    stem, suffix = posixpath.splitext(place)
    return suffix == ".py" and any(one.startswith(f"{stem}.") and ".so" in one for one in files)


def _fresh(facts: Facts) -> set[str]:
    """Give the paths that the base does not have."""
    new = {FileStatus.ADDED, FileStatus.RENAMED}
    return {file.path for file in facts.change.files if file.status in new}


def _wanted(
    path: str, missing: Collection[str], places: Mapping[str, str], fresh: Collection[str]
) -> bool:
    """Tell whether a new file belongs in the wheel, as its kind does: its neighbours', else that of the package."""
    suffix = posixpath.splitext(path)[1]
    old = [p for p in places if p not in fresh and posixpath.splitext(p)[1] == suffix]
    old = [p for p in old if _is_test(p) is _is_test(path)]
    beside = [p for p in old if posixpath.dirname(p) == posixpath.dirname(path)]
    if beside:
        return any(p not in missing for p in beside)
    if old and (suffix not in _CODE or _is_test(path)):
        return any(p not in missing for p in old)
    return not _is_test(path) and suffix != "" and not path.endswith(_SOURCES)


def _is_test(path: str) -> bool:
    return not _TESTS.isdisjoint(path.split("/"))


def _folders(left: Mapping[str, str], places: Mapping[str, str]) -> dict[str, list[str]]:
    """Put the files together whose whole folder is lacking, by the topmost such folder; others stand alone."""
    found: dict[str, list[str]] = {}
    for path in sorted(left):
        folder, top = posixpath.dirname(path), ""
        while folder:
            code = [p for p in places if _inside(p, folder) and p.endswith(_CODE)]
            if any(p not in left for p in code):
                break
            # One module is named better than its folder.
            top = folder if len(code) > 1 else top
            folder = posixpath.dirname(folder)
        found.setdefault(top or path, []).append(path)
    return found


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _remark(folder: str, paths: list[str], lost: Mapping[str, str]) -> Remark:
    first = paths[0]
    new = all(lost[path] == "it is new" for path in paths)
    since = "the change adds it" if new else "the base's wheel has it"
    what = folder if folder == first else f"{folder} ({counted(len(paths), 'file')})"
    return Remark(
        code="packaging.wheel-lacks",
        severity=Severity.WARNING,
        text=f"the wheel that was built lacks {what}; {since}",
        why="whoever installs the package does not get it, and an editable install does not show that",
        mend="name it where the build lists what it installs: packages, package data, MANIFEST.in, meson.build",
        file=first,
        line=1,
        subject=folder,
    )
