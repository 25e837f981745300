"""What a YAML file is read into: nodes that know their line and column."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec


class Mark(NamedTuple):
    """A place in a file; both count from 1."""

    line: int
    column: int


class Scalar(msgspec.Struct, frozen=True, gc=False):
    """A plain value: None, bool, int, float or str; `text` is what the file says."""

    value: bool | int | float | str | None
    mark: Mark
    text: str


class Sequence(msgspec.Struct, frozen=True, gc=False):
    """A list of nodes."""

    items: tuple[Node, ...]
    mark: Mark


class Mapping(msgspec.Struct, frozen=True, gc=False):
    """Keys and their nodes in file order; no two keys differ in letter case only."""

    entries: tuple[tuple[Scalar, Node], ...]
    mark: Mark

    def get(self, key: str) -> Node | None:
        """Give the node of a key, or None."""
        for name, node in self.entries:
            if name.value == key:
                return node
        return None


Node = Scalar | Sequence | Mapping


class Problem(msgspec.Struct, frozen=True):
    """Something wrong in a file; a warning does not keep GitHub from running it."""

    path: str
    mark: Mark | None
    message: str
    warning: bool = False

    def __str__(self) -> str:
        """Give `file:line:column: message`, as compilers do."""
        place = (
            self.path if self.mark is None else f"{self.path}:{self.mark.line}:{self.mark.column}"
        )
        return f"{place}: {'warning: ' if self.warning else ''}{self.message}"


def plain(node: Node | None) -> Any:  # noqa: ANN401 - JSON's types
    """Give a node's value in JSON's types, without places."""
    match node:
        case None:
            return None
        case Scalar(value):
            return value
        case Sequence(items):
            return [plain(item) for item in items]
        case Mapping(entries):
            return {str(key.text): plain(value) for key, value in entries}
