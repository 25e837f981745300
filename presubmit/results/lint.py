"""What linters print, as findings whose subject stays the same when lines move."""

from __future__ import annotations

import itertools
import json
import posixpath
import re
from typing import TYPE_CHECKING, Any, Final

from presubmit.values import Finding, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST: Final = 1_000
_MOST: Final = 5_000
_MOST_STARTS: Final = 50

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_LINE = re.compile(
    r"(?P<path>[^\s:][^:\n]*?):(?P<line>\d+)(?::(?P<column>\d+))?:?\s+(?P<rest>\S.*)"
)
_LEVEL = re.compile(
    r"(?:fatal error|error|warning|note|info|refactor|convention)(?::\s*|\s+)", re.IGNORECASE
)
_CODE_FIRST = re.compile(r"\[?(?P<code>[A-Z]{1,5}[0-9]{1,5})\]?:?\s+(?P<message>.+)")
_CODE_LAST = re.compile(r"(?P<message>.+?)\s+[\[(](?P<code>[a-z][\w.,-]*|[A-Z]+[0-9]+)[\])]")
_FULL_HEAD = re.compile(
    r"(?P<code>[A-Z]{1,5}[0-9]{2,5}|[a-z]+(?:-[a-z]+)+|invalid-syntax)[: ]\s*(?P<message>\S.*)"
)
_FULL_ARROW = re.compile(r"\s*-->\s(?P<path>.+?):(?P<line>\d+):\d+\s*")
_MOVING = re.compile(r"\b(lines?) \d+(?:\s*[-,]\s*\d+)*", re.IGNORECASE)
_FIX_MARK = re.compile(r"^\[[*-]\]\s+")

_HOOK = re.compile(r"(?P<name>.*?)\.{3,}(?:\([^)]*\))?(?P<state>Passed|Failed|Skipped)")
_HOOK_ID = re.compile(r"- hook id: (?P<id>.+)")
_DETAIL = re.compile(r"- (?:exit code: -?\d+|duration: .*|hook id: .*)")
_MODIFIED: Final = "- files were modified by this hook"
_BROKEN = re.compile(
    r"^(?:An (?:unexpected )?error has occurred:|\[ERROR\]|Executable `[^`]*` not found"
    r"|=+> InvalidConfigError|Check the log at )",
    re.MULTILINE,
)


class PreCommitReport(Value, frozen=True):
    """What a run of pre-commit printed."""

    passed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    """Ids of the hooks that failed."""
    skipped: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    """Ids of the hooks that changed files."""
    findings: tuple[Finding, ...] = ()
    broken: bool = False
    """pre-commit or a hook could not do its work: not installed, not found, no valid configuration."""
    problem: str = ""


def parse_lines(
    text: str, tool: str, *, kind: str = "lint", root: str = ""
) -> tuple[Finding, ...]:
    """Read `path:line:column: CODE message` lines, and ruff's long form."""
    found: dict[tuple[str, int | None], Finding] = {}
    for finding in _findings(_COLOUR.sub("", text), tool, kind=kind, root=root):
        found.setdefault((finding.subject, finding.line), finding)
        if len(found) >= _MOST:
            break
    return tuple(found.values())


def _findings(text: str, tool: str, *, kind: str, root: str) -> Iterator[Finding]:
    head: re.Match[str] | None = None
    for line in text.splitlines():
        if (arrow := _FULL_ARROW.fullmatch(line)) is not None:
            if head is not None:
                where = (_relative(arrow["path"], root), int(arrow["line"]))
                yield _finding(where, head["code"], head["message"], tool=tool, kind=kind)
            head = None
            continue
        match = _LINE.fullmatch(line.strip())
        if match is not None and _is_path(match["path"]):
            code, message, level = _parts(match["rest"])
            if level not in {"note", "info"}:
                where = (_relative(match["path"], root), int(match["line"]))
                yield _finding(where, code, message, tool=tool, kind=kind)
        head = _FULL_HEAD.fullmatch(line) or head


def _is_path(text: str) -> bool:
    """Tell a path from prose: it has a suffix or a folder, and no odd characters."""
    name = posixpath.basename(text)
    looks = "." in name or "/" in text or name in {"Makefile", "Dockerfile"}
    return looks and not text.startswith(("-", "<", "#", "http")) and "  " not in text


