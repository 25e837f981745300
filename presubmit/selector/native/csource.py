"""Takes a C or C++ source apart without a compiler: functions, tables and the rest; what is not understood widens."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from typing import Final

from presubmit.selector.native.elements import IMPLICIT, Element, Kind, Source, Statement
from presubmit.selector.native.registrars import REGISTRARS, pieces_of, registers

_TOKEN = re.compile(
    r"""
    (?P<skip>[ \t\r\n\f\v]+|//[^\n]*|/\*[\s\S]*?\*/)
  | (?P<directive>^[ \t]*(?:\#|%:)(?:/\*[\s\S]*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|[^\n])*)
  | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\([\s\S]*?\)(?P=mark)")
  | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
  | (?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
  | (?P<word>[A-Za-z_$][\w$]*)
  | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
  | (?P<operator>::|->|\#\#|.)
    """,
    re.VERBOSE | re.MULTILINE,
)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_DEFINE = re.compile(r"#\s*define\s+([A-Za-z_]\w*)(.*)", re.DOTALL)
_BLANKS = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')|[ \t\r\f\v]+""")
_QUOTE = re.compile(r"define .*(?<!#)#\s*[A-Za-z_]")
_IDS = re.compile(r"\b_?Py_(?:ID|STR|IDENTIFIER|static_string)\b")
_COMMENT = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')|/\*[\s\S]*?\*/|//[^\n]*""")
_ATTRIBUTES: Final = frozenset(
    {
        "__attribute__",
        "__declspec",
        "alignas",
        "noexcept",
        "decltype",
        "throw",
        "requires",
        "explicit",
        "_Alignas",
    }
)
_CLASSES: Final = frozenset({"class", "struct", "union"})
_OPENING: Final = {"(": ")", "[": "]", "{": "}"}
_RUN_ALONE: Final = frozenset(
    {"constructor", "__constructor__", "destructor", "__destructor__", "ifunc"}
)
_MODULE_CALLS: Final = frozenset(
    {"PyModule_AddFunctions", "Py_InitModule", "Py_InitModule3", "Py_InitModule4"}
)
_TYPE_AND_NAME: Final = 2
_LARGEST: Final = 4 * 1024 * 1024


class _UnbalancedError(Exception):
    """Braces do not match, or not in every branch of `#if`."""


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str


@dataclass
class _Scope:
    kind: str
    name: str = ""
    derived: bool = False


@dataclass
class _Parts:
    elements: list[Element] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)


def read_c(source: bytes) -> Source:
    """Take a C or C++ source apart."""
    if len(source) > _LARGEST:
        return Source(problem="it is too large")
    text = source.decode("utf-8", "surrogateescape").replace("\\\r\n", "").replace("\\\n", "")
    try:
        tokens = _tokens(text)
    except RecursionError:  # pragma: no cover - the expressions do not nest
        return Source(problem="it is too deep")
    everything = _text(tokens)
    reader = _Reader(tokens)
    try:
        reader.read()
    except _UnbalancedError as error:
        return Source(problem=str(error), tokens=everything)
    return Source(
        elements=tuple(reader.parts.elements),
        statements=tuple(reader.module_tables()),
        pastes=tuple(
            dict.fromkeys(
                pattern for it in tokens if it.kind == "directive" for pattern in _pasted(it.text)
            )
        ),
        quotes=any(
            it.kind is Kind.MACRO and _QUOTE.search(it.text) for it in reader.parts.statements
        )
        or _IDS.search(everything) is not None,
        tokens=everything,
    )


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        if kind == "mark":
            kind = "raw"
        if kind == "skip":
            continue
        value = match.group()
        if kind == "directive":
            value = _COMMENT.sub(lambda it: it[1] or " ", value)
            value = _BLANKS.sub(lambda it: it[1] or " ", value).strip()
            value = re.sub(r"^(#|%:) ?", "#", value)
        found.append(_Token("string" if kind == "raw" else kind, value))
    return found


def _pasted(directive: str) -> list[str]:
    """Give patterns of the names that a macro may make; an argument stands for anything."""
    if "##" not in directive:
        return []
    match = re.match(r"#\s*define\s+\w+\(([^)]*)\)", directive)
    parameters = {*re.findall(r"\w+", match[1]), "__VA_ARGS__"} if match else set()
    body = re.sub(r",\s*##\s*__VA_ARGS__", "", directive[match.end() if match else 0 :])
    found: list[str] = []
    for chain in re.findall(r"\w+(?:\s*##\s*\w+)+", body):
        pieces = [it.strip() for it in chain.split("##")]
        if not pieces[0][0].isdigit():
            found.append("".join(r"\w*" if it in parameters else re.escape(it) for it in pieces))
    rest = re.sub(r"\w+(?:\s*##\s*\w+)+", "", body)
    return [*found, r"\w*"] if "##" in rest else found


def _text(tokens: list[_Token]) -> str:
    return "\x00".join(it.text for it in tokens)


def _uses(tokens: list[_Token]) -> frozenset[str]:
    """Give the names in some tokens; `"name` stands for a string that Python may look up (`PyObject_CallMethod`)."""
    found: set[str] = set()
    for token in tokens:
        if token.kind == "word":
            found.add(token.text)
        elif token.kind == "directive":
            found.update(_IDENTIFIER.findall(token.text))
        elif token.kind == "string" and _IDENTIFIER.fullmatch(inner := _inner(token.text)):
            found.add(f'"{inner}')
    return frozenset(found)


def _inner(text: str) -> str:
    return text[text.find('"') + 1 : -1]


class _Reader:
    """Walks the tokens outside of functions."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.parts = _Parts()
        self.scopes: list[_Scope] = []
        self.head: list[_Token] = []
        self.at = 0

    def read(self) -> None:
        """Read everything."""
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.kind == "directive":
                self.directive(token)
                self.at += 1
            elif token.kind != "operator" or token.text not in "{};([:":
                self.head.append(token)
                self.at += 1
            elif token.text in "([":
                end = self.match(self.at)
                self.head += self.tokens[self.at : end + 1]
                self.at = end + 1
            else:
                self.punctuation(token.text)
        if self.scopes:
            raise _UnbalancedError("its braces do not match")
        self.end_statement()

    def punctuation(self, text: str) -> None:
        """Take `;`, `:`, `{` or `}`."""
        if text == "{":
            self.brace()
            return
        self.at += 1
        if text == ";":
            self.end_statement()
        elif text == "}":
            if not self.scopes:
                raise _UnbalancedError("its braces do not match")
            self.end_statement()
            self.scopes.pop()
        elif len(self.head) == 1 and self.head[0].text in {"public", "private", "protected"}:
            self.statement(Kind.OTHER, self.head)
            self.head = []
        else:
            self.head.append(_Token("operator", ":"))

    def match(self, start: int) -> int:
        """Give the place of the closing bracket; every branch of `#if` must leave the depth as it was."""
        stack: list[str] = []
        branches: list[int] = []
        for at in range(start, len(self.tokens)):
            token = self.tokens[at]
            if token.kind == "directive":
                _branch(token.text, len(stack), branches)
            elif token.kind == "operator":
                if token.text in _OPENING:
                    stack.append(_OPENING[token.text])
                elif token.text in ")]}":
                    if not stack or stack.pop() != token.text:
                        raise _UnbalancedError("its brackets do not match")
                    if not stack:
                        if branches:
                            raise _UnbalancedError("its brackets differ between branches of #if")
                        return at
        raise _UnbalancedError("its brackets do not match")

    def directive(self, token: _Token) -> None:
        """Take a preprocessor line; one inside a statement stands before it."""
        match = _DEFINE.match(token.text)
        if match is None:
            self.parts.statements.append(Statement(kind=Kind.OTHER, text=token.text))
            return
        self.parts.statements.append(
            Statement(
                kind=Kind.MACRO,
                text=token.text,
                names=(match[1],),
                uses=_uses(_tokens(match[2])),
            )
        )

    def brace(self) -> None:
        """Decide what `{` opens."""
        head = self.head
        words = [it.text for it in head]
        plain = _without_attributes(head)
        first = _first_word(plain)
        if first == "namespace" or (
            words[:1] == ["extern"] and [it.kind for it in head[1:]] == ["string"]
        ):
            self.open_scope(_Scope("namespace", " ".join(words)))
        elif (
            any(it.kind == "operator" and it.text == "=" for it in _outside(plain))
            and "operator" not in words
        ):
            self.data()
        elif _groups(plain):
            self.function(plain)
        elif first in _CLASSES:
            self.open_scope(_class_scope(plain))
        else:
            self.data()

    def open_scope(self, scope: _Scope) -> None:
        """Enter a namespace or a class."""
        self.statement(Kind.OTHER, self.head)
        self.scopes.append(scope)
        self.head = []
        self.at += 1

    def data(self) -> None:
        """Take braces that hold data; the statement goes on after them."""
        end = self.match(self.at)
        self.head += self.tokens[self.at : end + 1]
        self.at = end + 1

    def function(self, plain: list[_Token]) -> None:
        """Take a function with its body."""
        end = self.match(self.at)
        body = self.tokens[self.at : end + 1]
        tokens = [*self.head, *body]
        self.at = end + 1
        self.head = []
        # What is defined inside stays defined after the function.
        for token in body:
            if token.kind == "directive" and token.text.startswith("#define"):
                self.directive(token)
        scope = next((it for it in reversed(self.scopes) if it.kind == "class"), None)
        names, whole = _name_function(plain, scope)
        pieces = (
            pieces_of([(it.kind, it.text) for it in body[1:-1]])
            if not whole or names[0] in REGISTRARS
            else ()
        )
        if names[0] in REGISTRARS:
            whole = "" if pieces else "what runs at import"
        if not whole and not pieces and registers([(it.kind, it.text) for it in body]):
            whole = "a function that registers names in a way that is not read"
        if not whole and not _RUN_ALONE.isdisjoint(
            it.text for it in tokens[: len(tokens) - len(body)]
        ):
            whole = "an initialiser"
        if not whole and _in_class(plain, scope) and (reason := _called_unnamed(names, scope)):
            whole = reason
        self.parts.elements.append(
            Element(
                names=names,
                text=_text(tokens),
                head=self.place(),
                uses=(_uses(tokens) - {*names}) | _recursion(body, names),
                whole=whole,
                pieces=pieces,
                owner=scope.name if scope else "",
            )
        )

    def place(self) -> str:
        """Say between which preprocessor lines and in which scopes this is: moving it elsewhere is a change."""
        lines = sum(it.text.startswith("#") for it in self.parts.statements)
        return "\x00".join([str(lines), *(it.name or it.kind for it in self.scopes)])

    def end_statement(self) -> None:
        """Take what was gathered as one statement."""
        head, self.head = self.head, []
        if not head:
            return
        if _is_method_table(head):
            self.table(head)
        elif (name := _declared(head)) and not any(it.kind == "class" for it in self.scopes):
            # `__attribute__((alias("other")))` makes it another name.
            others = {_inner(it.text) for it in head if it.kind == "string"}
            kind = Kind.MACRO if others - {"C", "C++"} else Kind.DECLARATION
            self.parts.statements.append(
                Statement(kind=kind, text=_text(head), names=(name,), uses=frozenset(others))
            )
        else:
            self.statement(Kind.OTHER, head)

    def statement(self, kind: Kind, head: list[_Token]) -> None:
        """Note a statement."""
        if head:
            self.parts.statements.append(Statement(kind=kind, text=_text(head), uses=_uses(head)))

    def module_tables(self) -> list[Statement]:
        """Give the statements; entries of a table that makes functions of the module are marked as such."""
        users = [it.uses for it in self.parts.statements if "PyModuleDef" in it.text.split("\x00")]
        users += [it.uses for it in self.parts.elements if not _MODULE_CALLS.isdisjoint(it.uses)]
        return [
            dataclasses.replace(it, method=False)
            if it.kind is Kind.ENTRY and any(it.names[0] in uses for uses in users)
            else it
            for it in self.parts.statements
        ]

    def table(self, head: list[_Token]) -> None:
        """Take the entries of a method table: `{"name", function, ...}` each."""
        outside: list[_Token] = []
        words = [it.text for it in head]
        table = words[words.index("PyMethodDef") + 1]
        for tokens in _entries(head, outside):
            texts = [it for it in tokens[1:-1] if it.kind != "directive"]
            name = _inner(texts[0].text) if texts and texts[0].kind == "string" else ""
            plain = bool(name) and len(texts) > 1 and texts[1].text == ","
            self.parts.statements.append(
                Statement(
                    kind=Kind.ENTRY if plain else Kind.OTHER,
                    text=_text(tokens),
                    names=(table,),
                    bound=(name,) if plain else (),
                    uses=_uses(tokens),
                )
            )
        self.statement(Kind.OTHER, outside)


def _branch(text: str, depth: int, branches: list[int]) -> None:
    word = text.removeprefix("#").strip().partition(" ")[0].partition("(")[0]
    if word.startswith("if"):
        branches.append(depth)
    elif word.startswith(("el", "endif")):
        if not branches or branches[-1] != depth:
            raise _UnbalancedError("its brackets differ between branches of #if")
        if word.startswith("endif"):
            branches.pop()


def _recursion(body: list[_Token], names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(names) & _uses(body)


def _without_attributes(head: list[_Token]) -> list[_Token]:
    """Drop `__attribute__((...))` and what is like it, and `template <...>`."""
    found: list[_Token] = []
    at = 0
    while at < len(head):
        if head[at].text in _ATTRIBUTES and at + 1 < len(head) and head[at + 1].text == "(":
            at = _closing(head, at + 1) + 1
        elif head[at].text == "template" and at + 1 < len(head) and head[at + 1].text == "<":
            at = _angle(head, at + 1) + 1
        else:
            if head[at].kind != "directive":
                found.append(head[at])
            at += 1
    return found


def _closing(tokens: list[_Token], start: int) -> int:
    depth = 0
    for at in range(start, len(tokens)):
        if tokens[at].kind == "operator":
            depth += (tokens[at].text in "([{") - (tokens[at].text in ")]}")
            if not depth:
                return at
    return len(tokens) - 1


def _angle(tokens: list[_Token], start: int) -> int:
    depth = 0
    for at in range(start, len(tokens)):
        depth += (tokens[at].text == "<") - (tokens[at].text == ">")
        if not depth:
            return at
    return len(tokens) - 1


def _outside(tokens: list[_Token]) -> list[_Token]:
    """Give the tokens outside of brackets."""
    found: list[_Token] = []
    at = 0
    while at < len(tokens):
        if tokens[at].kind == "operator" and tokens[at].text in _OPENING:
            at = _closing(tokens, at)
        else:
            found.append(tokens[at])
        at += 1
    return found


def _groups(tokens: list[_Token]) -> list[int]:
    """Give the places of `(` outside of other brackets."""
    found: list[int] = []
    at = 0
    while at < len(tokens):
        if tokens[at].kind == "operator" and tokens[at].text in _OPENING:
            if tokens[at].text == "(":
                found.append(at)
            at = _closing(tokens, at)
        at += 1
    return found


def _first_word(tokens: list[_Token]) -> str:
    skipped = {
        "typedef",
        "static",
        "const",
        "constexpr",
        "inline",
        "extern",
        "friend",
        "export",
        "volatile",
    }
    return next((it.text for it in tokens if it.text not in skipped), "")


def _class_scope(head: list[_Token]) -> _Scope:
    words = [it.text for it in head]
    cut = words.index(":") if ":" in words else len(words)
    names = [it.text for it in head[:cut] if it.kind == "word" and it.text != "final"]
    return _Scope("class", names[-1] if names else "", derived=cut < len(words))


def _name_function(  # noqa: PLR0911 - one case for each kind of name
    plain: list[_Token], scope: _Scope | None
) -> tuple[tuple[str, ...], str]:
    """Give the names that a function may have, and why it is reached without being named."""
    groups = _groups(plain)
    texts = [it.text for it in plain]
    first = plain[groups[0] - 1] if groups[0] else _Token("operator", "")
    name = first.text if first.kind == "word" else "?"
    if "operator" in texts:
        return ("operator",), "an operator"
    if first.kind != "word":
        return (name,), "a function whose name cannot be told"
    if groups[0] == 1:
        return (name,), "a constructor, or a function that a macro makes"
    before = texts[groups[0] - 2]
    if before == "~":
        return (name,), "a destructor"
    if before == "::":
        owner = texts[groups[0] - 3] if groups[0] > 2 else ""  # noqa: PLR2004 - `A :: name (`
        if owner in {name, ">"}:
            return (name,), "a constructor, or a member of a template"
    if scope is not None and name == scope.name:
        return (name,), "a constructor"
    if ":" in texts[groups[0] :]:
        return (name,), "a constructor"
    names = [plain[at - 1].text for at in groups if plain[at - 1].kind == "word"]
    return tuple(dict.fromkeys(names)), ""


def _in_class(plain: list[_Token], scope: _Scope | None) -> bool:
    return scope is not None or any(it.text == "::" for it in plain[: _groups(plain)[0]])


def _called_unnamed(names: tuple[str, ...], scope: _Scope | None) -> str:
    if scope is not None and scope.derived:
        return "a method of a derived class"
    return "a method that C++ calls by itself" if IMPLICIT.intersection(names) else ""


def _declared(head: list[_Token]) -> str:  # noqa: PLR0911 - one case for each thing that looks alike
    """Give the name that a prototype declares; a macro's call, which looks alike, has no type before it."""
    plain = _without_attributes(head)
    outside = [it.text for it in _outside(plain)]
    groups = _groups(plain)
    if (
        not groups
        or "=" in outside
        or "{" in outside
        or {"typedef", "using", "operator"} & {*outside}
    ):
        return ""
    at = groups[0]
    if (
        len(groups) > 1
        or at < _TYPE_AND_NAME
        or plain[at - 1].kind != "word"
        or _closing(plain, at) != len(plain) - 1
    ):
        return ""
    before = plain[at - 2]
    if before.kind != "word" and before.text not in {"*", "&", ">"}:
        return ""
    if before.text in {"return", "new", "delete", "throw", "else", "goto"}:
        return ""
    inner = plain[at + 1 : -1]
    # `Type name(value);` is a variable that is constructed, and runs at import.
    if any(it.kind in {"string", "number", "char"} or it.text in {"(", "{", "."} for it in inner):
        return ""
    if inner and all(it.kind == "word" or it.text == "," for it in inner) and not _typed(inner):
        return ""
    return plain[at - 1].text


def _typed(inner: list[_Token]) -> bool:
    """Tell `int a, long b` or `void` from `a, b`."""
    parts: list[list[_Token]] = [[]]
    for token in inner:
        if token.text == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    basic = {
        "void",
        "int",
        "char",
        "long",
        "short",
        "double",
        "float",
        "unsigned",
        "size_t",
        "bool",
        "Py_ssize_t",
    }
    return all(len(it) > 1 or (it and it[0].text in basic) for it in parts)


def _is_method_table(head: list[_Token]) -> bool:
    words = [it.text for it in head]
    return (
        "PyMethodDef" in words
        and "=" in words
        and "{" in words
        and words.index("PyMethodDef") < words.index("=")
    )


def _entries(head: list[_Token], outside: list[_Token]) -> list[list[_Token]]:
    """Split a table's braces; what stands between the entries goes to `outside`."""
    start = next(at for at, it in enumerate(head) if it.text == "{" and it.kind == "operator")
    end = _closing(head, start)
    outside += head[: start + 1]
    found: list[list[_Token]] = []
    at = start + 1
    while at < end:
        if head[at].text == "{" and head[at].kind == "operator":
            close = _closing(head, at)
            found.append(head[at : close + 1])
            at = close + 1
        else:
            outside.append(head[at])
            at += 1
    outside += head[end:]
    return found
