"""Reads a YAML file into nodes with their places, by the rules and limits of actions/runner.

PyYAML parses; what a scalar means, what an alias stands for and how much is too much is decided here, because
PyYAML's own answers are those of YAML 1.1 (`on` is true, `0777` is 511) and know no limits.
Limits: `src/Sdk/WorkflowParser/ParseOptions.cs` and `Conversion/YamlObjectReader.cs` in actions/runner.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NoReturn

import msgspec
import yaml

from presubmit.upstream import scalars
from presubmit.upstream.expressions.values import fold
from presubmit.upstream.nodes import Mapping, Mark, Node, Problem, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_CHARACTERS: Final = 1024 * 1024
MAX_DEPTH: Final = 50
MAX_EVENTS: Final = 50_000

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_UNPRINTABLE: Final = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")


def read_document(data: bytes, path: str) -> tuple[Node | None, tuple[Problem, ...]]:
    """Read the one document of a file; where it cannot be read at all, the node is None.

    Keys that stand twice (in any letter case), merge keys and scalars that belie their tag are problems which leave
    the rest readable.
    """
    composer = _Composer(path)
    text = ""
    try:
        text = _decode(data)
        node = composer.compose(yaml.parse(text, Loader=_LOADER))
    except _BrokenError as error:
        return None, (*composer.problems, Problem(path, error.mark, str(error)))
    except yaml.MarkedYAMLError as error:
        message = f"not valid YAML: {_words(error, text)}"
        return None, (*composer.problems, Problem(path, _mark_of(error), message))
    return node, tuple(composer.problems)


class _BrokenError(Exception):
    """Nothing after this place can be read."""

    def __init__(self, message: str, mark: Mark) -> None:
        super().__init__(message)
        self.mark = mark


# --- bytes to text ----------------------------------------------------------------------------------------------------


def _decode(data: bytes) -> str:
    if data.startswith(_UTF_16):
        raise _BrokenError("the file is UTF-16; save it as UTF-8", Mark(1, 1))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig")
        raise _BrokenError(
            f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8", _place(before)
        ) from None
    if len(text) > MAX_CHARACTERS:
        raise _BrokenError(
            f"the file has more than {MAX_CHARACTERS} characters; GitHub reads no more", Mark(1, 1)
        )
    bad = _UNPRINTABLE.search(text)
    if bad is not None:
        name = "NUL byte" if bad[0] == "\0" else f"control character U+{ord(bad[0]):04X}"
        raise _BrokenError(f"a {name} cannot stand in YAML", _place(text[: bad.start()]))
    return text


def _place(before: str) -> Mark:
    """Give the place of what follows a text."""
    lines = re.split("\r\n|\r|\n", before)
    return Mark(len(lines), len(lines[-1]) + 1)


def _mark_of(error: yaml.MarkedYAMLError) -> Mark | None:
    mark = error.problem_mark or error.context_mark
    return None if mark is None else Mark(mark.line + 1, mark.column + 1)


def _words(error: yaml.MarkedYAMLError, text: str) -> str:
    mark = error.problem_mark
    problem = str(error.problem or "cannot be parsed")
    if mark is not None and "cannot start any token" in problem:
        # The C parser does not say which character it is.
        character = text[mark.index : mark.index + 1]
        return (
            "a tab cannot indent; use spaces"
            if character == "\t"
            else f"no plain text begins with {character!r}; quote it"
        )
    return f"{error.context}: {problem}" if error.context else problem


# --- events to nodes --------------------------------------------------------------------------------------------------


class _Whole(msgspec.Struct, frozen=True):
    """A finished node, how many events it takes to replay it, and how deep it is."""

    node: Node
    events: int
    depth: int


class _Open(msgspec.Struct):
    """A collection that is not finished: its parts so far, keys and values in turn for a mapping."""

    mark: Mark
    anchor: str | None
    is_mapping: bool
    parts: list[Node]
    events: int = 2
    depth: int = 1


class _Composer:
    """Builds the nodes of one file out of parsing events, without recursion."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.problems: list[Problem] = []
        self._open: list[_Open] = []
        self._anchors: dict[str, _Whole | None] = {}
        self._root: Node | None = None

    def compose(self, events: Iterator[yaml.Event]) -> Node:
        """Build the root node; raises _BrokenError where the rest makes no sense."""
        for event in events:
            match event:
                case yaml.ScalarEvent():
                    self._finish(_Whole(self._scalar(event), 1, 0), event.anchor)
                case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                    self._start(event)
                case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                    self._end()
                case yaml.AliasEvent():
                    self._finish(self._aliased(event), None)
                case yaml.DocumentStartEvent() if self._root is not None:
                    _break("a second document; a file holds one", event)
                case _:
                    pass
        if self._root is None:
            raise _BrokenError("the file is empty", Mark(1, 1))
        return self._root

    def _start(self, event: yaml.CollectionStartEvent) -> None:
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        if self._wants_key():
            _break("a mapping or a sequence cannot be a key", event)
        if len(self._open) >= MAX_DEPTH:
            _break(f"nested more than {MAX_DEPTH} deep; GitHub reads no deeper", event)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._open.append(_Open(_mark(event), event.anchor, is_mapping, []))

    def _end(self) -> None:
        done = self._open.pop()
        node = self._mapping(done) if done.is_mapping else Sequence(tuple(done.parts), done.mark)
        self._finish(_Whole(node, done.events, done.depth), done.anchor)

    def _finish(self, whole: _Whole, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = whole
        if not self._open:
            self._root = whole.node
            return
        around = self._open[-1]
        around.parts.append(whole.node)
        around.events += whole.events
        around.depth = max(around.depth, whole.depth + 1)
        if around.events > MAX_EVENTS:
            raise _BrokenError(
                f"more than {MAX_EVENTS} nodes, aliases counted in full; GitHub reads no more",
                around.mark,
            )

    def _wants_key(self) -> bool:
        return (
            bool(self._open) and self._open[-1].is_mapping and len(self._open[-1].parts) % 2 == 0
        )

    def _scalar(self, event: yaml.ScalarEvent) -> Scalar:
        is_plain = event.style in {None, ""}
        mark = _mark(event)
        try:
            if event.tag is not None:
                value = scalars.resolve_tagged(event.value, event.tag, plain=is_plain)
            else:
                value = scalars.resolve(event.value) if is_plain else event.value
        except scalars.ScalarError as error:
            self._complain(mark, str(error))
            value = event.value
        return Scalar(value, mark, event.value)

    def _aliased(self, event: yaml.AliasEvent) -> _Whole:
        if event.anchor not in self._anchors:
            _break(f"no anchor '{event.anchor}' stands before this alias", event)
        whole = self._anchors[event.anchor]
        if whole is None:
            _break(f"the alias '{event.anchor}' stands inside its own anchor", event)
        if self._wants_key() and not isinstance(whole.node, Scalar):
            _break("a mapping or a sequence cannot be a key", event)
        if len(self._open) + whole.depth > MAX_DEPTH:
            _break(f"nested more than {MAX_DEPTH} deep; GitHub reads no deeper", event)
        return whole

    def _mapping(self, done: _Open) -> Mapping:
        entries: list[tuple[Scalar, Node]] = []
        seen: set[str] = set()
        for key, node in zip(done.parts[::2], done.parts[1::2], strict=True):
            assert isinstance(key, Scalar)  # noqa: S101 - _start and _aliased see to it
            name = scalars.text_of(key)
            if name == "<<":
                self._complain(
                    key.mark,
                    "GitHub has no merge key '<<'; an alias stands for a whole value only",
                )
            elif fold(name) in seen:
                self._complain(key.mark, f"'{name}' is already defined")
            else:
                entries.append((key, node))
                # What a key is that an expression gives shows only when it is evaluated.
                seen |= set() if "${{" in name else {fold(name)}
        return Mapping(tuple(entries), done.mark)

    def _complain(self, mark: Mark, message: str) -> None:
        self.problems.append(Problem(self.path, mark, message))


def _mark(event: yaml.Event) -> Mark:
    start = event.start_mark
    assert start is not None  # noqa: S101 - every event of a text has its place
    return Mark(start.line + 1, start.column + 1)


def _break(message: str, event: yaml.Event) -> NoReturn:
    raise _BrokenError(message, _mark(event))
