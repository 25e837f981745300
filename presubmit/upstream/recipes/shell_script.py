"""Reads a shell script into its simple commands: with what environment, where, and under which condition each runs.

POSIX.1-2024, Shell Command Language, sections 2.9 and 2.10, and bash's additions. Nothing is guessed: where the
script cannot be read, the rest of it is `unread`; where it depends on what is not known, that is said of the command.
"""

from __future__ import annotations

import posixpath
import re
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.upstream.recipes import shell_tests
from presubmit.upstream.recipes.shell_words import (
    REDIRECTIONS,
    Scanner,
    ShellSyntaxError,
    Word,
    expand,
    expand_value,
)
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from presubmit.upstream.recipes.shell_tests import Truth


class Redirection(Value, frozen=True, kw_only=True):
    """`>> file`; the operator is without the number before it."""

    operator: str
    target: Word


class Command(Value, frozen=True, kw_only=True):
    """One simple command."""

    words: tuple[Word, ...]
    env: tuple[tuple[str, Word], ...] = ()
    """What the script exports before it, and the assignments in front of it."""
    cwd: str | None = ""
    """Relative to where the script starts, unless absolute; None where it is not known."""
    line: int = 0
    """In the script, from 0."""
    condition: str = ""
    """Why it may not run: `if`, `case`, `||`, `for loop`, `function build`, …; empty where it always does."""
    raw: str = ""
    redirections: tuple[Redirection, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """Give the words as text."""
        return tuple(word.text for word in self.words)


class Unread(Value, frozen=True, kw_only=True):
    """From this line on (from 0) the script could not be read."""

    line: int
    why: str


class Script(Value, frozen=True, kw_only=True):
    """The commands of a script, in order."""

    commands: tuple[Command, ...]
    unread: Unread | None = None


def read_script(text: str, variables: Mapping[str, str]) -> Script:
    """Read a script; `variables` is the environment that it starts in, as far as that is known."""
    if len(text) > _LONGEST:
        return Script(commands=(), unread=Unread(line=0, why="it is too long"))
    reader = _Reader(text.replace("\r\n", "\n"), variables)
    unread = None
    try:
        reader.whole()
    except (ShellSyntaxError, RecursionError) as error:
        why = str(error) if isinstance(error, ShellSyntaxError) else "it is nested too deeply"
        unread = Unread(line=reader.scanner.line(reader.scanner.position), why=why)
    return Script(commands=tuple(reader.commands), unread=unread)


_OPENS: Final = frozenset(
    {"if", "for", "select", "while", "until", "case", "{", "[[", "function", "time", "!"}
)
_SEPARATORS: Final = frozenset({";", "&"})
_DEEPEST: Final = 60
_LONGEST: Final = 1 << 18
"""Characters; the longest of 2412 scripts in 48 repositories has less than a tenth of that."""
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)(\[[^\]]*\])?(\+?)=", re.DOTALL)
_DECLARES: Final = frozenset({"export", "declare", "typeset", "readonly", "local"})
_TESTS: Final = frozenset({"[", "[[", "test", "((", "grep", "command", "which", "type"})
_SILENT: Final = frozenset(
    {
        *("set", "shopt", "trap", "unset", "cd", "pushd", "popd", "exit", "return", "[", "test"),
        *_DECLARES,
    }
)
_TRUTHS: Final[Mapping[str, bool]] = {"true": True, ":": True, "false": False}


