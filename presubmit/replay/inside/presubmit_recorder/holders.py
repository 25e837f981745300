"""Finds by which names of the project's an object can be reached: who may see that it changed."""

import gc
import types

from presubmit_recorder import kinds

MOST = 60
"""Names: what can be reached by more is not told apart."""
_MOST_AROUND = 3000
_FUNCTION_SPACE = types.FunctionType.__dict__["__dict__"].__get__
_QUALNAME = type.__dict__["__qualname__"].__get__


class Holders:
    """What was met from some names, and what leads to each; `path_of` gives the file of a module by its name."""

    def __init__(self, path_of):
        self._path_of = path_of
        self.seen = set()
        self._met = []
        """All of `seen`, so that no id becomes another's."""
        self._above = {}
        self._linked = 0
        self._names = {}
        self._spaces = {}

    def meet(self, thing):
        """Note an object that leads to others, or that changes itself."""
        self.seen.add(id(thing))
        self._met.append(thing)

    def name(self, name, value):
        """Note that a name holds an object."""
        if type(value) not in kinds.ATOMS:
            self._names.setdefault(id(value), []).append(name)

    def space(self, inner, kind):
        """Note what holds the attributes of a class."""
        self.meet(inner)
        self._spaces[id(inner)] = kind

    def is_space(self, thing):
        """Tell whether an object holds the attributes of a class."""
        return id(thing) in self._spaces

    def link(self, parent, children):
        """Note what an object leads to by now."""
        for child in children:
            if id(child) in self.seen:
                self.lead(parent, child)

    def lead(self, parent, child):
        """Note that one object leads to another."""
        self._above.setdefault(id(child), []).append(parent)

    def path(self, kind):
        """Give the file of a class of the project's, empty for another."""
        module = kind.__dict__.get("__module__")
        return self._path_of(module) or "" if isinstance(module, str) else ""

    def of(self, thing):
        """Give the names by which an object can be reached, `a ` and the class of objects on the way; None: too many."""
        self._link_all()
        found, around, waiting = set(), {id(thing)}, [thing]
        while waiting:
            one = waiting.pop()
            found.update(self._names.get(id(one), ()))
            found.update(self._by_kind(one))
            for parent in self._above.get(id(one), ()):
                kind = self._spaces.get(id(parent))
                if kind is not None:
                    found.update(self._attributes(kind, parent, one))
                    if "<locals>" not in _QUALNAME(kind):
                        continue
                    parent = kind  # noqa: PLW2901 - who holds the class itself
                if id(parent) not in around:
                    around.add(id(parent))
                    waiting.append(parent)
            if len(found) > MOST or len(around) > _MOST_AROUND:
                return None
        return found

    def _by_kind(self, one):
        kind = self._spaces.get(id(one))
        if kind is not None:
            return [_element(self.path(kind), _QUALNAME(kind))]
        kind = one if issubclass(type(one), type) else type(one)
        path = self.path(kind)
        if not path:
            return []
        element = _element(path, _QUALNAME(kind))
        return [element] if kind is one else ["a " + element]

    def _attributes(self, kind, space, value):
        path, name = self.path(kind), _QUALNAME(kind)
        return [
            _element(path, "{}.{}".format(name, key))
            for key, it in [*space.items()]
            if it is value
        ] or [_element(path, name)]

    def _link_all(self):
        for thing in self._met[self._linked :]:
            if not issubclass(type(thing), type):
                self.link(thing, referents(thing))
        self._linked = len(self._met)


def referents(thing):
    """Give what an object refers to."""
    found = kinds.parts(thing) or gc.get_referents(thing)
    if type(thing) is types.FunctionType:
        found.append(_FUNCTION_SPACE(thing))
    return found


def _element(path, qualname):
    """Name a definition; what is made in a function, by the function."""
    return "{}::{}".format(path, qualname.partition(".<locals>")[0])
