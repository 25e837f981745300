"""Reads out of a project's own files what it asks of a pull request: changelog entries, sign-offs, where RFCs go."""

from __future__ import annotations

import posixpath
import re
import tomllib
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_FOLDERS: Final = (
    ("Misc/NEWS.d/next/", "Misc/NEWS.d/next/*/*"),
    ("releasenotes/notes/", "releasenotes/notes/*"),
    ("changelog.d/", "changelog.d/*"),
    ("newsfragments/", "newsfragments/*"),
    ("changes.d/", "changes.d/*"),
)
_CHANGELOG: Final = re.compile(
    r"(?i)^(?:changelog|changes|history|news|release[-_ ]?notes)(?:\.(?:md|rst|txt))?$"
)
_SIGN_OFF: Final = re.compile(
    r"(?i)signed-off-by|\bDCO\b|developer certificate of origin|git commit -s\b"
)
_PROPOSAL: Final = re.compile(r"(?i)\b(rfcs?|proposals?|enhancements?|ideas?|feature|design)\b")

Read: TypeAlias = "Callable[[str], str | None]"


def find_fragments(paths: Iterable[str], read: Read) -> tuple[str, ...]:
    """Give the patterns of what a changelog entry is here; empty where the project has none."""
    known = sorted(paths)
    named = _towncrier(read)
    if named:
        return (f"{named.strip('/')}/*",)
    found = [glob for folder, glob in _FOLDERS if any(path.startswith(folder) for path in known)]
    if found:
        return tuple(found)
    top = [path for path in known if "/" not in path or posixpath.dirname(path) == "docs"]
    return tuple(path for path in top if _CHANGELOG.match(posixpath.basename(path)))[:1]


def _towncrier(read: Read) -> str:
    for name in ("towncrier.toml", "pyproject.toml"):
        table = _table(_toml(read(name)), "tool", "towncrier")
        if isinstance(table.get("directory"), str):
            return str(table["directory"])
    return ""


def _toml(text: str | None) -> dict[str, Any]:
    try:
        return tomllib.loads(text or "")
    except tomllib.TOMLDecodeError:
        return {}


def _table(value: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        inner = value.get(name)
        value = inner if isinstance(inner, dict) else {}
    return value


def required_names(text: str | None) -> frozenset[str]:
    """Give the names of the required dependencies of a pyproject.toml."""
    listed = _table(_toml(text), "project").get("dependencies")
    names = (
        [re.match(r"\s*([A-Za-z0-9][\w.-]*)", str(it)) for it in listed]
        if isinstance(listed, list)
        else []
    )
    return frozenset(re.sub(r"[-_.]+", "-", it.group(1)).lower() for it in names if it)


def asks_sign_off(paths: Iterable[str], read: Read) -> bool:
    """Tell whether the project's files ask for signed-off commits."""
    known = list(paths)
    if ".github/dco.yml" in known:
        return True
    places = [
        it
        for it in known
        if posixpath.basename(it).upper().startswith("CONTRIBUTING.") and it.count("/") <= 1
    ]
    workflows = [it for it in known if it.startswith(".github/workflows/")]
    return any(_SIGN_OFF.search(read(path) or "") for path in (*places, *workflows))


def rfc_places(paths: Iterable[str], read: Read) -> tuple[str, ...]:
    """Say where the project takes proposals: its contact links, categories of discussions, forms of issues."""
    return tuple(dict.fromkeys(_places(sorted(paths), read)))[:3]


def _places(paths: Iterable[str], read: Read) -> Iterator[str]:
    known = list(paths)
    for path in known:
        folder, name = posixpath.split(path)
        if folder == ".github/ISSUE_TEMPLATE" and name in {"config.yml", "config.yaml"}:
            yield from _links(read(path))
    for path in known:
        folder, name = posixpath.split(path)
        stem = name.rpartition(".")[0]
        if folder == ".github/DISCUSSION_TEMPLATE" and _PROPOSAL.search(stem.replace("-", " ")):
            yield f"a discussion in the category {stem}"
    for path in known:
        folder, name = posixpath.split(path)
        words = name.rpartition(".")[0].replace("-", " ").replace("_", " ")
        if folder == ".github/ISSUE_TEMPLATE" and _PROPOSAL.search(words):
            yield f"an issue on the form {name}"


def _links(text: str | None) -> Iterator[str]:
    try:
        document = yaml.safe_load(text or "")
    except yaml.YAMLError:
        return
    links = document.get("contact_links") if isinstance(document, dict) else None
    for link in links if isinstance(links, list) else []:
        if isinstance(link, dict) and _PROPOSAL.search(f"{link.get('name')} {link.get('about')}"):
            yield f"{link.get('name')}: {link.get('url')}"
