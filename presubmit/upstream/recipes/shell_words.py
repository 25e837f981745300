"""The words of a shell script: where each one ends, and what it says once quotes and known variables are read.

POSIX.1-2024, Shell Command Language, sections 2.2 (quoting), 2.3 (tokens), 2.6 (expansions), and bash's own additions.
The standard library's shlex knows neither expansions nor here-documents, nor whether a `$` was quoted.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Mapping


class ShellSyntaxError(Exception):
    """The script cannot be read from here on."""


class Word(Value, frozen=True, kw_only=True):
    """One word after expansion; where that depends on what is not known, `text` shows it as it is written."""

    text: str
    literal: bool = True
    """Nothing in it depends on an unknown variable or on a command's output."""
    pattern: bool = False
    """It holds an unquoted `*` or `?`: the shell would put the names of files in its place."""


class Token(NamedTuple):
    """A piece of a script as it is written: `kind` is `word`, `operator`, `newline` or `end`."""

    kind: str
    text: str
    start: int
    end: int


_OPERATORS: Final = (
    *("&>>", "<<-", "<<<", ";;&"),
    *("&&", "||", ";;", ";&", "|&", "&>", "<<", ">>", "<&", ">&", "<>", ">|"),
    *("&", ";", "|", "<", ">", "(", ")"),
)
REDIRECTIONS: Final = frozenset(
    {*("<", ">", ">>", "<<", "<<-", "<<<", "<&", ">&", "<>", ">|"), *("&>", "&>>")}
)
_ENDS_WORD: Final = frozenset(" \t\n;&|<>()")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ARRAY: Final = re.compile(r"[A-Za-z_]\w*\+?=\(")
_IN_BRACES: Final = re.compile(r"([A-Za-z_]\w*)(?:(:?[-+])(.*))?", re.DOTALL)
_ECHO: Final = re.compile(r"echo\s+(?P<word>[^\s|;&<>()]+)(?:\s*\|\s*tr\s+-d\s+(?P<deleted>\S+))?")
_BRACE_LIST: Final = re.compile(r"\{[^{}\s]*(?:,|\.\.)[^{}\s]*\}")
_QUOTED: Final = re.compile(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|\$\{[^}]*\}", re.DOTALL)


