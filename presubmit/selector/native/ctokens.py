"""The tokens of a C or C++ source, and brackets that belong together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

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
DEFINE = re.compile(r"#\s*define\s+([A-Za-z_]\w*)(.*)", re.DOTALL)
_BLANKS = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')|[ \t\r\f\v]+""")
QUOTE = re.compile(r"define .*(?<!#)#\s*[A-Za-z_]")
IDS = re.compile(r"\b_?Py_(?:ID|STR|IDENTIFIER|static_string)\b")
_COMMENT = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')|/\*[\s\S]*?\*/|//[^\n]*""")
OPENING: Final = {"(": ")", "[": "]", "{": "}"}


class UnbalancedError(Exception):
    """Braces do not match, or not in every branch of `#if`."""


@dataclass(frozen=True)
class Token:
    """A word, number, string, operator or directive."""

    kind: str
    text: str


def tokens_of(text: str) -> list[Token]:
    """Take a text apart, comments and layout dropped."""
    found: list[Token] = []
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
        found.append(Token("string" if kind == "raw" else kind, value))
    return found


def pasted(directive: str) -> list[str]:
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


def text_of(tokens: list[Token]) -> str:
    """Give tokens as one text that tells their ends."""
    return "\x00".join(it.text for it in tokens)


def uses_of(tokens: list[Token]) -> frozenset[str]:
    """Give the names in some tokens; `"name` stands for a string that Python may look up (`PyObject_CallMethod`)."""
    found: set[str] = set()
    for token in tokens:
        if token.kind == "word":
            found.add(token.text)
        elif token.kind == "directive":
            found.update(_IDENTIFIER.findall(token.text))
        elif token.kind == "string" and _IDENTIFIER.fullmatch(inner := inner_of(token.text)):
            found.add(f'"{inner}')
    return frozenset(found)


def inner_of(text: str) -> str:
    """Give a string literal without its quotes."""
    return text[text.find('"') + 1 : -1]


def closing_of(tokens: list[Token], start: int) -> int:
    """Give the index of the bracket that closes the one at `start`."""
    depth = 0
    for at in range(start, len(tokens)):
        if tokens[at].kind == "operator":
            depth += (tokens[at].text in "([{") - (tokens[at].text in ")]}")
            if not depth:
                return at
    return len(tokens) - 1


def angle(tokens: list[Token], start: int) -> int:
    """Give the index of the `>` that closes the `<` at `start`."""
    depth = 0
    for at in range(start, len(tokens)):
        depth += (tokens[at].text == "<") - (tokens[at].text == ">")
        if not depth:
            return at
    return len(tokens) - 1


def outside_of(tokens: list[Token]) -> list[Token]:
    """Give the tokens outside of brackets."""
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        if tokens[at].kind == "operator" and tokens[at].text in OPENING:
            at = closing_of(tokens, at)
        else:
            found.append(tokens[at])
        at += 1
    return found


def groups_of(tokens: list[Token]) -> list[int]:
    """Give the places of `(` outside of other brackets."""
    found: list[int] = []
    at = 0
    while at < len(tokens):
        if tokens[at].kind == "operator" and tokens[at].text in OPENING:
            if tokens[at].text == "(":
                found.append(at)
            at = closing_of(tokens, at)
        at += 1
    return found
