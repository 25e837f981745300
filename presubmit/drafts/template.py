"""Finds the project's own template in a tree, in the order in which gh looks for one."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from presubmit.errors import UsageError
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_FOLDERS: Final = (".github", "", "docs")
_LINK: Final = "120000"
_FRONT: Final = re.compile(r"\A---[ \t]*\n(?P<front>.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_TITLE: Final = re.compile(r"^title:\s*(?P<title>.*?)\s*$", re.MULTILINE)
# A template of RFCs by its name: RFC-0000-template.md (PyTorch), 0000-template.md (Rust), NNNN-kep-template.
_RFC: Final = re.compile(
    r"(?i)^(?:rfc[-_])?0{3,4}[-_]template\.md$|^nnnn-.*template.*\.md$|^(?:rfc|proposal|enhancement)[-_]template\.md$"
)
_RFC_FOLDERS: Final = frozenset(
    {"", ".github", "rfc", "rfcs", "text", "docs", "docs/rfcs", "proposals", "docs/proposals"}
)


class Template(Value, frozen=True, kw_only=True):
    """A template's text without its front matter, and the title that this names."""

    path: str
    text: str
    title: str = ""


def find_templates(
    modes: Mapping[str, str], kind: str = "PULL_REQUEST_TEMPLATE"
) -> tuple[str, ...]:
    """Give the paths of the project's templates; links are no templates (`modes` are git's)."""
    words = kind.replace("_", "[-_]")
    single, folder = re.compile(rf"(?i)^{words}(\.|$)"), re.compile(rf"(?i)^{words}$")
    files = [path for path, mode in modes.items() if mode != _LINK]
    for place in _FOLDERS:
        several = sorted(
            path
            for path in files
            if path.lower().endswith(".md")
            and folder.match(posixpath.basename(posixpath.dirname(path)))
            and posixpath.dirname(posixpath.dirname(path)) == place
        )
        if several:
            return tuple(several)
    for place in _FOLDERS:
        one = sorted(
            path
            for path in files
            if posixpath.dirname(path) == place and single.match(posixpath.basename(path))
        )
        if one:
            return (one[0],)
    return ()


def find_rfc_templates(modes: Mapping[str, str]) -> tuple[str, ...]:
    """Give the paths of the project's templates of RFCs."""
    return tuple(
        sorted(
            path
            for path, mode in modes.items()
            if mode != _LINK
            and posixpath.dirname(path) in _RFC_FOLDERS
            and _RFC.match(posixpath.basename(path))
        )
    )


def choose_template(
    paths: Iterable[str], name: str, read: Callable[[str], str | None]
) -> Template | None:
    """Read the only template, or the one that is called `name`; None without one. Raises UsageError for several."""
    found = list(paths)
    if name not in {"", "auto"}:
        near = [
            path
            for path in found
            if name in {path, posixpath.basename(path), posixpath.basename(path).partition(".")[0]}
        ]
        found = near or ([name] if read(name) is not None else [])
        if not found:
            known = ", ".join(paths) or "none"
            raise UsageError(
                f"there is no template {name} in the tree", hint=f"its templates: {known}"
            )
    if not found:
        return None
    if len(found) > 1:
        raise UsageError(
            f"the project has {len(found)} templates",
            hint=f"--template, one of: {', '.join(found)}",
        )
    return read_template(found[0], read(found[0]) or "")


def read_template(path: str, text: str) -> Template:
    """Part a template from its front matter."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    front = _FRONT.match(text)
    if front is None:
        return Template(path=path, text=text)
    title = _TITLE.search(front["front"])
    named = title["title"].strip("'\"") if title else ""
    return Template(path=path, text=text[front.end() :].lstrip("\n"), title=named)