class Scanner:
    """Goes through a script and gives its tokens; bodies of here-documents are passed over."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self._starts = [0, *(m.end() for m in re.finditer("\n", text))]
        self._documents: list[tuple[str, bool]] = []
        self._ahead: Token | None = None

    def line(self, position: int) -> int:
        """Give the line of a position, counting from 0."""
        return bisect_right(self._starts, position) - 1

    def peek(self) -> Token:
        """Give the next token and stay before it."""
        if self._ahead is None:
            self._ahead = self._scan()
        return self._ahead

    def take(self) -> Token:
        """Give the next token and go past it."""
        token = self.peek()
        self._ahead = None
        self.position = token.end
        if token.kind == "newline":
            self._pass_documents()
        return token

    def take_test(self) -> list[str]:
        """Give the raw words up to `]]`, in which `&&`, `(` and `<` are words, too."""
        words: list[str] = []
        while True:
            start = self._pass_blank(newlines=True)
            if start >= len(self.text):
                raise ShellSyntaxError("`[[` has no `]]`")
            sign = next(
                (s for s in ("&&", "||", "(", ")", "<", ">") if self.text.startswith(s, start)), ""
            )
            end = start + len(sign) if sign else self._word_end(start)
            # A regular expression on the right of `=~` may hold parentheses: it counts as unknown anyway.
            self.position = max(end, start + 1)
            words.append(self.text[start : self.position])
            if words[-1] == "]]":
                return words[:-1]

    def pass_parentheses(self) -> None:
        """Go past `((…))`; the next token is the first `(`."""
        self._ahead = None
        self.position = _after_parentheses(self.text, self._pass_blank())

    def expect_document(self, delimiter: str, *, tabs: bool) -> None:
        """Take note of a here-document, whose body begins after this line."""
        self._documents.append((re.sub(r"[\\'\"]", "", delimiter), tabs))

    def _scan(self) -> Token:
        text, start = self.text, self._pass_blank()
        if start >= len(text):
            return Token("end", "", start, start)
        if text[start] == "\n":
            return Token("newline", "\n", start, start + 1)
        if not text.startswith(("<(", ">("), start):
            for operator in _OPERATORS:
                if text.startswith(operator, start):
                    return Token("operator", operator, start, start + len(operator))
        end = self._word_end(start)
        if text[start:end].isdigit() and text[end : end + 1] in {"<", ">"}:
            # `2>&1`: the number belongs to the redirection.
            operator = next(o for o in _OPERATORS if text.startswith(o, end))
            return Token("operator", operator, start, end + len(operator))
        return Token("word", text[start:end], start, end)

    def _pass_blank(self, *, newlines: bool = False) -> int:
        text, position = self.text, self.position
        blank = " \t\n" if newlines else " \t"
        while position < len(text):
            if text[position] in blank:
                position += 1
            elif text.startswith("\\\n", position):
                position += 2
            elif text[position] == "#":
                found = text.find("\n", position)
                position = len(text) if found < 0 else found
            else:
                break
        return position

    def _word_end(self, start: int) -> int:
        text, position = self.text, start
        array = _ARRAY.match(text, start)
        if array is not None:
            position = _after_parentheses(text, array.end() - 1)
        while position < len(text):
            if text.startswith(("<(", ">("), position):
                position = _after_parentheses(text, position + 1)
            elif text[position] in _ENDS_WORD:
                break
            else:
                position = _after_piece(text, position)
        return position

    def _pass_documents(self) -> None:
        for delimiter, tabs in self._documents:
            while True:
                if self.position >= len(self.text):
                    raise ShellSyntaxError(f"the here-document has no end `{delimiter}`")
                end = self.text.find("\n", self.position)
                end = len(self.text) if end < 0 else end
                line = self.text[self.position : end]
                self.position = end + 1
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
        self._documents.clear()


def _after_piece(text: str, position: int) -> int:  # noqa: PLR0911 - one kind of quotation a line
    """Go past one character, or past a whole quotation or expansion that begins here."""
    two = text[position : position + 2]
    if text[position] == "\\":
        return min(position + 2, len(text))
    if text[position] == "'":
        return _find(text, "'", position + 1) + 1
    if two == "$'":
        return _after_escaped(text, position + 2, "'")
    if text[position] == '"':
        return _after_double(text, position + 1)
    if two == "$(":
        return _after_parentheses(text, position + 1)
    if two == "${":
        return _after_braces(text, position + 2)
    if text[position] == "`":
        return _after_escaped(text, position + 1, "`")
    return position + 1


def _find(text: str, sign: str, position: int) -> int:
    found = text.find(sign, position)
    if found < 0:
        raise ShellSyntaxError(f"`{sign}` is not closed")
    return found


def _after_escaped(text: str, position: int, sign: str) -> int:
    while position < len(text):
        if text[position] == sign:
            return position + 1
        position += 2 if text[position] == "\\" else 1
    raise ShellSyntaxError(f"`{sign}` is not closed")


def _after_double(text: str, position: int) -> int:
    while position < len(text):
        if text[position] == '"':
            return position + 1
        # Single quotes mean nothing between double ones.
        position = position + 1 if text[position] == "'" else _after_piece(text, position)
    raise ShellSyntaxError('`"` is not closed')


def _after_parentheses(text: str, position: int) -> int:
    depth = 0
    while position < len(text):
        if text[position] == "(":
            depth += 1
            position += 1
        elif text[position] == ")":
            depth -= 1
            position += 1
            if depth == 0:
                return position
        elif text[position] == "#" and text[position - 1] in " \t\n":
            position = _find(text, "\n", position)
        else:
            position = _after_piece(text, position)
    raise ShellSyntaxError("`(` is not closed")


def _after_braces(text: str, position: int) -> int:
    while position < len(text):
        if text[position] == "}":
            return position + 1
        position = _after_piece(text, position)
    raise ShellSyntaxError("`${` is not closed")


# --- expansion ------------------------------------------------------------------------------------------------------


class _Fields:
    """The words that one written word becomes."""

    def __init__(self, *, split: bool) -> None:
        self.split = split
        self.done: list[Word] = []
        self.pieces: list[str] = []
        self.began = self.pattern = False
        self.literal = True

    def add(self, text: str) -> None:
        self.pieces.append(text)
        self.began = True

    def unknown(self, raw: str) -> None:
        self.add(raw)
        self.literal = False

    def value(self, value: str) -> None:
        """Add an unquoted variable's value, which the shell splits at blanks."""
        if not self.split:
            self.add(value)
            return
        pieces = re.split(r"[ \t\n]+", value)
        for number, piece in enumerate(pieces):
            if number:
                self.end()
            if piece:
                self.add(piece)
                self.pattern = self.pattern or "*" in piece

    def end(self) -> None:
        if self.began:
            text = "".join(self.pieces)
            self.done.append(Word(text=text, literal=self.literal, pattern=self.pattern))
        self.pieces, self.began, self.pattern, self.literal = [], False, False, True


def expand(raw: str, variables: Mapping[str, str]) -> tuple[Word, ...]:
    """Give the words that a written word becomes; an unquoted variable may give none or several."""
    return _expand(raw, variables, split=True)


