"""How cells are called: GitHub's display names, our ids, and what a user writes to mean some of them."""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from presubmit.errors import UsageError
from presubmit.upstream.expressions.values import equals, is_number, to_string

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from presubmit.upstream.cells import JobCell
    from presubmit.upstream.matrix import Cell

_LONGEST: Final = 100
_PLAIN: Final = re.compile(r'(?! )[^\x00-\x1f\x7f,=()\[\]{}"]*(?<! )')
"""What an id holds as it is; anything else is quoted as in JSON."""
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}
_EXAMPLE: Final = "write ci.yml, ci.yml/tests or ci.yml/tests(python=3.12)"


# --- GitHub's names -------------------------------------------------------------------------------------------------


def display_name(
    name: str, job_id: str, axes: Mapping[str, Any], *, written: str | None = None
) -> str:
    """Give the name that GitHub shows for a cell: `tests (3.12, ubuntu-latest)`.

    `name` is the evaluated `name` of the job, `written` what the file says. The values of the matrix follow the id, or a
    name without an expression; a name with one stands alone. Only scalars are shown, those inside of lists and mappings
    too, and at most 100 characters of all (actions/runner: MatrixBuilder.cs, JobNameBuilder.cs).
    """
    if name and (written is None or "${{" in written):
        return name
    shown = [text for value in axes.values() for text in _scalars(value)]
    whole = f"{name or job_id} ({', '.join(shown)})" if shown else name or job_id
    return whole if len(whole) <= _LONGEST else f"{whole[: _LONGEST - 3]}..."


def called_name(caller: str, called: str) -> str:
    """Give the name that GitHub shows for a job of a reusable workflow: `caller / called`."""
    return f"{caller} / {called}"


def _scalars(value: object) -> Iterator[str]:
    """Give the texts of all scalars in a value, depth first; null and the empty text are left out."""
    if isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _scalars(inner)
    elif text := to_string(value):
        yield text


# --- our ids --------------------------------------------------------------------------------------------------------


def cell_id(file: str, job: str, axes: Mapping[str, Any]) -> str:
    """Give the id of a cell: `ci.yml/tests(python=3.12,os=ubuntu)`; no brackets where there is no matrix."""
    pairs = ",".join(f"{_quoted(key)}={axis_text(value)}" for key, value in axes.items())
    return f"{file}/{job}({pairs})" if pairs else f"{file}/{job}"


def axis_text(value: object) -> str:
    """Give a value as it stands in an id: as expressions print it, lists and mappings as compact JSON."""
    if isinstance(value, (dict, list)):
        return json.dumps(_whole(value), ensure_ascii=False, separators=(",", ":"))
    return _quoted(to_string(value))


def unique_ids(ids: Sequence[str]) -> tuple[str, ...]:
    """Tell ids apart that are the same (`[1, "1"]` on an axis): the second is `…#2`."""
    seen: Counter[str] = Counter()
    made = []
    for name in ids:
        seen[name] += 1
        made.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return tuple(made)


def job_paths(job: str, cells: Sequence[Cell]) -> tuple[str, ...]:
    """Give what stands after `ci.yml/` in the ids of a job's cells; `job` begins with its callers, where it has some."""
    return unique_ids([cell_id("", job, cell.axes).removeprefix("/") for cell in cells])


