"""Holds containers with what they refer to, and tells which of them refer to something else now."""

import abc
import gc
import itertools
import operator
import threading

from presubmit_recorder import kinds
from presubmit_recorder.holders import referents

MOST = 50000
_AT_ONCE = 64
IGNORED = frozenset(
    ("__warningregistry__", "__builtins__", "__cached__", "__doc__", "@pytest_ar", "@py_builtins")
)
"""Names of a module that Python and pytest write to on their own."""
_MEMO = "__slotnames__"
"""What `copy` and `pickle` remember of a class."""
_TYPE_SPACE = type.__dict__["__dict__"].__get__


class Shelf:
    """The containers that were met from some names; `holders` knows by which ones each can be reached."""

    def __init__(self, holders):
        self.dark = []
        """Objects whose state cannot be seen."""
        self._holders = holders
        self._asked = []
        self._answers = []
        self._refs = _Column(lambda things: gc.get_referents(*things))
        self._keys = _Column(
            lambda things: [*itertools.chain.from_iterable(map(dict.__iter__, things))]
        )

    @property
    def size(self):
        """How many objects are compared."""
        return len(self._refs.things) + len(self._asked)

    def take(self, names):
        """List what can be reached from names."""
        for name, value in names.items():
            self._holders.name(name, value)
        self._walk([*names.values()])
        self._settle()

    def _walk(self, waiting):
        holders = self._holders
        seen, atoms = holders.seen, kinds.ATOMS
        while waiting and len(self._refs.things) <= MOST:
            thing = waiting.pop()
            kind = type(thing)
            if kind in atoms or id(thing) in seen or kinds.is_boundary(kind):
                continue
            if kind is dict and _is_module_space(thing):
                continue
            holders.meet(thing)
            question = kinds.question(kind)
            if issubclass(kind, type):
                waiting += self._inside(thing)
            elif question is not None:
                self._asked.append((thing, question))
                waiting += kinds.parts(thing)
            elif kind is threading.local:
                holders.lead(thing, thing.__dict__)
                waiting.append(thing.__dict__)
            elif not kinds.is_seen(kind):
                self.dark.append(thing)
            elif kind in kinds.FIXED:
                waiting += referents(thing)
            else:
                waiting += self._put(thing)
                if issubclass(kind, dict):
                    waiting += dict.keys(thing)

    def _inside(self, kind):
        """List what a class of the project's holds; others are no part of its state."""
        if not self._holders.path(kind):
            return []
        if isinstance(kind, abc.ABCMeta):
            self._asked.append((kind, kinds.registrations))
        (inner,) = gc.get_referents(_TYPE_SPACE(kind))
        self._holders.space(inner, kind)
        return self._put(inner)

    def _put(self, thing):
        found = gc.get_referents(thing)
        self._refs.add(thing, len(found))
        if issubclass(type(thing), dict):
            self._keys.add(thing, dict.__len__(thing))
        return found

    def _settle(self):
        """Keep what everything that was listed since refers to now."""
        self._refs.settle()
        self._keys.settle()
        self._answers = [question(thing) for thing, question in self._asked]

    def changed(self):
        """Give the objects that changed, and whether something was lost by that.

        What one gained is listed; what it lost is still held, and has to be forgotten.
        """
        found = [
            thing
            for (thing, question), before in zip(self._asked, self._answers)
            if question(thing) != before
        ]
        lost = other = False
        for thing in found:
            now = kinds.parts(thing)
            if now:
                lost = True
                self._walk([*now])
                self._holders.link(thing, now)
        for thing, before, now in [*self._refs.differing(), *self._keys.differing()]:
            if self._holders.is_space(thing) and _alike_but_for_memo(thing, before, now):
                continue
            self._walk([*now])
            self._holders.link(thing, now)
            seen = _with_attributes(before, now)
            if not alike(before, seen):
                found.append(thing)
                lost = lost or not _things(before) <= _things(seen)
            other = True
        if found or other:
            self._settle()
        return found, lost


class _Column:
    """Things, and what each gave when it was asked last; many are asked at once."""

    def __init__(self, ask):
        self.things = []
        self._ask = ask
        self._lengths = []
        self._given = []

    def add(self, thing, length):
        """Add one that gives so many objects."""
        self.things.append(thing)
        self._lengths.append(length)

    def settle(self):
        """Ask those that were added since."""
        full = max(0, len(self._given) - 1)
        del self._given[full:]
        for start in range(full * _AT_ONCE, len(self.things), _AT_ONCE):
            self._given.append(self._ask(self.things[start : start + _AT_ONCE]))

    def differing(self):
        """Give what refers to other objects than before, with both lists; of those that are merely equal, none."""
        found = []
        for number, before in enumerate(self._given):
            start = number * _AT_ONCE
            now = self._ask(self.things[start : start + _AT_ONCE])
            if not same(before, now):
                found += self._among(start, before, now)
                self._given[number] = now
        return found

    def _among(self, start, before, now):
        found, at = [], 0
        for number in range(start, min(start + _AT_ONCE, len(self.things))):
            old = before[at : at + self._lengths[number]]
            new = self._ask([self.things[number]])
            at += self._lengths[number]
            self._lengths[number] = len(new)
            if not alike(old, new):
                found.append((self.things[number], old, new))
        if not found and not alike(before, now):
            raise RuntimeError("a thread changed what is looked at")
        return found


def _alike_but_for_memo(space, before, now):
    memo = space.get(_MEMO, _MEMO)
    return alike(
        *([it for it in found if it is not memo and it is not _MEMO] for found in (before, now))
    )


def _with_attributes(before, now):
    """Put in the place of an object's `__dict__` what it holds: in some Pythons there is none until it is asked for."""
    return [
        part
        for it in now
        for part in (
            it.values() if type(it) is dict and not any(it is old for old in before) else (it,)
        )
    ]


def _things(found):
    return {id(it) for it in found if type(it) not in kinds.VALUES}


def _is_module_space(space):
    """Tell the namespace of a module: each is looked at under its own name, or not at all."""
    return "__spec__" in space and "__name__" in space and "__loader__" in space


def same(one, two):
    """Tell whether two lists hold the same objects."""
    return len(one) == len(two) and all(map(operator.is_, one, two))


def alike(one, two):
    """Tell whether two lists hold the same objects, or plain values that are equal."""
    return len(one) == len(two) and all(
        a is b or (type(a) is type(b) and type(a) in kinds.VALUES and a == b)
        for a, b in zip(one, two)
    )
