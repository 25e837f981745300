"""Exported symbols of the built libraries, base against head: a lost export macro is a removed symbol."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.convention import is_native
from presubmit.review.built import BUILD_BOTH, Libraries, Library
from presubmit.review.exports import Symbol, exported, is_entry, is_extension, pairs
from presubmit.review.facts import before, in_head
from presubmit.review.values import Remark, Severity, Unchecked
from presubmit.values import FileStatus, Value, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from presubmit.review.built import Demangled
    from presubmit.review.facts import Facts, Said

_ONE_BY_ONE: Final = 8
"""More of one library are summed up."""
_NAMED: Final = 5
Place = tuple[str, int | None]
"""A file and a line."""
NOWHERE: Final[Place] = ("", None)
_OLD_ABI: Final = "what was built against the base no longer links, or no longer starts"


def remarks(facts: Facts) -> Iterator[Said]:
    """Compare what both sides export; of a change of native sources, say where nobody could."""
    built = facts.built
    if built is not None and built.libraries is not None:
        yield from compare(built.libraries, lambda word: _place(word, facts))
        return
    native = [file.path for file in facts.change.files if any(map(is_native, file.paths))]
    why = built.why_no_libraries if built is not None else f"nothing was built: {BUILD_BOTH}"
    if not why or (built is None and not native):
        return
    what = "the symbols that the libraries export"
    if native:
        more = f" and {counted(len(native) - 1, 'more')}" if native[1:] else ""
        what = f"the symbols that the libraries of {native[0]}{more} export"
    yield Unchecked(rule="symbols", what=what, why=why)


def compare(libraries: Libraries, find: Callable[[str], Place]) -> Iterator[Said]:
    """Say what head's libraries export otherwise than the base's; `find` gives the place of a word in the sources."""
    words = _Words(names=libraries.names, find=find)
    for library in (*libraries.base, *libraries.head):
        if library.problem:
            yield Unchecked(rule="symbols", what=library.path, why=library.problem)
    if not libraries.base and not libraries.head:
        why = "neither build left a shared library"
        yield Unchecked(rule="symbols", what="exported symbols", why=why)
    both, gone, new = pairs(libraries.base, libraries.head)
    readable = [_Pair.of(*pair) for pair in both if not any(one.problem for one in pair)]
    # What a library gained may be what another one lost.
    gained = {key: pair.head.path for pair in readable for key in pair.fresh}
    gained |= {key: one.path for one in new for key in exported(one)}
    for pair in readable:
        yield from _compared(pair, gained, words)
    for library in gone:
        if not library.problem:
            yield _library_removed(library)
    for library in new:
        if not library.problem:
            number = counted(len(exported(library)), "symbol")
            text = f"the library {library.path} is new; it exports {number}"
            yield _remark("symbols.library-added", Severity.NOTE, library.path, text)


class _Words(msgspec.Struct, frozen=True, kw_only=True):
    """Names symbols as their sources do, and finds them there."""

    names: Mapping[str, Demangled]
    find: Callable[[str], Place]

    def shown(self, name: str) -> str:
        """Give the readable name."""
        return self.names[name].full if name in self.names else name

    def listed(self, keys: Iterable[str]) -> str:
        """Name a few."""
        every = [key.partition("@")[0] for key in keys]
        more = f" and {len(every) - _NAMED} more" if len(every) > _NAMED else ""
        return ", ".join(map(self.shown, every[:_NAMED])) + more

    def place(self, name: str) -> Place:
        """Find the word that the sources write: `scale` of `kernels::scale(int)`."""
        shown = re.sub(r"<.*>", "", self.shown(name).partition("(")[0])
        words = re.findall(r"[A-Za-z_]\w*", shown)
        return self.find(words[-1]) if words and not words[-1].startswith("_Z") else NOWHERE


class _Pair(Value, frozen=True, kw_only=True):
    """One library on both sides, and what only one of them exports."""

    base: Library
    head: Library
    lost: dict[str, Symbol]
    fresh: dict[str, Symbol]
    kept: tuple[tuple[Symbol, Symbol], ...]

    @classmethod
    def of(cls, base: Library, head: Library) -> _Pair:
        old, new = exported(base), exported(head)
        # The loader takes an unversioned symbol for any version, and any version for an unversioned wish.
        served = {symbol.name for symbol in new.values() if not symbol.version}
        wished = {symbol.name for symbol in old.values() if not symbol.version}
        names = {symbol.name for symbol in new.values()}
        lost = {
            key: one
            for key, one in old.items()
            if key not in new and one.name not in (served if one.version else names)
        }
        known = {symbol.name for symbol in old.values()}
        return cls(
            base=base,
            head=head,
            lost=lost,
            fresh={
                key: one
                for key, one in new.items()
                if key not in old and one.name not in (wished if one.version else known)
            },
            kept=tuple((old[key], new[key]) for key in old if key in new),
        )


def _compared(pair: _Pair, gained: Mapping[str, str], words: _Words) -> Iterator[Remark]:
    path = pair.head.path
    moved = {key: gained[key] for key in pair.lost if key in gained}
    if moved:
        targets = ", ".join(sorted(set(moved.values())))
        text = f"{path}: {words.listed(moved)} moved to {targets}"
        yield _remark(
            "symbols.moved",
            Severity.NOTE,
            path,
            text,
            "who links against the first alone misses it",
        )
    left = {key: one for key, one in pair.lost.items() if key not in moved}
    twins = {key: twin for key in left if (twin := _twin(left[key], pair.fresh, words.names))}
    for key, twin in twins.items():
        yield _renamed(pair, left[key], twin, words)
    extension = is_extension(pair.base.symbols)
    removed = [one for key, one in left.items() if key not in twins]
    grave = [one for one in removed if is_entry(one.name) or not (extension or one.inline)]
    yield from _removed(path, grave, words, Severity.WARNING)
    quiet = [one for one in removed if one not in grave]
    if quiet:
        why = "Python loads an extension module by its PyInit function alone"
        if not extension:
            why = "inline: who includes the header has it, unless an explicit instantiation was meant for all"
        yield _sum(path, quiet, words, Severity.NOTE, why)
    yield from _kinds(pair, words)
    added = [key for key in pair.fresh if pair.fresh[key] not in twins.values()]
    added = [key for key in added if not pair.fresh[key].inline]
    if added:
        yield _remark(
            "symbols.added",
            Severity.NOTE,
            path,
            f"{path} exports {counted(len(added), 'symbol')} more: {words.listed(added)}",
            "what is exported is hard to take back",
        )


def _twin(
    lost: Symbol, fresh: Mapping[str, Symbol], names: Mapping[str, Demangled]
) -> Symbol | None:
    """Find the new symbol that the lost one became: with another version, or with other parameters."""
    for one in fresh.values():
        if one.name == lost.name:
            return one
    bare = names[lost.name].bare if lost.name in names else ""
    if not bare:
        return None
    same = [one for one in fresh.values() if one.name in names and names[one.name].bare == bare]
    return same[0] if same else None


def _renamed(pair: _Pair, lost: Symbol, twin: Symbol, words: _Words) -> Remark:
    """Say that a name is there, and is another to the linker."""
    old, new = words.shown(lost.name), words.shown(twin.name)
    inline = lost.inline or is_extension(pair.base.symbols)
    severity = Severity.NOTE if inline else Severity.WARNING
    if lost.name == twin.name:
        text = (
            f"{pair.head.path} exports {old} in version {twin.version} now, not in {lost.version}"
        )
        code = "symbols.version-changed"
    else:
        text = f"{pair.head.path}: the signature changed: {old} is {new} now"
        code = "symbols.signature-changed"
    return _remark(
        code, severity, f"{pair.head.path}: {old}", text, _OLD_ABI, place=words.place(lost.name)
    )


def _removed(
    path: str, symbols: list[Symbol], words: _Words, severity: Severity
) -> Iterator[Remark]:
    why = f"{_OLD_ABI}; a lost export macro or a new `static` looks like this"
    if len(symbols) > _ONE_BY_ONE:
        yield _sum(path, symbols, words, severity, why)
        return
    for one in symbols:
        shown = words.shown(one.name) + (f" ({one.version})" if one.version else "")
        yield _remark(
            "symbols.removed",
            severity,
            f"{path}: {shown}",
            f"{path} no longer exports {shown}",
            why,
            place=words.place(one.name),
        )


def _sum(
    path: str,
    symbols: list[Symbol],
    words: _Words,
    severity: Severity,
    why: str,
) -> Remark:
    listed = words.listed(one.name for one in symbols)
    text = f"{path} exports {counted(len(symbols), 'symbol')} less: {listed}"
    return _remark(
        "symbols.removed", severity, path, text, why, place=words.place(symbols[0].name)
    )


def _kinds(pair: _Pair, words: _Words) -> Iterator[Remark]:
    for old, new in pair.kept:
        if old.function is not new.function:
            was, now = ("a function", "data") if old.function else ("data", "a function")
            shown = words.shown(old.name)
            text = f"{pair.head.path}: {shown} was {was} and is {now} now"
            subject = f"{pair.head.path}: {shown}"
            yield _remark(
                "symbols.kind-changed",
                Severity.WARNING,
                subject,
                text,
                _OLD_ABI,
                place=words.place(old.name),
            )


def _library_removed(library: Library) -> Remark:
    symbols = exported(library)
    number = counted(len(symbols), "symbol")
    text = f"the library {library.path} is gone, with {number}"
    why = "what loads it or links against it finds it no more"
    return _remark("symbols.library-removed", Severity.WARNING, library.path, text, why)


def _remark(
    code: str,
    severity: Severity,
    subject: str,
    text: str,
    why: str = "",
    *,
    place: Place = NOWHERE,
) -> Remark:
    file, line = place
    mend = ""
    if severity is Severity.WARNING:
        mend = "export it again, or say that it is meant and raise the library's version"
    return Remark(
        code=code,
        severity=severity,
        text=text,
        why=why,
        mend=mend,
        file=file,
        line=line,
        subject=subject,
    )


def _place(word: str, facts: Facts) -> Place:
    """Find the first line of the changed sources that names it: head's, or the base's where head has none."""
    heads = [(file.path, facts.head.text(file.path)) for file in in_head(facts.change)]
    bases = [
        (before(file), facts.base.text(before(file)))
        for file in facts.change.files
        if file.status is not FileStatus.ADDED
    ]
    pattern = re.compile(rf"\b{re.escape(word)}\b")
    for path, text in (*heads, *bases):
        if text is None or not is_native(path):
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            if pattern.search(line):
                return path, number
    return NOWHERE
