"""Lock files that were not renewed when their input changed."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from presubmit.review.facts import brought, table
from presubmit.review.requirement_files import is_requirement_file, read_source
from presubmit.review.values import Remark, Severity, Unchecked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from presubmit.review.facts import Facts, Said, Tree


def remarks(facts: Facts) -> Iterator[Said]:
    """Say which requirement of head its lock file does not hold, where the base's held its own."""
    changed = {path for file in facts.change.files for path in file.paths}
    for path in sorted(facts.head.blobs):
        folder, slash, name = path.rpartition("/")
        if name == "uv.lock":
            inputs = f"{folder}{slash}pyproject.toml"
            if changed & {path, inputs}:
                yield from _of_uv(facts, path, inputs)
        elif is_requirement_file(path) and name.endswith(".in"):
            locked = f"{path.removesuffix('.in')}.txt"
            if locked in facts.head.blobs and changed & {path, locked}:
                yield from brought(
                    _of_compiled(facts.base, path, locked), _of_compiled(facts.head, path, locked)
                )


def _of_uv(facts: Facts, path: str, inputs: str) -> Iterator[Said]:
    try:
        yield from brought(
            _unlocked(facts.base, path, inputs), _unlocked(facts.head, path, inputs)
        )
    except tomllib.TOMLDecodeError as error:
        yield Unchecked(rule="pins", what=path, why=f"it is no TOML: {error}")


def _unlocked(tree: Tree, path: str, inputs: str) -> list[Remark]:
    lock = tomllib.loads(tree.text(path) or "")
    project = tomllib.loads(tree.text(inputs) or "")
    own = table(project, "project").get("name")
    packages: list[dict[str, Any]] = lock.get("package", [])
    entry = next(
        (p for p in packages if own and p.get("name") == canonicalize_name(str(own))), None
    )
    if entry is None:
        return []
    named = {
        (str(one.get("name")), _specifier(str(one.get("specifier", ""))))
        for one in table(entry, "metadata").get("requires-dist", [])
    }
    return [
        _remark(path, text)
        for text in table(project, "project").get("dependencies", [])
        if (key := _key(str(text))) is not None and key not in named
    ]


def _key(text: str) -> tuple[str, str] | None:
    try:
        read = Requirement(text)
    except InvalidRequirement:
        return None
    return None if read.url else (canonicalize_name(read.name), _specifier(str(read.specifier)))


def _specifier(text: str) -> str:
    return ",".join(sorted(part.strip() for part in text.split(",") if part.strip()))


def _of_compiled(tree: Tree, path: str, locked: str) -> list[Remark]:
    """Compare an `.in` file with the `.txt` that was compiled from it."""
    source = read_source(path, tree.text(path) or "")
    result = read_source(locked, tree.text(locked) or "")
    if not result.pins or not all(pin.version for pin in result.pins):
        return []  # it is no lock file
    found = []
    for pin in source.pins:
        held = result.pin(pin.name)
        wanted = Requirement(pin.text)
        if wanted.marker is not None and held is None:
            continue
        if held is None or not wanted.specifier.contains(held.version, prereleases=True):
            found.append(_remark(locked, pin.text))
    return found


def _remark(path: str, requirement: str) -> Remark:
    return Remark(
        code="pins.stale-lock",
        severity=Severity.WARNING,
        text=f"the lock file does not hold `{requirement}`",
        why="what is locked is not what is asked for",
        mend="lock again (`uv lock`, `pip-compile`) and add the file",
        file=path,
        line=1,
        subject=requirement,
    )
