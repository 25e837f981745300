"""A command on its way to being recognised: its words, its surroundings, and what it runs in its turn."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

import msgspec

from presubmit.upstream.recipes.kinds import Kind, strongest
from presubmit.upstream.recipes.options import Parsed, parse
from presubmit.upstream.recipes.recognised import Recognised
from presubmit.upstream.recipes.shell_script import read_script
from presubmit.upstream.recipes.shell_words import Word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from presubmit.upstream.recipes.installs import Install
    from presubmit.upstream.recipes.pytest_call import PytestCall
    from presubmit.upstream.recipes.shell_script import Command
    from presubmit.upstream.recipes.wrappers import Peeled

    Read = Callable[[str], str | None]


class Seen:
    """A command on its way to being recognised."""

    def __init__(
        self,
        command: Command,
        peeled: Peeled,
        variables: dict[str, str],
        read: Read,
        recognise: Callable[[Command, Mapping[str, str]], Recognised] | None,
        known: Callable[[str], bool],
    ) -> None:
        self.command = command
        self.peeled = peeled
        self.read = read
        self.recognise = recognise
        self.known = known
        """Whether a tool of this name is known for more than its kind."""
        self.env = (*command.env, *peeled.env)
        self.variables = {**variables, **{n: w.text for n, w in self.env if w.literal}}
        self.words = peeled.words[1:]
        self.texts = tuple(word.text for word in self.words)
        first = peeled.words[0] if peeled.words else Word(text="")
        self.program = first.text
        bare = first.text.rpartition("/")[2].removesuffix(".exe")
        # `$PYTHON script.py`: by custom an interpreter.
        bare = re.sub(r"^\$\{?PYTHON\w*\}?$", "python", bare)
        self.tool = re.sub(r"^(pip|python|pypy)[\d.]+t?$", r"\1", bare)

    @property
    def cwd(self) -> str:
        """Give its folder, as far as it is known."""
        return self.command.cwd or ""

    def parsed(self, *valued: str) -> Parsed:
        """Take its arguments apart; `valued` are the options that take a value."""
        return parse(self.words, frozenset(valued))

    def setting(self, *names: str) -> str:
        """Give an environment variable, as far as it is known."""
        return next((self.variables[name] for name in names if self.variables.get(name)), "")

    def is_script(self) -> bool:
        """Whether its program is a shell script."""
        return self.program.endswith((".sh", ".bash")) or (
            "/" in self.program and self.text() is not None
        )

    def text(self) -> str | None:
        """Give the script's text; None where it is no shell script of the tree."""
        if self.program.startswith(("/", "~")) or self.command.cwd is None:
            return None
        text = self.read(posixpath.normpath(posixpath.join(self.cwd, self.program)))
        if text is None or "\0" in text:
            return None
        shell = re.match(r"#!.*\b(?:ba|da|z)?sh\b", text)
        return text if shell or self.program.endswith((".sh", ".bash")) else None

    def made(
        self,
        kind: Kind,
        tool: str,
        *,
        lines: Sequence[str] = (),
        origin: str = "",
        folder: str | None = None,
        targets: tuple[str, ...] = (),
        install: Install | None = None,
        pytest: PytestCall | None = None,
        program: tuple[str, ...] = (),
        environment: str = "",
        environ: tuple[tuple[str, str], ...] = (),
    ) -> Recognised:
        """Put it together; `lines` are the shell commands that it runs in its turn."""
        more = tuple((name, Word(text=value)) for name, value in environ)
        env = (*self.env, *more)
        inner: list[Recognised] = []
        if lines and self.recognise is not None:
            known = {**self.variables, **dict(environ)}
            # Each line has a shell of its own, as with make: a `cd` does not last.
            found = [command for line in lines for command in read_script(line, known).commands]
            inner = [self.recognise(self._inside(c, folder, env), known) for c in found]
        if inner:
            kind = strongest(one.kind for one in inner) if kind is Kind.OTHER else kind
        return Recognised(
            kind=kind,
            tool=tool,
            via=self.peeled.via,
            words=self.command.texts,
            arguments=self.texts,
            literal=all(word.literal for word in self.peeled.words),
            env=env,
            cwd=self.command.cwd,
            line=self.command.line,
            condition=self.command.condition,
            raw=self.command.raw,
            python=self.peeled.python,
            install=install or self.peeled.install,
            pytest=pytest,
            program=program,
            targets=targets,
            environment=environment or self.peeled.environment,
            origin=origin,
            inner=tuple(inner),
        )

    def _inside(
        self, found: Command, folder: str | None, env: tuple[tuple[str, Word], ...]
    ) -> Command:
        """Place a command of a script or a target in this one's step."""
        start = self.command.cwd if folder is None else folder
        cwd = None
        if start is not None and found.cwd is not None:
            joined = posixpath.normpath(posixpath.join(start, found.cwd))
            cwd = "" if joined == "." else joined
        return msgspec.structs.replace(
            found,
            env=(*env, *found.env),
            cwd=cwd,
            line=self.command.line,
            condition=self.command.condition or found.condition,
        )


def of_kind(made: Recognised, kind: Kind) -> Recognised:
    """Give the command with a kind, where what it runs has not told one."""
    return msgspec.structs.replace(made, kind=kind) if made.kind is Kind.OTHER else made


def as_line(words: Iterable[Word]) -> str:
    """Write words as a line for a shell; what is not known stays as it is."""
    return " ".join(
        w.text if not w.literal else "'" + w.text.replace("'", "'\\''") + "'" for w in words
    )
