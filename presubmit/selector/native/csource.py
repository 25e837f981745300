"""Takes a C or C++ source apart, without a compiler: functions, tables of names, and what else runs or holds at import."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Final

from presubmit.selector.native.cheads import (
    CLASSES,
    MODULE_CALLS,
    RUN_ALONE,
    Scope,
    called_unnamed,
    class_scope,
    declared_name,
    entries_of,
    first_word,
    in_class,
    is_method_table,
    name_function,
    without_attributes,
)
from presubmit.selector.native.ctokens import (
    DEFINE,
    IDS,
    OPENING,
    QUOTE,
    Token,
    UnbalancedError,
    groups_of,
    inner_of,
    outside_of,
    pasted,
    text_of,
    tokens_of,
    uses_of,
)
from presubmit.selector.native.elements import Element, Kind, Source, Statement
from presubmit.selector.native.registrars import REGISTRARS, pieces_of, registers

_LARGEST: Final = 4 * 1024 * 1024


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
        tokens = tokens_of(text)
    except RecursionError:  # pragma: no cover - the expressions do not nest
        return Source(problem="it is too deep")
    everything = text_of(tokens)
    reader = _Reader(tokens)
    try:
        reader.read()
    except UnbalancedError as error:
        return Source(problem=str(error), tokens=everything)
    return Source(
        elements=tuple(reader.parts.elements),
        statements=tuple(reader.module_tables()),
        pastes=tuple(
            dict.fromkeys(
                pattern for it in tokens if it.kind == "directive" for pattern in pasted(it.text)
            )
        ),
        quotes=any(
            it.kind is Kind.MACRO and QUOTE.search(it.text) for it in reader.parts.statements
        )
        or IDS.search(everything) is not None,
        tokens=everything,
    )


class _Reader:
    """Walks the tokens outside of functions."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.parts = _Parts()
        self.scopes: list[Scope] = []
        self.head: list[Token] = []
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
            raise UnbalancedError("its braces do not match")
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
                raise UnbalancedError("its braces do not match")
            self.end_statement()
            self.scopes.pop()
        elif len(self.head) == 1 and self.head[0].text in {"public", "private", "protected"}:
            self.statement(Kind.OTHER, self.head)
            self.head = []
        else:
            self.head.append(Token("operator", ":"))

    def match(self, start: int) -> int:
        """Give the place of the closing bracket; every branch of `#if` must leave the depth as it was."""
        stack: list[str] = []
        branches: list[int] = []
        for at in range(start, len(self.tokens)):
            token = self.tokens[at]
            if token.kind == "directive":
                _branch(token.text, len(stack), branches)
            elif token.kind == "operator":
                if token.text in OPENING:
                    stack.append(OPENING[token.text])
                elif token.text in ")]}":
                    if not stack or stack.pop() != token.text:
                        raise UnbalancedError("its brackets do not match")
                    if not stack:
                        if branches:
                            raise UnbalancedError("its brackets differ between branches of #if")
                        return at
        raise UnbalancedError("its brackets do not match")

    def directive(self, token: Token) -> None:
        """Take a preprocessor line; one inside a statement stands before it."""
        match = DEFINE.match(token.text)
        if match is None:
            self.parts.statements.append(Statement(kind=Kind.OTHER, text=token.text))
            return
        self.parts.statements.append(
            Statement(
                kind=Kind.MACRO,
                text=token.text,
                names=(match[1],),
                uses=uses_of(tokens_of(match[2])),
            )
        )

    def brace(self) -> None:
        """Decide what `{` opens."""
        head = self.head
        words = [it.text for it in head]
        plain = without_attributes(head)
        first = first_word(plain)
        if first == "namespace" or (
            words[:1] == ["extern"] and [it.kind for it in head[1:]] == ["string"]
        ):
            self.open_scope(Scope("namespace", " ".join(words)))
        elif (
            any(it.kind == "operator" and it.text == "=" for it in outside_of(plain))
            and "operator" not in words
        ):
            self.data()
        elif groups_of(plain):
            self.function(plain)
        elif first in CLASSES:
            self.open_scope(class_scope(plain))
        else:
            self.data()

    def open_scope(self, scope: Scope) -> None:
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

    def function(self, plain: list[Token]) -> None:
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
        names, whole = name_function(plain, scope)
        pieces = (
            pieces_of([(it.kind, it.text) for it in body[1:-1]])
            if not whole or names[0] in REGISTRARS
            else ()
        )
        if names[0] in REGISTRARS:
            whole = "" if pieces else "what runs at import"
        if not whole and not pieces and registers([(it.kind, it.text) for it in body]):
            whole = "a function that registers names in a way that is not read"
        if not whole and not RUN_ALONE.isdisjoint(
            it.text for it in tokens[: len(tokens) - len(body)]
        ):
            whole = "an initialiser"
        if not whole and in_class(plain, scope) and (reason := called_unnamed(names, scope)):
            whole = reason
        self.parts.elements.append(
            Element(
                names=names,
                text=text_of(tokens),
                head=self.place(),
                uses=(uses_of(tokens) - {*names}) | _recursion(body, names),
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
        if is_method_table(head):
            self.table(head)
        elif (name := declared_name(head)) and not any(it.kind == "class" for it in self.scopes):
            # `__attribute__((alias("other")))` makes it another name.
            others = {inner_of(it.text) for it in head if it.kind == "string"}
            kind = Kind.MACRO if others - {"C", "C++"} else Kind.DECLARATION
            self.parts.statements.append(
                Statement(kind=kind, text=text_of(head), names=(name,), uses=frozenset(others))
            )
        else:
            self.statement(Kind.OTHER, head)

    def statement(self, kind: Kind, head: list[Token]) -> None:
        """Note a statement."""
        if head:
            self.parts.statements.append(
                Statement(kind=kind, text=text_of(head), uses=uses_of(head))
            )

    def module_tables(self) -> list[Statement]:
        """Give the statements; entries of a table that makes functions of the module are marked as such."""
        users = [it.uses for it in self.parts.statements if "PyModuleDef" in it.text.split("\x00")]
        users += [it.uses for it in self.parts.elements if not MODULE_CALLS.isdisjoint(it.uses)]
        return [
            dataclasses.replace(it, method=False)
            if it.kind is Kind.ENTRY and any(it.names[0] in uses for uses in users)
            else it
            for it in self.parts.statements
        ]

    def table(self, head: list[Token]) -> None:
        """Take the entries of a method table: `{"name", function, ...}` each."""
        outside: list[Token] = []
        words = [it.text for it in head]
        table = words[words.index("PyMethodDef") + 1]
        for tokens in entries_of(head, outside):
            texts = [it for it in tokens[1:-1] if it.kind != "directive"]
            name = inner_of(texts[0].text) if texts and texts[0].kind == "string" else ""
            plain = bool(name) and len(texts) > 1 and texts[1].text == ","
            self.parts.statements.append(
                Statement(
                    kind=Kind.ENTRY if plain else Kind.OTHER,
                    text=text_of(tokens),
                    names=(table,),
                    bound=(name,) if plain else (),
                    uses=uses_of(tokens),
                )
            )
        self.statement(Kind.OTHER, outside)


def _branch(text: str, depth: int, branches: list[int]) -> None:
    word = text.removeprefix("#").strip().partition(" ")[0].partition("(")[0]
    if word.startswith("if"):
        branches.append(depth)
    elif word.startswith(("el", "endif")):
        if not branches or branches[-1] != depth:
            raise UnbalancedError("its brackets differ between branches of #if")
        if word.startswith("endif"):
            branches.pop()


def _recursion(body: list[Token], names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(names) & uses_of(body)
