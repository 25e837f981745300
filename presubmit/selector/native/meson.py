"""Reads the extension modules off `meson.build` files: a small interpreter that takes every branch."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from presubmit.selector.native.values import Declared, Extension

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_TOKEN = re.compile(
    r"""
    (?P<skip>[ \t\r]+|\#[^\n]*|\\\n)
  | (?P<newline>\n)
  | (?P<string>f?'''(?:.|\n)*?'''|f?'(?:\\.|[^'\\\n])*')
  | (?P<word>[A-Za-z_]\w*)
  | (?P<number>\d\w*)
  | (?P<operator>\+=|==|!=|<=|>=|[-+*/%<>=?:,.()\[\]{}])
    """,
    re.VERBOSE,
)
_MOST_STEPS: Final = 100_000
_BLOCK_ENDS: Final = frozenset({"endif", "endforeach", "elif", "else"})


class _MesonError(Exception):
    """The text is no Meson that this reader understands."""


@dataclass
class Bag:
    """What an object is made of: files of the tree and folders to include from."""

    files: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Node:
    """A node of the syntax tree."""

    kind: str
    text: str = ""
    parts: tuple[Any, ...] = ()
    line: int = 0


def read_meson(
    texts: Callable[[str], bytes | None], paths: Collection[str], *, path: str = "meson.build"
) -> Declared:
    """Give the extension modules that the top `meson.build` and what it enters may declare."""
    reader = _Reader(texts, set(paths))
    reader.enter(path)
    return Declared(
        extensions=tuple(reader.extensions), problems=tuple(dict.fromkeys(reader.problems))
    )


# --- syntax ---------------------------------------------------------------------------------------------------------


def _tokens(text: str) -> list[tuple[str, str, int]]:
    found: list[tuple[str, str, int]] = []
    position, line, depth = 0, 1, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _MesonError(f"line {line}: {text[position]!r} is not understood")
        position = match.end()
        kind, value = str(match.lastgroup), match.group()
        if kind == "operator":
            depth += (value in "([{") - (value in ")]}")
        if kind != "skip" and not (kind == "newline" and depth > 0):
            found.append((kind, value, line))
        line += value.count("\n")
    return [*found, ("newline", "\n", line), ("end", "", line)]


class _Parser:
    """Turns tokens into nodes."""

    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.at = 0

    def peek(self, *values: str) -> bool:
        """Tell whether the next token is one of these."""
        kind, value, _ = self.tokens[self.at]
        return kind != "string" and value in values

    def take(self, *values: str) -> str:
        """Take the next token, which must be one of these."""
        kind, value, line = self.tokens[self.at]
        if values and (kind == "string" or value not in values):
            raise _MesonError(f"line {line}: {value!r} was not expected")
        self.at += 1
        return value

    def block(self) -> list[_Node]:
        """Parse statements until a block ends."""
        found: list[_Node] = []
        while self.tokens[self.at][0] != "end":
            if self.peek("\n"):
                self.at += 1
            elif self.peek(*_BLOCK_ENDS):
                break
            else:
                found.append(self.statement())
        return found

    def statement(self) -> _Node:
        """Parse one statement."""
        line = self.tokens[self.at][2]
        if self.peek("if"):
            return self.condition(line)
        if self.peek("foreach"):
            self.take()
            names = [self.take()]
            while self.peek(","):
                self.take()
                names.append(self.take())
            self.take(":")
            values = self.expression()
            body = self.block()
            self.take("endforeach")
            return _Node("foreach", parts=(names, values, body), line=line)
        if self.peek("break", "continue"):
            self.take()
            return _Node("pass", line=line)
        target = self.expression()
        if self.peek("=", "+="):
            operator = self.take()
            return _Node("assign", operator, (target.text, self.expression()), line)
        return _Node("do", parts=(target,), line=line)

    def condition(self, line: int) -> _Node:
        """Parse `if`; what decides it does not matter."""
        bodies = []
        self.take("if")
        self.expression()
        bodies.append(self.block())
        while self.peek("elif", "else"):
            if self.take() == "elif":
                self.expression()
            bodies.append(self.block())
        self.take("endif")
        return _Node("if", parts=tuple(bodies), line=line)

    def expression(self) -> _Node:
        """Parse an expression with `?:`."""
        value = self.binary()
        if self.peek("?"):
            self.take()
            yes = self.expression()
            self.take(":")
            return _Node("either", parts=(yes, self.expression()))
        return value

    def binary(self) -> _Node:
        """Parse operators, all of the same strength: only `+` and `/` give anything."""
        value = self.unary()
        while self.peek(
            "+", "-", "*", "/", "%", "==", "!=", "<", ">", "<=", ">=", "and", "or", "in", "not"
        ):
            operator = self.take()
            if operator == "not":
                operator = self.take("in")
            right = self.unary()
            value = _Node("operator", operator, (value, right), value.line)
        return value

    def unary(self) -> _Node:
        """Parse `not x`, `-x`, or something with calls and indexes after it."""
        if self.peek("not", "-"):
            self.take()
            return _Node("operator", "not", (self.unary(),))
        value = self.atom()
        while self.peek("(", ".", "["):
            line = self.tokens[self.at][2]
            opening = self.take()
            if opening == "[":
                index = self.expression()
                self.take("]")
                value = _Node("index", parts=(value, index), line=line)
            elif opening == ".":
                name = self.take()
                self.take("(")
                value = _Node("call", name, (value, *self.arguments(")")), line)
            else:
                value = _Node("call", value.text, (None, *self.arguments(")")), line)
        return value

    def atom(self) -> _Node:
        """Parse a string, a name, a list, a dict or brackets."""
        kind, text, line = self.tokens[self.at]
        self.at += 1
        if kind == "string":
            return _Node("string", _unquoted(text), line=line)
        if kind == "word":
            return _Node("name", text, line=line)
        if kind == "number":
            return _Node("number", text, line=line)
        if text == "(":
            value = self.expression()
            self.take(")")
            return value
        if text == "[":
            return _Node("list", parts=tuple(self.arguments("]")[0]), line=line)
        if text == "{":
            return _Node("dict", parts=tuple(self.arguments("}")[1]), line=line)
        raise _MesonError(f"line {line}: {text!r} was not expected")

    def arguments(self, closing: str) -> tuple[list[_Node], list[tuple[_Node, _Node]]]:
        """Parse what stands between brackets: values, and pairs with `:`."""
        values: list[_Node] = []
        pairs: list[tuple[_Node, _Node]] = []
        while not self.peek(closing):
            if self.peek(",", "\n"):
                self.take()
                continue
            value = self.expression()
            if self.peek(":"):
                self.take()
                pairs.append((value, self.expression()))
            else:
                values.append(value)
        self.take(closing)
        return values, pairs


def _unquoted(text: str) -> str:
    text = text.removeprefix("f")
    if text.startswith("'''"):
        return text[3:-3]
    return re.sub(r"\\(.)", r"\1", text[1:-1])


# --- meaning --------------------------------------------------------------------------------------------------------


class _Reader:
    """Runs the statements: everything a call is given goes into what it returns."""

    def __init__(self, texts: Callable[[str], bytes | None], paths: set[str]) -> None:
        self.texts = texts
        self.paths = paths
        self.extensions: list[Extension] = []
        self.problems: list[str] = []
        self.names: dict[str, Any] = {}
        self.folder = ""
        self.path = ""
        self.conditions = 0
        self.steps = 0
        self.entered: set[str] = set()

    def enter(self, path: str) -> None:
        """Run one file."""
        if path in self.entered:
            return
        self.entered.add(path)
        source = self.texts(path)
        if source is None:
            self.problems.append(f"{path} cannot be read")
            return
        outer = self.folder, self.path
        self.folder, self.path = posixpath.dirname(path), path
        try:
            self.run(_Parser(source.decode("utf-8", "replace")).block())
        except (_MesonError, RecursionError, IndexError) as error:
            self.problems.append(f"{path} cannot be read: {error}")
        self.folder, self.path = outer

    def run(self, body: list[_Node]) -> None:
        """Run statements."""
        for node in body:
            self.steps += 1
            if self.steps > _MOST_STEPS:
                raise _MesonError("it does too much")
            match node.kind:
                case "assign":
                    self.assign(node)
                case "if":
                    self.conditions += 1
                    for each in node.parts:
                        self.run(each)
                    self.conditions -= 1
                case "foreach":
                    self.loop(node)
                case "do":
                    self.value(node.parts[0])
                case _:
                    pass

    def assign(self, node: _Node) -> None:
        """Assign; below a condition the old value may stay."""
        name, expression = node.parts
        value = self.value(expression)
        old = self.names.get(name)
        if node.text == "+=":
            self.names[name] = _plus(old, value)
        elif self.conditions and old is not None and old != value:
            self.names[name] = _either(old, value)
        else:
            self.names[name] = value

    def loop(self, node: _Node) -> None:
        """Run a loop once for each item."""
        names, iterable, body = node.parts
        value = self.value(iterable)
        rows: list[Any] = list(value.items()) if isinstance(value, dict) else _listed(value)
        for row in rows or [Bag()]:
            items = list(row) if len(names) > 1 and isinstance(row, list | tuple) else [row]
            self.names |= dict(zip(names, items, strict=False))
            self.run(body)

    def value(self, node: _Node) -> Any:  # noqa: ANN401, C901, PLR0911 - one case for each kind of node
        """Give the value of an expression: a string, a list, a dict or a bag."""
        match node.kind:
            case "string":
                # `@name@` of a format string
                return re.sub(r"@(\w+)@", self.filled, node.text)
            case "name":
                return self.names.get(node.text, Bag())
            case "list":
                return [self.value(it) for it in node.parts]
            case "dict":
                return {str(self.value(key)): self.value(value) for key, value in node.parts}
            case "either":
                return _either(*(self.value(it) for it in node.parts))
            case "operator" if node.text in {"+", "/"}:
                left, right = (self.value(it) for it in node.parts)
                if node.text == "/" and isinstance(left, str) and isinstance(right, str):
                    return posixpath.join(left, right)
                if isinstance(left, str) and isinstance(right, str):
                    return left + right
                return _plus(left, right)
            case "index":
                return self.item(*(self.value(it) for it in node.parts), index=node.parts[1])
            case "call":
                return self.call(node)
            case _:
                for part in node.parts:
                    self.value(part)
                return Bag()

    def filled(self, match: re.Match[str]) -> str:
        """Fill in a name of a format string."""
        value = self.names.get(match[1])
        return value if isinstance(value, str) else match[0]

    def item(self, holder: Any, key: Any, *, index: _Node) -> Any:  # noqa: ANN401 - any value
        """Give `holder[key]`."""
        if isinstance(holder, dict):
            return holder.get(key, Bag()) if isinstance(key, str) else list(holder.values())
        if isinstance(holder, list) and index.kind == "number":
            place = int(index.text)
            return holder[place] if place < len(holder) else Bag()
        return holder

    def call(self, node: _Node) -> Any:  # noqa: ANN401 - any value
        """Give what a call returns."""
        holder_node, values, pairs = node.parts
        holder = None if holder_node is None else self.value(holder_node)
        arguments = [self.value(it) for it in values]
        keywords = {key.text: self.value(it) for key, it in pairs}
        if holder is None and node.text == "subdir":
            for name in _strings(arguments):
                self.enter(posixpath.normpath(posixpath.join(self.folder, name, "meson.build")))
            return Bag()
        if node.text in {"current_source_dir", "project_source_root", "source_root"}:
            return "" if "root" in node.text else "."
        if node.text == "format" and isinstance(holder, str):
            return _formatted(holder, arguments)
        if isinstance(holder, dict) and node.text in {"get", "keys"}:
            return _of_dict(node.text, holder, arguments)
        bag = self.bag([holder, *arguments, *(it for it in keywords.values())])
        if node.text == "include_directories":
            bag.folders += self.placed(arguments)
        bag.folders += self.placed([keywords.get("include_directories", [])])
        if node.text == "extension_module":
            self.extension(node, arguments, keywords, bag)
        return bag

    def extension(
        self, node: _Node, arguments: list[Any], keywords: dict[str, Any], bag: Bag
    ) -> None:
        """Note an extension module."""
        names = _strings(arguments[:1])
        if not names or any("@" in it for it in names):
            self.problems.append(f"{self.path}:{node.line}: the name of a module cannot be told")
        subdirs = _strings([keywords["subdir"]]) if "subdir" in keywords else [""]
        unknown = "kwargs" in keywords
        for name in names:
            for subdir in subdirs or [""]:
                parts = [it for it in subdir.split("/") if it and "@" not in it]
                self.extensions.append(
                    Extension(
                        name=".".join([*parts, name]),
                        sources=tuple(dict.fromkeys(bag.files)),
                        include_dirs=tuple(dict.fromkeys(bag.folders)),
                        origin=f"{self.path}:{node.line}",
                        complete=not unknown,
                    )
                )

    def bag(self, values: list[Any]) -> Bag:
        """Gather the files and folders in some values."""
        found = Bag()
        for value in values:
            if isinstance(value, Bag):
                found.files += value.files
                found.folders += value.folders
            elif isinstance(value, str):
                place = posixpath.normpath(posixpath.join(self.folder, value))
                if place in self.paths:
                    found.files.append(place)
            elif isinstance(value, list | dict):
                inner = self.bag(list(value.values()) if isinstance(value, dict) else value)
                found.files += inner.files
                found.folders += inner.folders
        found.files = list(dict.fromkeys(found.files))
        found.folders = list(dict.fromkeys(found.folders))
        return found

    def placed(self, values: list[Any]) -> list[str]:
        """Give folders relative to the tree."""
        return [posixpath.normpath(posixpath.join(self.folder, it)) for it in _strings(values)]


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _plus(left: Any, right: Any) -> Any:  # noqa: ANN401 - any value
    if isinstance(left, dict) and isinstance(right, dict):
        return left | right
    return [*([] if left is None else _listed(left)), *_listed(right)]


def _either(left: Any, right: Any) -> Any:  # noqa: ANN401 - any value
    if isinstance(left, dict) and isinstance(right, dict):
        return left | right
    return [*_listed(left), *(it for it in _listed(right) if it not in _listed(left))]


def _strings(values: list[Any]) -> list[str]:
    found: list[str] = []
    for value in values:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            found += _strings(value)
    return found


def _formatted(text: str, arguments: list[Any]) -> str:
    for index, value in enumerate(arguments):
        if isinstance(value, str):
            text = text.replace(f"@{index}@", value)
    return text


def _of_dict(name: str, holder: dict[str, Any], arguments: list[Any]) -> Any:  # noqa: ANN401 - any value
    if name == "keys":
        return list(holder)
    key = arguments[0] if arguments else None
    fallback = arguments[1] if len(arguments) > 1 else Bag()
    return holder.get(key, fallback) if isinstance(key, str) else list(holder.values())
