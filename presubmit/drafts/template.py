"""Finds the project's own template in a tree, in the order in which gh looks for one."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

import yaml

from presubmit.errors import UsageError
from presubmit.report.escape import one_line
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
# Forms of discussions and issues, where a project takes its RFCs there.
_RFC_FORM: Final = re.compile(r"(?i)^(?:.*[-_])?(?:rfc|proposal)s?(?:[-_].*)?\.(?:md|ya?ml)$")
_FORM_FOLDERS: Final = (".github/DISCUSSION_TEMPLATE", ".github/ISSUE_TEMPLATE")
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
    """Give the paths of the project's templates of RFCs; where it has none, of its forms for them."""
    files = {path: posixpath.split(path) for path, mode in modes.items() if mode != _LINK}
    own = sorted(
        path
        for path, (folder, name) in files.items()
        if folder in _RFC_FOLDERS and _RFC.match(name)
    )
    for place in () if own else _FORM_FOLDERS:
        own = own or sorted(
            path
            for path, (folder, name) in files.items()
            if folder == place and _RFC_FORM.match(name)
        )
    return tuple(own)


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
    if path.endswith((".yml", ".yaml")):
        return _read_form(path, text)
    front = _FRONT.match(text)
    if front is None:
        return Template(path=path, text=text)
    title = _TITLE.search(front["front"])
    named = title["title"].strip("'\"") if title else ""
    return Template(path=path, text=text[front.end() :].lstrip("\n"), title=named)


def _read_form(path: str, text: str) -> Template:
    """Write what a form asks for (a discussion's or an issue's) as headings, with its hints as comments."""
    try:
        form = yaml.safe_load(text)
    except yaml.YAMLError:
        form = None
    asked = form if isinstance(form, dict) else {}
    parts = asked.get("body")
    lines: list[str] = []
    for part in parts if isinstance(parts, list) else []:
        attributes = part.get("attributes") if isinstance(part, dict) else None
        if isinstance(attributes, dict) and attributes.get("label"):
            lines += [f"## {one_line(str(attributes['label']))}", ""]
            if attributes.get("description"):
                hint = " ".join(str(attributes["description"]).split()).replace("-->", "--&gt;")
                lines += [f"<!-- {hint} -->", ""]
            options = attributes.get("options") if part.get("type") == "checkboxes" else None
            for option in options if isinstance(options, list) else []:
                label = option.get("label") if isinstance(option, dict) else option
                lines.append(f"- [ ] {one_line(str(label))}")
    title = str(asked.get("title") or "")
    return Template(path=path, text="\n".join(["# Title", "", *lines]) + "\n", title=title)
