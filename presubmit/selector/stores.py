"""Which objects a piece of code changes or hands on, followed through its local variables to what outlives a call."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

Owner = tuple[str, str, str]
"""What an object is (`name`, `held` by what has a name, `class`, `globals`, `result`), a name for it, and the attribute of it that is meant."""

_THROUGH: Final = frozenset({"cast", "getattr", "iter", "next", "reversed", "enumerate", "vars"})
"""Calls that give (a part of) what they are given."""
_READERS: Final = frozenset(dir(builtins)) - {
    *("setattr", "delattr", "next", "exec", "eval", "map", "filter", "super"),
} | {"cast", "copy", "deepcopy", "dumps"}
_READING: Final = frozenset(
    [
        *(
            "get",
            "items",
            "keys",
            "values",
            "copy",
            "count",
            "index",
            "exists",
            "is_file",
            "is_dir",
        ),
        *("match", "search", "fullmatch", "sub", "subn", "split", "rsplit", "findall", "finditer"),
        *("debug", "info", "warning", "error", "exception", "critical", "log", "isEnabledFor"),
        *("format", "join", "startswith", "endswith", "encode", "decode", "strip", "replace"),
        *("lower", "upper", "issubset", "issuperset", "union", "intersection", "difference"),
        *("isdisjoint", "read_text", "read_bytes", "joinpath", "pack", "unpack", "unpack_from"),
    ]
)
"""Methods that change nothing, whatever they are called on."""
_DEEPEST: Final = 6


class Stores:
    """Collects changes while code is walked; `tokens` gives them as `Element.writes` has them."""

    def __init__(self) -> None:
        self.same: dict[str, list[ast.expr]] = {}
        """What a variable may be, or be a part of."""
        self.changed: list[tuple[ast.expr, str]] = []
        """Objects, and which attribute is set; their content where that is empty."""
        self.passed: list[ast.expr] = []
        self.asked: list[tuple[ast.expr, str]] = []
        self.given: list[ast.expr] = []
        self._known: dict[tuple[str, int], tuple[Owner, ...]] = {}

    def bind(self, target: ast.expr, value: ast.expr) -> None:
        """Note that variables get a value, or parts of it."""
        match target:
            case ast.Name(id=name):
                self.same.setdefault(name, []).append(value)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                for item in items:
                    self.bind(item, value)
            case ast.Starred(value=inner):
                self.bind(inner, value)
            case _:
                pass

    def call(self, node: ast.Call, mutators: Collection[str]) -> None:
        """Note what a call is given, what it is called on, and what it sets."""
        function = node.func
        name = ""
        if isinstance(function, ast.Attribute):
            name = function.attr
            if name in mutators:
                self.changed.append((function.value, ""))
            elif name not in _READING:
                self.asked.append((function.value, name))
        elif isinstance(function, ast.Name):
            name = function.id
            if name not in _READERS:
                self.asked.append((function, "__call__"))
        if name in {"setattr", "delattr", "__setattr__", "__delattr__"} and len(node.args) > 1:
            wanted = node.args[1]
            known = isinstance(wanted, ast.Constant)
            self.changed.append((node.args[0], str(wanted.value) if known else "*"))  # type: ignore[attr-defined]
        elif name not in _READERS:
            values = [*node.args, *(it.value for it in node.keywords)]
            self.passed += [
                it.value if isinstance(it, ast.Starred) else it
                for it in values
                if not isinstance(it, ast.Constant | ast.Call)
            ]

    def tokens(  # noqa: C901 - one kind of use after the other
        self, *, first: str, of_class: bool, bound: Collection[str], parameters: Collection[str]
    ) -> Iterator[str]:
        """Give what is changed, passed on and given back."""
        self._known.clear()

        def told(node: ast.expr) -> Iterator[Owner]:
            for owner in self._owners(node, bound, 0):
                kind, name, attribute = owner
                if kind == "class":
                    yield "class", "", attribute
                elif kind == "name" and name == first and first:
                    yield _of_first(attribute, of_class=of_class)
                elif kind != "name" or name not in bound:
                    yield owner
                elif name in parameters:
                    yield "parameter", name, ""

        for node, attribute in self.changed:
            for kind, name, part in told(node):
                yield from _change(kind, name, part or attribute, deep=not attribute or bool(part))
        for node in self.passed:
            for kind, name, part in told(node):
                if kind in {"name", "held", "self", "class", "result"}:
                    yield f"passes {_reference(kind, name, part)}"
        for node, method in self.asked:
            for kind, name, part in told(node):
                if kind in {"name", "held"} or (part and kind in {"self", "class"}):
                    yield f"asks {_reference(kind, name, part)} {method}"
        for node in self.given:
            for kind, name, part in told(node):
                if kind in {"name", "held", "result"} or (part and kind in {"self", "class"}):
                    yield f"gives {_reference(kind, name, part)}"

    def _owners(  # noqa: C901, PLR0912 - one kind of expression after the other
        self, node: ast.expr, bound: Collection[str], depth: int
    ) -> Iterator[Owner]:
        """Give the objects that an expression may be, or be a part of."""
        if depth > _DEEPEST:
            return
        match node:
            case ast.Name(id=name):
                yield "name", name, ""
                if name in bound:
                    yield from self._assigned(name, bound, depth)
            case ast.Attribute(value=value, attr=attribute):
                for kind, name, part in self._owners(value, bound, depth):
                    if part == "__class__":
                        yield "class", name, attribute
                    elif part == "__dict__" or kind in {"result", "globals"}:
                        yield kind, name, part if kind == "result" else attribute
                    else:
                        yield kind, name, part or attribute
            case ast.Subscript(value=value, slice=index):
                key = str(index.value) if isinstance(index, ast.Constant) else ""
                for kind, name, part in self._owners(value, bound, depth):
                    if (kind, name, part) == ("name", "sys", "modules"):
                        yield "globals", "", ""
                    elif kind == "globals":
                        yield kind, name, part or key
                    else:
                        yield kind, name, part
            case ast.Call(func=function, args=arguments):
                yield from self._called(function, arguments, bound, depth)
            case ast.IfExp(body=one, orelse=other):
                yield from self._owners(one, bound, depth)
                yield from self._owners(other, bound, depth)
            case (
                ast.BoolOp(values=values)
                | ast.Tuple(elts=values)
                | ast.List(elts=values)
                | ast.Set(elts=values)
                | ast.Dict(values=values)
            ):
                for value in values:
                    yield from self._owners(value, bound, depth)
            case (
                ast.NamedExpr(value=value)
                | ast.Starred(value=value)
                | ast.Await(value=value)
                | ast.YieldFrom(value=value)
            ):
                yield from self._owners(value, bound, depth)
            case _:
                pass

    def _assigned(self, name: str, bound: Collection[str], depth: int) -> tuple[Owner, ...]:
        """Give the objects that a local variable may be by what is assigned to it."""
        # Worked out once: `x = f(x)` many times over is otherwise followed in every order of the assignments.
        key = name, depth
        if key not in self._known:
            values = self.same.get(name, ())
            owners = (it for value in values for it in self._owners(value, bound, depth + 1))
            self._known[key] = tuple(dict.fromkeys(owners))
        return self._known[key]

    def _called(  # noqa: C901, PLR0912 - one kind of function after the other
        self,
        function: ast.expr,
        arguments: list[ast.expr],
        bound: Collection[str],
        depth: int,
    ) -> Iterator[Owner]:
        """Give what the result of a call may be a part of."""
        match function:
            case ast.Name(id="globals"):
                yield "globals", "", ""
            case ast.Name(id="super"):
                yield "name", "self", ""
            case ast.Name(id="type") if arguments:
                for _, name, _ in self._owners(arguments[0], bound, depth + 1):
                    yield "class", name, ""
            case ast.Name(id=name):
                if name in _THROUGH:
                    for value in arguments[-1:] if name == "cast" else arguments:
                        yield from self._owners(value, bound, depth + 1)
                elif name not in bound:
                    yield "result", name, ""
            case ast.Attribute(value=value, attr=attribute):
                if _dotted(function):
                    yield "result", _dotted(function), ""
                for kind, name, part in self._owners(value, bound, depth + 1):
                    # What a method of an object gives may be a part of it.
                    yield "held" if kind == "name" and name not in bound else kind, name, part
                if attribute in _THROUGH:
                    for given in arguments[-1:]:
                        yield from self._owners(given, bound, depth + 1)
            case _:
                pass


def _of_first(attribute: str, *, of_class: bool) -> Owner:
    """Give what an attribute of a method's first parameter belongs to."""
    if of_class or attribute == "__class__":
        return "class", "", attribute if of_class else ""
    return "self", "", attribute


def _change(kind: str, name: str, attribute: str, *, deep: bool) -> Iterator[str]:
    """Write a change; `deep` where it is one of the content of the attribute."""
    match kind:
        case "self":
            yield "self"
            if deep and attribute:
                yield f"self.{attribute}"
        case "class":
            yield f"class {attribute or '*'}"
        case "globals":
            yield f"globals {attribute or '*'}"
        case "result" | "parameter":
            yield f"{kind} {name}"
        case "held":
            yield f"passes {name}"
        case _:
            yield name
            if attribute and attribute != "*":
                yield f"{name}.{attribute}"


def _reference(kind: str, name: str, part: str) -> str:
    if kind in {"name", "held"}:
        return f"{name}.{part}" if part else name
    if kind == "result":
        return f"result:{name}"
    return f"{kind}.{part}" if part else kind


def _dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""