@dataclass(kw_only=True)
class _State:
    """What the script has set so far."""

    variables: dict[str, str]
    exported: set[str]
    set_here: dict[str, Word] = field(default_factory=dict)
    cwd: str | None = ""
    folders: tuple[str | None, ...] = ()
    ended: bool = False

    def copy(self) -> _State:
        return replace(
            self,
            variables=dict(self.variables),
            exported=set(self.exported),
            set_here=dict(self.set_here),
        )

    def forget(self, other: _State) -> None:
        """Keep only what holds in the other state as well: either may be the one that came about."""
        for name in {*self.variables, *other.variables}:
            if self.variables.get(name) != other.variables.get(name):
                self.variables.pop(name, None)
                self.set_here[name] = Word(text=f"${name}", literal=False)
        self.exported |= other.exported
        self.cwd = self.cwd if self.cwd == other.cwd else None

    def assign(self, name: str, word: Word) -> None:
        self.set_here[name] = word
        if word.literal:
            self.variables[name] = word.text
        else:
            self.variables.pop(name, None)


class _Reader:
    def __init__(self, text: str, variables: Mapping[str, str]) -> None:
        self.scanner = Scanner(text)
        self.state = _State(variables=dict(variables), exported=set(variables))
        self.commands: list[Command] = []
        self.conditions: list[str] = []
        self.dead = 0
        """How many of the constructs around never run."""
        self.depth = 0

    def whole(self) -> None:
        self.list_of(frozenset())
        token = self.scanner.peek()
        if token.kind != "end":
            raise ShellSyntaxError(f"unexpected `{token.text}`")

    # --- lists ---

    def list_of(self, until: frozenset[str]) -> Truth:
        """Read commands up to a word or operator of `until`; gives whether the last is known to be true."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ShellSyntaxError("it is nested too deeply")
        truth: Truth = None
        while True:
            token = self.scanner.peek()
            if token.kind == "newline" or token.text in _SEPARATORS:
                self.scanner.take()
            elif (
                token.kind == "end"
                or token.text in until
                or token.text in {")", ";;", ";&", ";;&"}
            ):
                break
            else:
                truth = self.and_or()
        self.depth -= 1
        return truth

    def and_or(self) -> Truth:
        truth, tested = self.pipeline()
        while (operator := self.scanner.peek().text) in {"&&", "||"}:
            self.scanner.take()
            while self.scanner.peek().kind == "newline":
                self.scanner.take()
            runs = truth if operator == "&&" else (None if truth is None else not truth)
            condition = operator if operator == "||" or tested else ""
            with self.under(runs, condition):
                second, also = self.pipeline()
            if runs is True:
                truth, tested = second, also
            elif runs is None:
                truth, tested = None, tested or operator == "||"
        return truth

    def pipeline(self) -> tuple[Truth, bool]:
        """Read `a | b`; gives whether it is known to be true, and whether it is there for its truth alone."""
        negated = False
        while self.scanner.peek().text in {"!", "time"}:
            negated ^= self.scanner.take().text == "!"
            if self.scanner.peek().text == "-p":
                self.scanner.take()
        before = self.state.copy()
        truth, tested = self.command()
        piped = False
        while self.scanner.peek().text in {"|", "|&"}:
            self.scanner.take()
            while self.scanner.peek().kind == "newline":
                self.scanner.take()
            piped = True
            self.state = before.copy()
            _, tested = self.command()
        if piped:
            # Each part is a process of its own: it changes nothing here.
            self.state, truth = before, None
        if negated and truth is not None:
            truth = not truth
        return truth, tested or negated

    @contextmanager
    def under(self, runs: Truth, condition: str) -> Iterator[None]:
        """Read what runs, never runs (False), or may run (None)."""
        before = self.state.copy()
        if runs is False:
            self.dead += 1
        elif runs is None and condition:
            self.conditions.append(condition)
        yield
        if runs is False:
            self.dead -= 1
            self.state = before
        elif runs is None and condition:
            self.conditions.pop()
            ended = before.ended
            self.state.forget(before)
            self.state.ended = ended

    # --- commands ---

    def command(self) -> tuple[Truth, bool]:
        token = self.scanner.peek()
        if token.kind == "operator" and token.text == "(":
            return self.in_parentheses()
        if token.kind == "word" and token.text in _OPENS:
            return self.compound(self.scanner.take().text)
        if token.kind == "word":
            return self.simple()
        if token.kind == "operator" and token.text in REDIRECTIONS:
            return self.simple()
        raise ShellSyntaxError(
            f"unexpected `{token.text}`" if token.text.strip() else "unexpected end"
        )

    def in_parentheses(self) -> tuple[Truth, bool]:
        start = self.scanner.peek().start
        if self.scanner.text.startswith("((", start):
            self.scanner.pass_parentheses()
            self.redirect_all(len(self.commands))
            return None, True
        first = len(self.commands)
        before = self.state.copy()
        self.scanner.take()
        truth = self.list_of(frozenset({")"}))
        self.expect(")")
        self.state = before
        self.redirect_all(first)
        return truth, False

    def compound(self, word: str) -> tuple[Truth, bool]:
        first = len(self.commands)
        truth: Truth = None
        tested = False
        match word:
            case "if":
                self.if_clause()
            case "for" | "select":
                self.for_clause(word)
            case "while" | "until":
                self.while_clause(word)
            case "case":
                self.case_clause()
            case "{":
                truth = self.list_of(frozenset({"}"}))
                self.expect("}")
            case "[[":
                truth, tested = (
                    shell_tests.truth(self.scanner.take_test(), self.state.variables),
                    True,
                )
            case "function":
                name = self.scanner.take().text
                if self.scanner.peek().text == "(":
                    self.expect("(")
                    self.expect(")")
                self.function(name)
            case _:
                return self.pipeline()
        self.redirect_all(first)
        return truth, tested

    def if_clause(self) -> None:
        open_ = True
        """Whether a branch may still come: no condition so far was known to be true."""
        sure = True
        """Whether every condition so far was known to be false."""
        before = self.state.copy()
        ends: list[_State] = []
        word = "if"
        while word in {"if", "elif"}:
            with self.under(
                False if not open_ else (True if sure else None), "" if sure else "if"
            ):
                truth = self.list_of(frozenset({"then"}))
            self.expect("then")
            runs = False if not open_ or truth is False else (True if truth and sure else None)
            self.branch(runs, frozenset({"elif", "else", "fi"}), before, ends)
            open_ = open_ and truth is not True
            sure = sure and truth is False
            word = self.scanner.take().text
        if word == "else":
            self.branch(
                False if not open_ else (True if sure else None), frozenset({"fi"}), before, ends
            )
            open_ = False
            word = self.scanner.take().text
        if word != "fi":
            raise ShellSyntaxError("`if` has no `fi`")
        if open_:
            ends.append(before.copy())
        self.merge(ends)

    def branch(
        self,
        runs: Truth,
        until: frozenset[str],
        before: _State,
        ends: list[_State],
    ) -> None:
        self.state = before.copy()
        if runs is False:
            self.dead += 1
        elif runs is None:
            self.conditions.append("if")
        self.list_of(until)
        if runs is False:
            self.dead -= 1
            return
        if runs is None:
            self.conditions.pop()
            self.state.ended = before.ended
        ends.append(self.state)

    def merge(self, ends: Sequence[_State]) -> None:
        """Go on from the states that the branches left."""
        if ends:
            self.state = ends[0]
            for other in ends[1:]:
                self.state.forget(other)

    def for_clause(self, word: str) -> None:
        token = self.scanner.peek()
        if token.text == "(":
            self.scanner.pass_parentheses()
        else:
            name = self.scanner.take().text
            self.state.assign(name, Word(text=f"${name}", literal=False))
            self.pass_newlines()
            if self.scanner.peek().text == "in":
                while self.scanner.peek().kind == "word":
                    self.scanner.take()
        self.pass_separators()
        self.expect("do")
        self.body(f"{word} loop", "done")

    def while_clause(self, word: str) -> None:
        with self.under(None, f"{word} loop"):
            self.list_of(frozenset({"do"}))
        self.expect("do")
        self.body(f"{word} loop", "done")

    def body(self, condition: str, end: str) -> None:
        with self.under(None, condition):
            self.list_of(frozenset({end}))
        self.expect(end)

    def case_clause(self) -> None:
        subject = expand_value(self.scanner.take().text, self.state.variables)
        self.pass_newlines()
        self.expect("in")
        before = self.state.copy()
        ends: list[_State] = []
        open_, sure, falls = True, subject.literal, False
        while True:
            self.pass_newlines()
            if self.scanner.peek().text == "esac":
                break
            matched = self.patterns(subject)
            runs = False if not open_ or matched is False else (True if matched and sure else None)
            if falls and not runs:
                # The branch before may go on into this one.
                runs = None
            self.state = before.copy()
            if runs is False:
                self.dead += 1
            elif runs is None:
                self.conditions.append("case")
            self.list_of(frozenset({"esac"}))
            if runs is False:
                self.dead -= 1
            else:
                if runs is None:
                    self.conditions.pop()
                    self.state.ended = before.ended
                ends.append(self.state)
            open_ = open_ and not (matched and sure)
            sure = sure and matched is False
            falls = self.scanner.peek().text in {";&", ";;&"}
            if falls or self.scanner.peek().text == ";;":
                self.scanner.take()
        self.expect("esac")
        if open_:
            ends.append(before.copy())
        self.merge(ends)

    def patterns(self, subject: Word) -> Truth:
        """Read `a|b)`; gives whether the subject is known to match."""
        if self.scanner.peek().text == "(":
            self.scanner.take()
        truth: Truth = False
        while (token := self.scanner.take()).text != ")":
            if token.kind in {"end", "newline"}:
                raise ShellSyntaxError("a pattern of `case` has no `)`")
            if token.kind == "word":
                truth = shell_tests.either(
                    truth, shell_tests.matches(subject, token.text, self.state.variables)
                )
        return truth

    def function(self, name: str) -> None:
        self.pass_newlines()
        before = self.state.copy()
        self.conditions.append(f"function {name}")
        self.command()
        self.conditions.pop()
        self.state = before

    # --- simple commands ---

    def simple(self) -> tuple[Truth, bool]:
        variables = self.state.variables
        start = self.scanner.peek().start
        assignments: list[tuple[str, Word]] = []
        raws: list[str] = []
        redirections: list[Redirection] = []
        end = start
        while True:
            token = self.scanner.peek()
            if token.kind == "operator" and token.text in REDIRECTIONS:
                redirections.append(self.redirection())
            elif token.kind == "word":
                self.scanner.take()
                found = _ASSIGNMENT.match(token.text)
                if found is not None and not raws:
                    assignments.append(self.assignment(token.text, found))
                else:
                    raws.append(token.text)
            elif token.text == "(" and len(raws) == 1 and not assignments:
                self.scanner.take()
                self.expect(")")
                self.function(raws[0])
                return None, False
            else:
                break
            end = self.scanner.position
        raw = self.scanner.text[start:end]
        if not raws:
            for name, word in assignments:
                self.state.assign(name, word)
            return True, False
        declares = raws[0] in _DECLARES
        words = [
            word
            for text in raws
            for word in ((expand_value(text, variables),) if declares else expand(text, variables))
        ]
        self.emit(words, assignments, raw, start, redirections)
        self.take_effect(raws, words)
        tested = raws[0] in _TESTS
        truth = _TRUTHS.get(raws[0])
        if raws[0] in {"[", "test"}:
            truth = shell_tests.truth(raws[1:-1] if raws[0] == "[" else raws[1:], variables)
        return truth, tested

    def assignment(self, text: str, found: re.Match[str]) -> tuple[str, Word]:
        name, index, adds = found.groups()
        value = text[found.end() :]
        if index or value.startswith("("):
            return name, Word(text=value, literal=False)
        word = expand_value(value, self.state.variables)
        if adds:
            before = self.state.variables.get(name)
            word = Word(
                text=(before or f"${name}") + word.text,
                literal=before is not None and word.literal,
            )
        return name, word

    def redirection(self) -> Redirection:
        operator = self.scanner.take().text
        token = self.scanner.take()
        if token.kind != "word":
            raise ShellSyntaxError(f"`{operator}` names no file")
        sign = operator
        if sign in {"<<", "<<-"}:
            self.scanner.expect_document(token.text, tabs=sign == "<<-")
            return Redirection(operator=operator, target=Word(text=token.text))
        return Redirection(
            operator=operator, target=expand_value(token.text, self.state.variables)
        )

    def redirect_all(self, first: int) -> None:
        """Read what is redirected of a whole `{ …; }`, and say it of each command in it."""
        found: list[Redirection] = []
        while self.scanner.peek().text in REDIRECTIONS:
            found.append(self.redirection())
        for number in range(first, len(self.commands) if found else 0):
            command = self.commands[number]
            self.commands[number] = msgspec.structs.replace(
                command, redirections=(*command.redirections, *found)
            )

    def take_effect(self, raws: Sequence[str], words: Sequence[Word]) -> None:
        """Follow what changes the shell itself."""
        state = self.state
        match raws[0]:
            case "cd" | "pushd":
                state.folders = (
                    (*state.folders, state.cwd) if raws[0] == "pushd" else state.folders
                )
                state.cwd = _moved(state.cwd, words[1:])
            case "popd":
                state.cwd = state.folders[-1] if state.folders else None
                state.folders = state.folders[:-1]
            case "exit" | "return" | "exec" if not self.conditions and not self.dead:
                # `exec` without a program only redirects.
                state.ended = raws[0] != "exec" or len(raws) > 1
            case "unset":
                for word in words[1:]:
                    state.variables.pop(word.text, None)
                    state.set_here.pop(word.text, None)
                    state.exported.discard(word.text)
            case name if name in _DECLARES:
                self.declare(raws)
            case _:
                pass

    def declare(self, raws: Sequence[str]) -> None:
        options = [text for text in raws[1:] if text.startswith("-")]
        exports = raws[0] == "export" or any("x" in option for option in options)
        for text in raws[1:]:
            found = _ASSIGNMENT.match(text)
            if found is not None:
                self.state.assign(*self.assignment(text, found))
            if exports and not text.startswith("-"):
                self.state.exported.add(found.group(1) if found else text)

    def emit(
        self,
        words: Sequence[Word],
        assignments: Sequence[tuple[str, Word]],
        raw: str,
        start: int,
        redirections: Sequence[Redirection],
    ) -> None:
        state = self.state
        if self.dead or state.ended or not words or words[0].text in _SILENT:
            return
        env = {n: w for n, w in state.set_here.items() if n in state.exported}
        env |= dict(assignments)
        self.commands.append(
            Command(
                words=tuple(words),
                env=tuple(env.items()),
                cwd=state.cwd,
                line=self.scanner.line(start),
                condition=self.conditions[-1] if self.conditions else "",
                raw=raw,
                redirections=tuple(redirections),
            )
        )

    # --- tokens ---

    def expect(self, text: str) -> None:
        token = self.scanner.take()
        if token.text != text:
            raise ShellSyntaxError(f"expected `{text}`, found `{token.text.strip() or 'the end'}`")

    def pass_newlines(self) -> None:
        while self.scanner.peek().kind == "newline":
            self.scanner.take()

    def pass_separators(self) -> None:
        while self.scanner.peek().kind == "newline" or self.scanner.peek().text == ";":
            self.scanner.take()


def _moved(cwd: str | None, words: Sequence[Word]) -> str | None:
    named = [word for word in words if not word.text.startswith("-") or word.text == "-"]
    if len(named) != 1 or not named[0].literal or named[0].pattern or named[0].text == "-":
        return None
    target = named[0].text
    if not target.startswith("/") and cwd is None:
        return None
    moved = posixpath.normpath(posixpath.join(cwd or "", target))
    return "" if moved == "." else moved
