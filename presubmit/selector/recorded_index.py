"""A recorded run turned round: from a file's functions to the contexts that ran them, in rows that load one by one."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from presubmit.selector.recording import Ran, left_by_both
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

T = TypeVar("T")

CONTEXTS: Final = "contexts"
_RAN: Final = "ran "
_OPENED: Final = "opened "
_LISTED: Final = "listed "
_OF: Final = "of "
_LARGEST: Final = 512 * 1024 * 1024
"""Bytes of one row: more is no row of ours."""

TEST: Final = "test:"
COLLECT: Final = "collect:"
FIXTURE: Final = "fixture:"
SESSION: Final = "session:"


class DamagedRecordingError(ValueError):
    """A row is missing or cannot be read: nothing may be concluded from the run."""


class Seen(Value, frozen=True, kw_only=True, array_like=True):
    """What is known of a context without its functions; `uses` are positions among the contexts."""

    context: str
    uses: tuple[int, ...] = ()
    modules: tuple[str, ...] = ()
    outcome: str = "passed"
    open: str = ""
    seconds: float = 0.0
    functions: int = 0
    """How many functions ran."""
    lost: bool = False
    """It rests on a context that is not in the run."""
    left: tuple[str, ...] | None = None
    """What a test left changed that outlives it; None: not known."""

    @property
    def file(self) -> str:
        """The test file of a test or of a collected module, else empty."""
        if self.context.startswith(TEST):
            return self.context.removeprefix(TEST).partition("::")[0]
        return self.context.removeprefix(COLLECT) if self.context.startswith(COLLECT) else ""

    @property
    def id(self) -> str:
        """The id of a test, without parameters; empty for other contexts."""
        return self.context.removeprefix(TEST) if self.context.startswith(TEST) else ""

    @property
    def may_leave(self) -> bool:
        """Whether others may see what was done here: it is no test, or one that is not known to leave nothing."""
        return not self.context.startswith(TEST) or self.left is None or bool(self.left)

    @property
    def wide(self) -> bool:
        """Whether what ran here may be of use to tests that did not run it: it is no test, or it imported modules."""
        return not self.context.startswith(TEST) or bool(self.modules)


class _Head(Value, frozen=True, kw_only=True):
    """The first row: the contexts, and which other rows there must be."""

    contexts: tuple[Seen, ...]
    rows: frozenset[str]
    functions: int
    """How many functions outside test files ran in any context."""


def plain(text: str) -> str:
    """Give a name without what cannot be written as UTF-8; one that can is itself."""
    return text.encode("utf-8", "backslashreplace").decode()


def pack(contexts: Iterable[Ran]) -> dict[str, bytes]:
    """Turn contexts into rows: one of all contexts, one for each file, and one for each context that is wide."""
    ordered = sorted({plain(ran.context): ran for ran in contexts}.items())
    numbers = {name: number for number, (name, _) in enumerate(ordered)}
    ran_in: dict[str, dict[str, list[int]]] = {}
    opened: dict[str, list[int]] = {}
    listed: dict[str, list[int]] = {}
    of: dict[str, dict[str, tuple[str, ...]]] = {}
    seen = []
    for number, (name, ran) in enumerate(ordered):
        functions = {plain(p): tuple(map(plain, names)) for p, names in ran.functions.items()}
        for path, names in functions.items():
            row = ran_in.setdefault(path, {})
            for qualname in dict.fromkeys(names):
                row.setdefault(qualname, []).append(number)
        for path in set(map(plain, ran.opened)):
            opened.setdefault(path, []).append(number)
        for folder in set(map(plain, ran.listed)):
            listed.setdefault(folder, []).append(number)
        used = [plain(use) for use in ran.uses]
        one = Seen(
            context=name,
            uses=tuple(sorted({numbers[use] for use in used if use in numbers})),
            modules=tuple(sorted(set(map(plain, ran.modules)))),
            outcome=ran.outcome,
            open=ran.open,
            seconds=round(ran.seconds, 4),
            functions=sum(map(len, functions.values())),
            lost=not set(used) <= set(numbers),
            left=None if ran.left is None else tuple(map(plain, ran.left)),
        )
        if one.wide:
            of[f"{_OF}{number}"] = functions
        seen.append(one)
    tests = {one.file for one in seen if one.file}
    rows: dict[str, Any] = {
        **{f"{_RAN}{path}": row for path, row in ran_in.items()},
        **{f"{_OPENED}{path}": row for path, row in opened.items()},
        **{f"{_LISTED}{folder}": row for folder, row in listed.items()},
        **of,
    }
    head = _Head(
        contexts=tuple(seen),
        rows=frozenset(rows),
        functions=sum(len(row) for path, row in ran_in.items() if path not in tests),
    )
    rows[CONTEXTS] = head
    return {key: zlib.compress(msgspec.msgpack.encode(row), 1) for key, row in rows.items()}


class Index:
    """The rows of one recorded run, each read when it is asked for; raises DamagedRecordingError."""

    def __init__(self, read: Callable[[Sequence[str]], Mapping[str, bytes]]) -> None:
        self._read = read
        self._known: dict[str, Any] = {}
        self._raw: dict[str, bytes] = {}
        self._head = self._row(CONTEXTS, _Head)
        self.contexts = self._head.contexts
        self._checked: set[str] = set()
        self.functions = self._head.functions
        count = len(self.contexts)
        if any(use < 0 or use >= count for one in self.contexts for use in one.uses):
            raise DamagedRecordingError("a context rests on one that is not there")

    def ran(self, path: str) -> Mapping[str, tuple[int, ...]]:
        """Give, for each function of a file that ran, the contexts that ran it."""
        return self._optional(f"{_RAN}{plain(path)}", dict[str, tuple[int, ...]], {})

    def opened(self, path: str) -> tuple[int, ...]:
        """Give the contexts that opened a file."""
        return self._optional(f"{_OPENED}{plain(path)}", tuple[int, ...], ())

    def listed(self, folder: str) -> tuple[int, ...]:
        """Give the contexts that listed a folder (`.` is the root)."""
        return self._optional(f"{_LISTED}{plain(folder)}", tuple[int, ...], ())

    def files(self) -> list[str]:
        """Give the files of which a function ran."""
        return sorted(it.removeprefix(_RAN) for it in self._head.rows if it.startswith(_RAN))

    def functions_of(self, number: int) -> Mapping[str, tuple[str, ...]]:
        """Give the functions that ran in a wide context."""
        return self._optional(f"{_OF}{number}", dict[str, tuple[str, ...]], {})

    def all_contexts(self) -> tuple[Ran, ...]:
        """Give everything back as it was recorded."""
        self._fetch(sorted(self._head.rows))
        functions: list[dict[str, list[str]]] = [{} for _ in self.contexts]
        opened: list[list[str]] = [[] for _ in self.contexts]
        listed: list[list[str]] = [[] for _ in self.contexts]
        for key in sorted(self._head.rows):
            kind, _, name = key.partition(" ")
            if kind == "ran":
                for qualname, numbers in self.ran(name).items():
                    for number in numbers:
                        functions[number].setdefault(name, []).append(qualname)
            elif kind in {"opened", "listed"}:
                into = opened if kind == "opened" else listed
                for number in self.opened(name) if kind == "opened" else self.listed(name):
                    into[number].append(name)
        return tuple(
            Ran(
                context=one.context,
                functions={path: tuple(names) for path, names in functions[number].items()},
                modules=one.modules,
                opened=tuple(opened[number]),
                listed=tuple(listed[number]),
                uses=tuple(self.contexts[use].context for use in one.uses)
                + (("fixture:lost",) if one.lost else ()),
                open=one.open,
                outcome=one.outcome,
                seconds=one.seconds,
                left=one.left,
            )
            for number, one in enumerate(self.contexts)
        )

    def _optional(self, key: str, kind: type[T], otherwise: T) -> T:
        found = self._row(key, kind) if key in self._head.rows else otherwise
        if key not in self._checked and not key.startswith(_OF):
            groups: Any = found.values() if isinstance(found, dict) else (found,)
            count = len(self.contexts)
            if any(number < 0 or number >= count for numbers in groups for number in numbers):
                raise DamagedRecordingError(f"the row `{key}` names contexts that are not there")
        self._checked.add(key)
        return found

    def _row(self, key: str, kind: type[T]) -> T:
        if key not in self._known:
            self._fetch([key])
            try:
                self._known[key] = msgspec.msgpack.decode(_unpacked(self._raw.pop(key)), type=kind)
            except (zlib.error, msgspec.MsgspecError, UnicodeError) as error:
                raise DamagedRecordingError(f"the row `{key}` cannot be read: {error}") from error
        found: T = self._known[key]
        return found

    def _fetch(self, keys: Sequence[str]) -> None:
        wanted = [key for key in keys if key not in self._known and key not in self._raw]
        self._raw.update(self._read(wanted) if wanted else {})
        for key in wanted:
            if key not in self._raw:
                raise DamagedRecordingError(f"the row `{key}` is missing")


def _unpacked(data: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    found = unpacker.decompress(data, _LARGEST)
    if not unpacker.eof:
        raise zlib.error("it is cut off, or too long")
    return found


def merge(old: Iterable[Ran], new: Iterable[Ran]) -> tuple[Ran, ...]:
    """Add newer contexts of the same tree: a test is replaced, what tests share is joined."""
    found = {ran.context: ran for ran in old}
    for ran in new:
        before = found.get(ran.context)
        if before is None or ran.context.startswith(TEST):
            found[ran.context] = ran
        else:
            found[ran.context] = _joined(before, ran)
    return tuple(found.values())


def _joined(one: Ran, other: Ran) -> Ran:
    paths = {**one.functions, **other.functions}
    return Ran(
        context=one.context,
        functions={
            path: _union(one.functions.get(path, ()), other.functions.get(path, ()))
            for path in paths
        },
        modules=_union(one.modules, other.modules),
        opened=_union(one.opened, other.opened),
        listed=_union(one.listed, other.listed),
        uses=_union(one.uses, other.uses),
        open=one.open or other.open,
        outcome="failed" if "failed" in {one.outcome, other.outcome} else one.outcome,
        seconds=max(one.seconds, other.seconds),
        left=left_by_both(one.left, other.left),
    )


def _union(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))