def _quoted(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _whole(value: Any) -> Any:  # noqa: ANN401 - JSON's types
    """Write 3.0 as 3, wherever it stands: which of them it is depends on where the matrix came from."""
    match value:
        case dict():
            return {key: _whole(inner) for key, inner in value.items()}
        case list():
            return [_whole(inner) for inner in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


# --- what a user writes ---------------------------------------------------------------------------------------------


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """A taken-apart argument: `ci.yml/tests(python=3.12)`, `tests`, `ci/call/inner`."""

    text: str
    path: tuple[str, ...]
    """The workflow and its job, or only one of them."""
    axes: tuple[tuple[str, str], ...] = ()
    """Keys (or how they begin) and values that a cell must have."""
    values: tuple[str, ...] = ()
    """Values without a key: any axis may have them."""

    def matches(self, cell: JobCell) -> bool:
        """Whether a cell is one of those that are meant."""
        jobs, axes = _job_path(cell)
        return self._leads_to(cell, jobs) and self._fits(axes)

    def _leads_to(self, cell: JobCell, jobs: tuple[str, ...]) -> bool:
        path = tuple(part.casefold() for part in self.path)
        file = cell.workflow.rpartition("/")[2].casefold()
        if path[0] in {file, file.rpartition(".")[0]} and jobs[: len(path) - 1] == path[1:]:
            return True
        return jobs[: len(path)] == path or jobs[-1:] == path

    def _fits(self, axes: Sequence[tuple[str, Any]]) -> bool:
        return all(_has(axes, key, text) for key, text in self.axes) and all(
            any(_same(value, text) for _, value in axes) for text in self.values
        )


def parse_query(text: str) -> Query:
    """Take a user's argument apart; raises UsageError where it cannot be."""
    bare = text.strip().removeprefix("./").removeprefix(".github/workflows/")
    axes: list[tuple[str, str]] = []
    values: list[str] = []
    path: list[str] = []
    for name, inside in _segments(bare):
        if not name:
            raise UsageError(f"{text!r} names no cell", hint=_EXAMPLE)
        path.append(name)
        for part in _split(inside, ","):
            key, *rest = _split(part, "=")
            value = _unquoted("=".join(rest) if rest else key)
            if rest:
                axes.append((_unquoted(key), value))
            elif value:
                values.append(value)
    return Query(text=text, path=tuple(path), axes=tuple(axes), values=tuple(values))


def find_cells(text: str, cells: Sequence[JobCell]) -> tuple[JobCell, ...]:
    """Give the cells that a user's argument means: an id, a display name, or a part of them; raises UsageError."""
    if exact := tuple(cell for cell in cells if cell.id == text):
        return exact
    named = [cell for cell in cells if cell.name and cell.name.casefold() == text.casefold()]
    try:
        query = parse_query(text)
    except UsageError:
        if named:
            return tuple(named)
        raise
    if found := tuple(cell for cell in cells if cell in named or query.matches(cell)):
        return found
    raise UsageError(f"no cell is called {text!r}", hint=_nearest(text, cells))


def _nearest(text: str, cells: Sequence[JobCell]) -> str:
    names: dict[str, None] = {}
    for cell in cells:
        file = cell.workflow.rpartition("/")[2]
        names |= dict.fromkeys(
            (file, f"{file}/{cell.job}" if cell.job else file, cell.job, cell.id)
        )
    near = difflib.get_close_matches(text, filter(None, names), n=3, cutoff=0.4)
    if near:
        return f"did you mean {' or '.join(near)}?"
    files = list(dict.fromkeys(cell.workflow.rpartition("/")[2] for cell in cells))
    return f"there are {', '.join(files)}" if files else "there is no workflow here"


def _job_path(cell: JobCell) -> tuple[tuple[str, ...], list[tuple[str, Any]]]:
    """Give the names of a cell's job and its callers, and all axes of theirs."""
    axes: list[tuple[str, Any]] = list(cell.axes.items())
    jobs = []
    for name, inside in _segments(cell.job) if cell.job else ():
        jobs.append(name.casefold())
        for part in _split(inside, ","):
            key, *rest = _split(part, "=")
            axes.append((_unquoted(key), _unquoted("=".join(rest))))
    return tuple(jobs), axes


def _has(axes: Sequence[tuple[str, Any]], key: str, text: str) -> bool:
    """Whether an axis has a value; its key may be cut short where that leaves only one."""
    keys = {name.casefold() for name, _ in axes}
    wanted = key.casefold()
    if wanted not in keys:
        longer = [name for name in keys if name.startswith(wanted)]
        if len(longer) != 1:
            return False
        wanted = longer[0]
    return any(_same(value, text) for name, value in axes if name.casefold() == wanted)


def _same(value: object, text: str) -> bool:
    """Compare as text without letter case, and a number also by its value: 3.1 is `3.10`."""
    if is_number(value) and text and equals(value, text):
        return True
    return text.casefold() in {to_string(value).casefold(), axis_text(value).casefold()}


def _segments(text: str) -> Iterator[tuple[str, str]]:
    """Give each name of a path with what stands in its round brackets: `call(a=1)/inner`."""
    for part in _split(text, "/"):
        name, bracket, inside = part.partition("(")
        if bracket and not inside.endswith(")"):
            raise UsageError(f"{text!r} goes on after its brackets", hint=_EXAMPLE)
        yield name.strip(), inside[:-1]


def _split(text: str, separator: str) -> list[str]:
    """Split a text, but not within brackets or quotes; raises UsageError for one that stays open."""
    parts = [""]
    awaited: list[str] = []
    escaped = False
    for char in text:
        if awaited[-1:] == ['"']:
            if not escaped and char == '"':
                awaited.pop()
            escaped = not escaped and char == "\\"
        elif char == '"':
            awaited.append(char)
        elif char in _CLOSING:
            awaited.append(_CLOSING[char])
        elif awaited[-1:] == [char]:
            awaited.pop()
        elif char == separator and not awaited:
            parts.append("")
            continue
        parts[-1] += char
    if awaited:
        raise UsageError(f"{text!r} lacks a closing {awaited[-1]}", hint=_EXAMPLE)
    return parts


def _unquoted(text: str) -> str:
    """Read what `_quoted` wrote; anything else is taken as it is."""
    text = text.strip()
    if text.startswith('"'):
        try:
            return str(json.loads(text))
        except ValueError:
            return text
    return text
