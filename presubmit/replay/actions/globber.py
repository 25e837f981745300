"""Finds files in a box as `@actions/glob` does: one pattern a line, `!` excludes, `~` is the home, later lines win.

https://github.com/actions/toolkit/tree/main/packages/glob (internal-globber.ts, internal-pattern.ts).
"""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING, Final, NamedTuple

from presubmit.replay.actions import exchange
from presubmit.replay.actions.globs import compiled
from presubmit.replay.job.action import ActionFailedError

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

    from presubmit.replay.job.action import ActionStep

# $1 the answer's file, $2 whether names with a leading dot are left out, then the folders and files to look in.
# What cannot be read (a loop of links, a closed folder) is passed over. Two walks, since find's own output and that of what it starts cannot be told apart in one file.
_FIND: Final = r"""
answer=$1; hidden=$2; shift 2
for root in "$@"; do
  [ -e "$root" ] || [ -L "$root" ] || continue
  if [ "$hidden" = no ]; then
    find -L "$root" -name '.?*' -prune -o -type d -print0 || :
    printf '\0'
    find -L "$root" -name '.?*' -prune -o ! -type d ! -type l -print0 || :
  else
    find -L "$root" -type d -print0 || :
    printf '\0'
    find -L "$root" ! -type d ! -type l -print0 || :
  fi
  printf '\0'
done >"$answer" 2>/dev/null
exit 0
"""


class Found(NamedTuple):
    """A file or folder that was found, by its absolute path."""

    path: str
    is_folder: bool


class _Pattern:
    def __init__(self, text: str, *, folder: str, home: str) -> None:
        self.negated = False
        while text.startswith("!"):
            self.negated = not self.negated
            text = text[1:].strip()
        absolute = _absolute(text, folder=folder, home=home)
        self.folders_only = absolute.endswith("/")
        self.segments = tuple(part for part in absolute.split("/") if part)
        literals: list[str] = []
        for segment in self.segments:
            plain = _literal(segment)
            if not plain:
                break
            literals.append(plain)
        self.search_path = "/" + "/".join(literals)
        self._expressions = tuple(self._compile())

    def _compile(self) -> Iterator[re.Pattern[str]]:
        """Give the pattern's own expression, and that of everything below it (`implicitDescendants`)."""
        own = "/" + "/".join(self.segments)
        yield compiled(own, dot=True, extended=False)
        if self.folders_only or not self.segments or self.segments[-1] != "**":
            yield compiled(f"{own.rstrip('/')}/**", dot=True, extended=False)

    def matches(self, found: Found, *, descendants: bool) -> bool:
        own, *below = self._expressions
        path = found.path
        # `/a/**` also is `/a` itself: a folder is asked for with a slash at its end.
        whole = f"{path}/" if self.segments[-1:] == ("**",) and path != "/" else path
        if own.fullmatch(whole) is not None and (found.is_folder or not self.folders_only):
            return True
        return descendants and any(one.fullmatch(path) is not None for one in below)


class Globber:
    """The patterns of one input; `folder` and `home` are absolute paths inside the box."""

    def __init__(self, lines: Iterable[str], *, folder: str, home: str) -> None:
        self._patterns = tuple(
            _Pattern(text, folder=folder, home=home)
            for line in lines
            if (text := line.strip()) and not text.startswith("#")
        )

    @property
    def search_paths(self) -> tuple[str, ...]:
        """What stands before the first wildcard of each pattern; what lies in another one is left out."""
        candidates = [pattern.search_path for pattern in self._patterns if not pattern.negated]
        return tuple(
            path
            for path in dict.fromkeys(candidates)
            if not any(parent in candidates for parent in _parents(path))
        )

    def matches(self, found: Found, *, descendants: bool = True) -> bool:
        """Whether a file or folder is meant: the patterns in their order, an excluding one takes out again."""
        meant = False
        for pattern in self._patterns:
            if pattern.negated is meant and pattern.matches(found, descendants=descendants):
                meant = not meant
        return meant

    def find(
        self, step: ActionStep, *, hidden: bool = True, descendants: bool = True
    ) -> tuple[Found, ...]:
        """Look for them in the step's box, sorted by path; links are followed, broken ones left out."""
        roots = self.search_paths
        if not roots:
            return ()
        with exchange.answer(step) as answer:
            step.ask(_FIND, answer.inside, "yes" if hidden else "no", *roots)
            data = answer.read()
        return tuple(
            sorted({one for one in _parsed(data) if self.matches(one, descendants=descendants)})
        )


def globber(step: ActionStep, lines: Iterable[str]) -> Globber:
    """Give the globber of an input's lines: relative ones are rooted in the workspace."""
    return Globber(lines, folder=step.cell.workspace, home=step.env.get("HOME", "/"))


def common_ancestor(paths: Iterable[str]) -> str:
    """Give the least common ancestor of absolute paths: the root of an artifact with several search paths."""
    shared: list[str] = []
    for parts in zip(*(posixpath.normpath(path).split("/") for path in paths), strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return "/".join(shared) or "/"


def _parsed(data: bytes) -> Iterator[Found]:
    """Read the walks: for each root the folders, then the others, each list ended by an empty name."""
    is_folder = True
    for name in data.split(b"\0")[:-1]:
        if name:
            path = posixpath.normpath(os.fsdecode(name))
            yield Found(path.replace("//", "/"), is_folder)
        else:
            is_folder = not is_folder


def _absolute(text: str, *, folder: str, home: str) -> str:
    literals = [_literal(segment) for segment in text.split("/")]
    if not text or ".." in literals or "." in literals[1:]:
        raise ActionFailedError(
            f"Invalid pattern '{text}'. Relative pathing '.' and '..' is not allowed."
        )
    if text == "." or text.startswith("./"):
        return _escaped(folder) + text[1:]
    if text == "~" or text.startswith("~/"):
        return _escaped(home.rstrip("/")) + text[1:]
    return text if text.startswith("/") else f"{_escaped(folder)}/{text}"


def _escaped(path: str) -> str:
    return "".join(f"\\{one}" if one in "\\[?*" else one for one in path)


def _literal(segment: str) -> str:
    """Give what a segment without wildcards names; empty for one with wildcards."""
    plain, place = "", 0
    while place < len(segment):
        character = segment[place]
        if character == "\\" and place + 1 < len(segment):
            place += 1
            character = segment[place]
        elif character in "*?":
            return ""
        elif character == "[" and (end := segment.find("]", place + 1)) > 0:
            if end - place > 2:  # noqa: PLR2004 - `[x]` is the one set that stands for itself
                return ""
            if end - place == 2:  # noqa: PLR2004 - as above
                character = segment[place + 1]
                place = end
        plain += character
        place += 1
    return plain


def _parents(path: str) -> Iterator[str]:
    while path != "/":
        path = posixpath.dirname(path)
        yield path