def _parts(rest: str) -> tuple[str, str, str]:
    """Split what follows the place into code, message and level."""
    level = ""
    if (match := _LEVEL.match(rest)) is not None:
        level, rest = match[0].strip(": \t").lower(), rest[match.end() :]
    if (match := _CODE_FIRST.fullmatch(rest)) is not None:
        return match["code"], match["message"], level
    if (match := _CODE_LAST.fullmatch(rest)) is not None:
        return match["code"], match["message"], level
    return "", rest, level


def _finding(
    where: tuple[str, int | None], code: str, message: str, *, tool: str, kind: str
) -> Finding:
    path, line = where
    message = _FIX_MARK.sub("", message.strip())[:_LONGEST]
    still = _MOVING.sub(r"\1 …", message)
    return Finding(
        kind=kind,
        subject=" ".join(part for part in (f"{path}:", code, still) if part),
        tool=tool,
        message=message,
        file=path,
        line=line,
        code=code,
    )


def _relative(path: str, root: str) -> str:
    if root and path.startswith(root.rstrip("/") + "/"):
        path = path[len(root.rstrip("/")) + 1 :]
    return path.removeprefix("./")


# --- ruff -----------------------------------------------------------------------------------------------------------


def parse_ruff_json(text: str, *, kind: str = "lint", root: str = "") -> tuple[Finding, ...]:
    """Read what `ruff check --output-format json` prints; anything else gives no findings."""
    found = []
    for item in _json_items(text):
        location = item.get("location")
        row = location.get("row") if isinstance(location, dict) else None
        filename, message, code = item.get("filename"), item.get("message"), item.get("code")
        if not isinstance(filename, str) or not isinstance(message, str):
            continue
        where = (_relative(filename, root), row if isinstance(row, int) else None)
        name = code if isinstance(code, str) else ""
        found.append(_finding(where, name, message, tool="ruff", kind=kind))
    return tuple(found)


def _json_items(text: str) -> list[dict[str, Any]]:
    """Give the objects of the JSON list in a text; warnings may stand around it."""
    for match in itertools.islice(re.finditer(r"\[", text), _MOST_STARTS):
        try:
            items, _ = json.JSONDecoder().raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        if all(isinstance(item, dict) for item in items):
            return list(items)
    return []


# --- pre-commit -----------------------------------------------------------------------------------------------------


class _Block(Value, frozen=True):
    """What pre-commit printed of one hook."""

    name: str
    state: str
    lines: tuple[str, ...]

    @property
    def id(self) -> str:
        """The hook's id; its name where pre-commit printed none."""
        ids = (_HOOK_ID.fullmatch(line) for line in self.lines)
        return next((match["id"] for match in ids if match is not None), self.name)

    @property
    def said(self) -> str:
        """What the hook itself printed."""
        own = (it for it in self.lines if not _DETAIL.fullmatch(it) and it != _MODIFIED)
        return "\n".join(own).strip()


def parse_pre_commit(text: str, *, root: str = "") -> PreCommitReport:
    """Read what `pre-commit run` prints."""
    text = _COLOUR.sub("", text)
    blocks = _blocks(text)
    failed = [block for block in blocks if block.state == "Failed"]
    broken = _BROKEN.search(text)
    return PreCommitReport(
        passed=tuple(block.id for block in blocks if block.state == "Passed"),
        failed=tuple(block.id for block in failed),
        skipped=tuple(block.id for block in blocks if block.state == "Skipped"),
        modified=tuple(block.id for block in failed if _MODIFIED in block.lines),
        findings=tuple(finding for block in failed for finding in _hook_findings(block, root)),
        broken=broken is not None,
        problem=text[broken.start() :].strip().splitlines()[0][:_LONGEST] if broken else "",
    )


def _blocks(text: str) -> list[_Block]:
    blocks: list[tuple[str, str, list[str]]] = []
    for line in text.splitlines():
        if (match := _HOOK.fullmatch(line.rstrip())) is not None:
            blocks.append((match["name"], match["state"], []))
        elif blocks:
            blocks[-1][2].append(line.rstrip())
    return [_Block(name=name, state=state, lines=tuple(lines)) for name, state, lines in blocks]


def _hook_findings(block: _Block, root: str) -> list[Finding]:
    """Give the lines of a failed hook that name a place, else one finding for the hook."""
    found = list(parse_lines(block.said, block.id, root=root))
    if _MODIFIED in block.lines:
        message = "files were modified by this hook"
        subject = f"{block.id}: {message}"
        found.append(Finding(kind="lint", subject=subject, tool=block.id, message=message))
    if not found:
        message = block.said[:_LONGEST] or "failed"
        found.append(Finding(kind="lint", subject=block.id, tool=block.id, message=message))
    return found
