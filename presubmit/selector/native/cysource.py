"""Takes a Cython source apart: functions, methods, classes and the rest; what is not understood widens."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from presubmit.selector.native.elements import Element, Kind, Source, Statement

_TOKEN = re.compile(
    r"""
    (?P<skip>[ \t\f]+|\\\r?\n|\#[^\n]*)
  | (?P<newline>\r?\n|\r)
  | (?P<long>(?:[rRbBuUfFcC]{0,3})(?:\"{3}(?:\\[\s\S]|[^\\])*?\"{3}|'{3}(?:\\[\s\S]|[^\\])*?'{3}))
  | (?P<string>(?:[rRbBuUfFcC]{0,3})(?:"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'))
  | (?P<word>[^\W\d]\w*)
  | (?P<number>\.?\d[\w.]*)
  | (?P<operator>[\s\S])
    """,
    re.VERBOSE,
)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_TEMPLATE = re.compile(r"^\s*\{\{|\{\{py:|\{%|@\w+@", re.MULTILINE)
_CLASS_DECORATORS: Final = frozenset({"property", "staticmethod", "classmethod"})
_LARGEST: Final = 4 * 1024 * 1024


@dataclass
class _Line:
    """A logical line."""

    indent: int
    tokens: list[tuple[str, str]]

    @property
    def words(self) -> list[str]:
        """Give the texts of its tokens."""
        return [text for _, text in self.tokens]

    @property
    def text(self) -> str:
        """Give it without comments and layout."""
        return "\x00".join(self.words)


@dataclass
class _Block:
    """A line and what is indented below it."""

    line: _Line
    below: list[_Block] = field(default_factory=list)

    def lines(self) -> list[_Line]:
        """Give all lines in order."""
        return [self.line, *(it for each in self.below for it in each.lines())]

    @property
    def text(self) -> str:
        """Give it without comments, with its structure."""
        return "\x01".join(f"{it.indent - self.line.indent}\x02{it.text}" for it in self.lines())

    @property
    def uses(self) -> frozenset[str]:
        """Give the names in it."""
        return _uses([it for line in self.lines() for it in line.tokens])


class _CythonError(Exception):
    """The text is not understood."""


def read_cython(source: bytes) -> Source:
    """Take a Cython source apart."""
    if len(source) > _LARGEST:
        return Source(problem="it is too large")
    text = source.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    directives = "\x01".join(
        re.findall(r"^#[ \t]*(?:cython|distutils)[ \t]*:.*$", text, re.MULTILINE)
    )
    if _TEMPLATE.search(text):
        return Source(problem="it is a template", tokens=text)
    try:
        lines = _lines(text)
    except _CythonError as error:
        return Source(problem=str(error), tokens=text)
    reader = _Reader()
    for block in _blocks(lines):
        reader.take(block)
    reader.finish()
    return Source(
        elements=tuple(reader.elements),
        statements=(Statement(kind=Kind.OTHER, text=directives), *reader.statements),
        # Comments such as `# cython: boundscheck=False` are code.
        tokens="\x03".join([directives, *(f"{it.indent}\x02{it.text}" for it in lines)]),
    )


def _lines(text: str) -> list[_Line]:
    found: list[_Line] = []
    tokens: list[tuple[str, str]] = []
    depth = 0
    indent = 0
    start = 0
    for match in _TOKEN.finditer(text):
        kind, value = str(match.lastgroup), match.group()
        if kind == "newline":
            if depth <= 0:
                if tokens:
                    found.append(_Line(indent, tokens))
                tokens, depth, start = [], 0, match.end()
            continue
        if kind == "skip":
            continue
        if not tokens:
            indent = len(text[start : match.start()].expandtabs(8))
        if kind == "operator" and value in "\"'":
            raise _CythonError("a string has no end")
        if kind == "operator":
            depth += (value in "([{") - (value in ")]}")
        tokens.append(("string" if kind == "long" else kind, value))
    if depth > 0:
        raise _CythonError("a bracket has no end")
    return [*found, *([_Line(indent, tokens)] if tokens else [])]


def _blocks(lines: list[_Line]) -> list[_Block]:
    top: list[_Block] = []
    stack: list[_Block] = []
    for line in lines:
        block = _Block(line)
        while stack and stack[-1].line.indent >= line.indent:
            stack.pop()
        (stack[-1].below if stack else top).append(block)
        stack.append(block)
    return top


def _uses(tokens: list[tuple[str, str]]) -> frozenset[str]:
    found: set[str] = set()
    for kind, text in tokens:
        if kind == "word":
            found |= {text, f'"{text}'}
        elif kind == "string":
            inner = text.lstrip("rRbBuUfFcC").strip("\"'")
            if _IDENTIFIER.fullmatch(inner):
                found |= {inner, f'"{inner}'}
            elif "f" in text[: len(text) - len(text.lstrip("rRbBuUfFcC"))].lower():
                found.update(_IDENTIFIER.findall(inner))
    return frozenset(found)


class _Reader:
    """Sorts blocks into functions and statements."""

    def __init__(self) -> None:
        self.elements: list[Element] = []
        self.statements: list[Statement] = []
        self.decorators: list[_Line] = []

    def take(self, block: _Block, owner: str = "") -> None:
        """Take a block at the top of the file, or of a class."""
        words = block.line.words
        first = words[0]
        if first == "@":
            self.decorators.append(block.line)
            return
        if first in {"cdef", "cpdef", "ctypedef"} and "extern" in words[:3]:
            self.extern(block)
        elif name := _class_name(words):
            self.class_(block, name)
        elif (name := _function_name(block.line)) and block.line.words[-1] == ":":
            self.function(block, name, owner)
        elif (
            name and not block.below and first in {"cdef", "cpdef"} and "=" not in _outside(words)
        ):
            self.statements.append(
                Statement(kind=Kind.DECLARATION, text=block.text, names=(name,))
            )
        elif ":" in words and _function_name(block.line):
            self.function(block, _function_name(block.line), owner)
        elif first in {"cimport", "import", "from"} and not block.below:
            self.imported(block)
        elif first == "property" and owner and len(words) > 1:
            self.function(block, words[1], owner)
        elif owner:
            # Attributes of a class: whoever reaches their types reaches the class.
            self.statements.append(
                Statement(
                    kind=Kind.CLASS,
                    text=block.text,
                    names=(owner,),
                    bound=(owner,),
                    uses=block.uses,
                )
            )
        else:
            self.statements.append(Statement(kind=Kind.OTHER, text=block.text, uses=block.uses))
        self.finish()

    def finish(self) -> None:
        """Keep decorators that nothing followed."""
        for line in self.decorators:
            self.statements.append(
                Statement(kind=Kind.OTHER, text=line.text, uses=_uses(line.tokens))
            )
        self.decorators = []

    def class_(self, block: _Block, name: str) -> None:
        """Take a class: its header, and each member by itself."""
        self.finish()
        self.statements.append(
            Statement(
                kind=Kind.CLASS,
                text=f"{block.line.indent}\x02{block.line.text}",
                names=(name,),
                bound=(name,),
                uses=_uses(block.line.tokens) - {name},
            )
        )
        for member in block.below:
            self.take(member, name)
        self.finish()

    def function(self, block: _Block, name: str, owner: str) -> None:
        """Take a function."""
        attached: list[str] = []
        for line in self.decorators:
            if _is_plain_decorator(line.words, in_class=bool(owner)):
                attached.append(line.text)
            else:
                self.statements.append(
                    Statement(kind=Kind.OTHER, text=line.text, uses=_uses(line.tokens) | {name})
                )
        self.decorators = []
        first = block.line.words[0]
        bound: tuple[str, ...] = () if first == "cdef" else (name,)
        dunder = name.startswith("__") and name.endswith("__")
        whole = ""
        if dunder and owner:
            # It runs without being named, on an object of the class: whoever has one named the class.
            bound = (owner,)
        elif dunder:
            whole = "a special function of the module"
        if "api" in block.line.words[:3] or "public" in block.line.words[:3]:
            whole = "a function that is exported to C"
        self.elements.append(
            Element(
                names=(owner,) if dunder and owner else (name,),
                text="\x03".join([*attached, block.text]),
                head="\x03".join([*attached, block.line.text]),
                uses=block.uses - {name, f'"{name}'},
                bound=bound,
                owner=owner,
                whole=whole,
            )
        )

    def imported(self, block: _Block) -> None:
        """Take an import: a name that is given another name goes on under both."""
        words = block.line.words
        found: list[Statement] = []
        for at, word in enumerate(words):
            if word == "as" and 0 < at < len(words) - 1:
                found.append(
                    Statement(
                        kind=Kind.MACRO,
                        text="",
                        names=(words[at + 1],),
                        uses=frozenset({words[at - 1]}),
                    )
                )
        self.statements.append(Statement(kind=Kind.OTHER, text=block.text))
        self.statements += found

    def extern(self, block: _Block) -> None:
        """Take `cdef extern`: declarations, some of them under another name; verbatim C widens."""
        self.finish()
        verbatim = [
            text
            for line in block.lines()[1:]
            for kind, text in line.tokens
            if kind == "string" and text[:3] in {'"""', "'''"}
        ]
        self.statements.append(
            Statement(
                kind=Kind.OTHER,
                text=block.text,
                uses=frozenset(it for text in verbatim for it in _IDENTIFIER.findall(text)),
            )
        )
        for line in block.lines():
            for (kind, name), (other, text) in zip(line.tokens, line.tokens[1:], strict=False):
                inner = text.strip("\"'")
                if kind == "word" and other == "string" and _IDENTIFIER.fullmatch(inner):
                    self.statements.append(
                        Statement(kind=Kind.MACRO, text="", names=(name,), uses=frozenset({inner}))
                    )


def _is_plain_decorator(words: list[str], *, in_class: bool) -> bool:
    """Tell a decorator that only says how the function is compiled or bound, and calls nothing."""
    name = words[1] if len(words) > 1 else ""
    if name in {"cython", "cy"}:
        return True
    return in_class and (name in _CLASS_DECORATORS or words[-1] in {"setter", "getter", "deleter"})


def _class_name(words: list[str]) -> str:
    if words[0] == "class" and len(words) > 1:
        return words[1]
    if words[0] in {"cdef", "cpdef"} and "class" in words[:4]:
        at = words.index("class") + 1
        names = [it for it in words[at:] if _IDENTIFIER.fullmatch(it)]
        # `cdef class pkg.mod.Name [object X]:`
        rest = words[at:]
        cut = next((i for i, it in enumerate(rest) if it in {"(", ":", "["}), len(rest))
        dotted = [it for it in rest[:cut] if _IDENTIFIER.fullmatch(it)]
        return (dotted or names or [""])[-1]
    return ""


def _function_name(line: _Line) -> str:
    """Give the name of the function whose head this line is."""
    words = line.words
    if words[0] == "async" and len(words) > 2:  # noqa: PLR2004 - `async def name`
        words = words[1:]
    if words[0] not in {"def", "cdef", "cpdef"} or "(" not in words:
        return ""
    at = words.index("(")
    if "=" in words[:at] or words[1:2] in (["class"], ["extern"], ["struct"], ["enum"], ["union"]):
        return ""
    while at > 0 and words[at - 1] == "]":
        at = words.index("[")
    name = words[at - 1]
    return name if _IDENTIFIER.fullmatch(name) and at > 1 else ""


def _outside(words: list[str]) -> list[str]:
    found: list[str] = []
    depth = 0
    for word in words:
        if word in {"(", "[", "{"}:
            depth += 1
        elif word in {")", "]", "}"}:
            depth -= 1
        elif not depth:
            found.append(word)
    return found
