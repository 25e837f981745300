"""What a project asks of every change by its own files: a changelog fragment, a sign-off, an owner's eye."""

from __future__ import annotations

import posixpath
import re
import tomllib
from typing import TYPE_CHECKING, Final

from presubmit.review.facts import in_head, packages_of, table
from presubmit.review.values import Remark, Severity, Unchecked
from presubmit.selector.layout import matches_glob
from presubmit.values import FileStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from presubmit.review.facts import Facts, Said, Tree

_FOLDERS: Final = {
    "newsfragments": "towncrier",
    "changelog.d": "scriv",
    "Misc/NEWS.d/next": "blurb",
    "releasenotes/notes": "reno",
}
_OWNERS: Final = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")


def remarks(facts: Facts) -> Iterator[Said]:
    """Say what the project's own rules ask for and the change lacks."""
    yield from _fragment(facts)
    yield from _sign_off(facts)
    yield from _owners(facts)


def _fragment(facts: Facts) -> Iterator[Said]:
    try:
        folder, tool = _fragments(facts.base)
    except tomllib.TOMLDecodeError as error:
        yield Unchecked(rule="files", what="changelog fragments", why=f"pyproject.toml: {error}")
        return
    packages = tuple(f"{path}/" for path in packages_of(facts.head).values())
    code = [
        f.path for f in facts.change.files if f.path.startswith(packages) and "/test" not in f.path
    ]
    written = any(
        f.path.startswith(f"{folder}/") and f.status is not FileStatus.DELETED
        for f in facts.change.files
    )
    if folder and code and not written:
        yield Remark(
            code="files.no-fragment",
            severity=Severity.NOTE,
            text=f"the change has no fragment in {folder}/, as the project's changes have ({tool})",
            why="the changelog is made of them",
            mend=f"add one, or say that users see nothing of the change ({code[0]})",
            file=code[0],
            subject=folder,
        )


def _fragments(tree: Tree) -> tuple[str, str]:
    """Give the folder of changelog fragments, and whose they are."""
    tools = table(tomllib.loads(tree.text("pyproject.toml") or ""), "tool")
    named = table(tools, "towncrier")
    named = named or table(tomllib.loads(tree.text("towncrier.toml") or ""), "tool", "towncrier")
    if named:
        folder = str(named.get("directory", "") or "newsfragments").strip("/")
        return folder, "towncrier"
    if table(tools, "scriv"):
        folder = str(table(tools, "scriv").get("fragment_directory", "changelog.d"))
        return folder.strip("/"), "scriv"
    for folder, tool in _FOLDERS.items():
        if any(path.startswith(f"{folder}/") for path in tree.blobs):
            return folder, tool
    return "", ""


def _sign_off(facts: Facts) -> Iterator[Remark]:
    asking = next((path for path in sorted(facts.base.blobs) if _asks(facts.base, path)), None)
    if asking is None:
        return
    for commit in facts.commits:
        signed = re.findall(r"(?im)^signed-off-by:.*<([^>]*)>", commit.message)
        if commit.email.lower() in {one.lower() for one in signed}:
            continue
        title = commit.message.partition("\n")[0][:60]
        yield Remark(
            code="files.no-sign-off",
            severity=Severity.WARNING,
            text=f"commit {commit.name[:9]} ({title}) has no Signed-off-by of its author",
            why=f"upstream asks for it: {asking}",
            mend="`git commit --amend --signoff`, or `git rebase --signoff` for several",
            subject=commit.name,
        )


def _asks(tree: Tree, path: str) -> bool:
    if path == ".github/dco.yml":
        return True
    if not re.fullmatch(r"\.github/workflows/[^/]+\.ya?ml", path):
        return False
    return bool(re.search(r"(?i)uses:.*\bdco\b|dco-check|signed-off-by", tree.text(path) or ""))


def _owners(facts: Facts) -> Iterator[Remark]:
    path = next((one for one in _OWNERS if one in facts.base.blobs), None)
    if path is None:
        return
    rules = [
        line.partition(" #")[0].split() for line in (facts.base.text(path) or "").splitlines()
    ]
    rules = [words for words in rules if words and not words[0].startswith(("#", "[", "^"))]
    owned: dict[str, int] = {}
    for file in in_head(facts.change):
        last = next((words[1:] for words in reversed(rules) if _owns(words[0], file.path)), [])
        for owner in last:
            owned[owner] = owned.get(owner, 0) + 1
    if owned:
        names = ", ".join(f"{owner} ({count})" for owner, count in sorted(owned.items())[:8])
        yield Remark(
            code="files.owners",
            severity=Severity.NOTE,
            text=f"what changes belongs to {names}",
            why=f"upstream asks them for a review: {path}",
            file=path,
            subject="owners",
        )


def _owns(pattern: str, path: str) -> bool:
    """Match as CODEOWNERS does: like .gitignore, without its `!` and ranges."""
    anchored = "/" in pattern.rstrip("/")
    stem = pattern.strip("/")
    tries = [stem] if anchored else [stem, f"**/{stem}"]
    if stem == "*":
        return True
    below = posixpath.basename(stem) != "*"
    return any(
        (not pattern.endswith("/") and matches_glob(path, one))
        or (below and matches_glob(path, f"{one}/**"))
        for one in tries
    )