def expand_value(raw: str, variables: Mapping[str, str]) -> Word:
    """Give the one word of an assignment's right side or a redirection's target: it is not split."""
    words = _expand(raw, variables, split=False)
    return words[0] if words else Word(text="")


def _expand(raw: str, variables: Mapping[str, str], *, split: bool) -> tuple[Word, ...]:  # noqa: C901 - one kind of quotation a line
    fields = _Fields(split=split)
    position = 0
    if raw.startswith("~") and raw[1:2] in {"", "/"}:
        position = 1
        fields.add(variables["HOME"]) if "HOME" in variables else fields.unknown("~")
    while position < len(raw):
        end = _after_piece(raw, position)
        piece = raw[position:end]
        position = end
        if piece.startswith("\\"):
            if piece != "\\\n":
                fields.add(piece[1:])
        elif piece.startswith("'"):
            fields.add(piece[1:-1])
        elif piece.startswith("$'"):
            fields.add(_ansi(piece[2:-1]))
        elif piece.startswith('"'):
            fields.began = True
            _expand_quoted(piece[1:-1], variables, fields)
        elif piece.startswith("$"):
            position = _expand_variable(raw, position, piece, variables, fields, quoted=False)
        elif piece.startswith("`"):
            fields.unknown(piece)
        else:
            fields.add(piece)
            fields.pattern = fields.pattern or piece in {"*", "?"}
    if split and _BRACE_LIST.search(_QUOTED.sub("", raw)):
        fields.literal = False
    fields.end()
    return tuple(fields.done)


def _expand_quoted(raw: str, variables: Mapping[str, str], fields: _Fields) -> None:
    position = 0
    while position < len(raw):
        if raw[position] == "\\":
            following = raw[position + 1 : position + 2]
            if following in {"$", "`", '"', "\\"}:
                fields.add(following)
            elif following != "\n":
                fields.add("\\" + following)
            position += 2
        elif raw[position] == "$":
            end = _after_piece(raw, position)
            piece = raw[position:end]
            position = _expand_variable(raw, end, piece, variables, fields, quoted=True)
        elif raw[position] == "`":
            end = _after_piece(raw, position)
            fields.unknown(raw[position:end])
            position = end
        else:
            fields.add(raw[position])
            position += 1


def _expand_variable(
    raw: str, end: int, piece: str, variables: Mapping[str, str], fields: _Fields, *, quoted: bool
) -> int:
    """Expand `$X`, `${X}`, `${X:-y}` or `${X:+y}`; gives where the text goes on."""
    if piece == "$":
        name = _NAME.match(raw, end)
        if name is None:
            special = raw[end : end + 1] if raw[end : end + 1] in set("0123456789@*#?$!-") else ""
            fields.unknown("$" + special) if special else fields.add("$")
            return end + len(special)
        end, value = name.end(), variables.get(name.group())
        piece += name.group()
    elif piece.startswith("${"):
        value = _braced(piece[2:-1], variables)
    else:
        value = _printed(piece[2:-1], variables)
    if value is None:
        fields.unknown(piece)
    elif quoted:
        fields.add(value)
    else:
        fields.value(value)
    return end


def _braced(inner: str, variables: Mapping[str, str]) -> str | None:
    removed = re.fullmatch(r"([A-Za-z_]\w*)//([\w.-])(?:/([\w.-]*))?", inner)
    if removed is not None and removed[1] in variables:
        return variables[removed[1]].replace(removed[2], removed[3] or "")
    found = _IN_BRACES.fullmatch(inner)
    if found is None or found.group(1) not in variables:
        return None
    name, operator, other = found.groups()
    value = variables[name]
    if operator is None or (operator.endswith("-") and (value or operator == "-")):
        return value
    if operator == ":+" and not value:
        return ""
    word = expand_value(other, variables)
    return word.text if word.literal else None


def _printed(inner: str, variables: Mapping[str, str]) -> str | None:
    """Give what `$(echo x)` and `$(echo 3.12 | tr -d .)` print: how workflows make `py312` of `3.12`."""
    found = _ECHO.fullmatch(inner.strip())
    if found is None:
        return None
    word = expand_value(found["word"], variables)
    if not word.literal or word.text.startswith("-"):
        return None
    deleted = expand_value(found["deleted"] or "", {}).text
    if len(deleted) > 1 and not deleted.isalnum() and deleted != "[:space:]":
        return None
    letters = " \t\n" if deleted == "[:space:]" else deleted
    return "".join(letter for letter in word.text if letter not in letters)


def _ansi(text: str) -> str:
    try:
        return codecs.decode(text.encode("latin-1", "backslashreplace"), "unicode_escape")
    except ValueError:
        return text
