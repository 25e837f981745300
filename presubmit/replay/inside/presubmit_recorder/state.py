"""Sees whether a test left state behind: compares what long-lived objects refer to before and after it.

The first walk lists every container that the project's modules and shared fixtures hold; later looks compare what these
refer to, object by object, in one pass at C's speed. None of the project's code runs. What is held for the comparison
was held by the project when the last look ended; what a test itself made is not, unless it left it.
"""

import contextvars
import sys
import time
import types

from presubmit_recorder import holders, kinds, outside
from presubmit_recorder.shelf import IGNORED, MOST, Shelf, alike, same

_SHARE = 0.1
"""Of the time, what looks may take; one that comes later is for all the tests since."""
_FREE = 2.0
"""CPU seconds that they may take whatever the tests do."""
_WALKS = 0.02
"""The share of the time that walks may take which are only to let go of what tests dropped."""
_SPACE = types.ModuleType.__dict__["__dict__"].__get__


class Watch:
    """What is known of the long-lived objects; `place(path)` names a module's file if it is the project's."""

    def __init__(self, place):
        self._place = place
        self._own = {}
        self._fixtures = {}
        self._began = time.process_time()
        self.spent = 0.0
        self._walked = 0.0
        self.blind = ""
        """Why nothing can be said any more."""
        self._forget()

    @property
    def affordable(self):
        """Whether looks have not cost too much so far."""
        return self.spent < _FREE + _SHARE * self._elapsed

    @property
    def _elapsed(self):
        return time.process_time() - self._began

    def before(self):
        """Look at what is there before a test, unless that is known; tells whether it was looked at anew."""
        if self._loaded is not None or self.blind or not self.affordable:
            return False
        self._timed(self._walk)
        return True

    def after(self):
        """Say what a test left: names, none of them where it left nothing; None where that is not known."""
        if self.blind or self._loaded is None:
            return None
        return self._timed(self._compare)

    def hold(self, name, value):
        """Look at what a fixture that tests share made, too, as it is now."""
        if type(value) in kinds.ATOMS:
            return
        self._fixtures[name] = value
        if self._loaded is not None:
            self._timed(self._take, name, {name: value})

    def release(self, name):
        """Look no more at what a fixture made, and keep nothing of it alive."""
        if self._fixtures.pop(name, self) is not self:
            self._shelves.pop(name, None)
            self._again = True

    def _timed(self, function, *arguments):
        began = time.process_time()
        try:
            return function(*arguments)
        except RuntimeError:  # a dict changed while it was read: by a thread
            self._forget()
            return None
        finally:
            self.spent += time.process_time() - began

    def _forget(self):
        self._loaded = None
        """The modules that were loaded at the last look; None where there is nothing to compare with."""
        self._stale = False
        """Whether something is held that the project holds no more."""
        self._again = False
        """Whether all has to be walked before anything can be said again."""
        self._shelves = {}
        self._spaces = {}
        self._outside = {}
        self._dark = (0, set())
        self._holders = holders.Holders(self._path_of)

    # --- walking ------------------------------------------------------------------------------------------------------

    def _modules(self):
        """Give the project's modules that are loaded, by name, with their files."""
        found = {}
        for name, module in [*sys.modules.items()]:
            if not issubclass(type(module), types.ModuleType):
                continue
            known = self._own.get(name)
            if known is None or known[0] is not module:
                file = _SPACE(module).get("__file__")
                place = self._place(file) if isinstance(file, str) else None
                known = self._own[name] = (module, place)
            if known[1] is not None:
                found[name] = known
        return found

    def _path_of(self, name):
        known = self._own.get(name)
        return None if known is None else known[1]

    def _walk(self):
        began = time.process_time()
        self._forget()
        names = {}
        for name, (module, path) in self._modules().items():
            space = _SPACE(module)
            self._spaces[name] = path, space, [*space], [*space.values()]
            for key, value in space.items():
                if key not in IGNORED:
                    names["{}::{}".format(path, key)] = value
        for variable, value in contextvars.copy_context().items():
            names["context " + variable.name] = value
        self._loaded = [*sys.modules.values()]
        self._outside = outside.look()
        self._take("", names)
        for name, value in self._fixtures.items():
            self._take(name, {name: value})
        self._walked += time.process_time() - began

    def _take(self, key, names):
        shelf = self._shelves[key] = Shelf(self._holders)
        shelf.take(names)
        self._mind_size()

    def _mind_size(self):
        if sum(it.size for it in self._shelves.values()) > MOST:
            self.blind = "there are too many objects"
            self._forget()

    # --- comparing ----------------------------------------------------------------------------------------------------

    def _compare(self):
        left, again = self._other_modules()
        around = outside.look()
        if around != self._outside:
            left |= {name for name, it in around.items() if it != self._outside.get(name)}
            again = again or around["contextvars"] != self._outside.get("contextvars")
            self._outside = around
        names, lost = self._other_names()
        left |= names
        changed = []
        for shelf in self._shelves.values():
            found, gone = shelf.changed()
            changed += found
            lost = lost or gone
        left = self._named(left, changed)
        self._stale = self._stale or lost
        if again or self._again or (self._stale and self._walked < _WALKS * self._elapsed):
            self._walk()  # what is gone is not kept alive any longer
        self._mind_size()
        return None if left is None else sorted(left)

    def _named(self, left, changed):
        """Add the names by which what changed can be reached, and what cannot be seen; None: too many."""
        dark = [it for shelf in self._shelves.values() for it in shelf.dark]
        if len(dark) != self._dark[0]:
            self._dark = len(dark), self._reached(dark)
        found = self._reached(changed)
        if found is None or self._dark[1] is None or len(left) > holders.MOST:
            return None
        return left | found | self._dark[1]

    def _reached(self, things):
        found = set()
        for thing in things:
            names = self._holders.of(thing)
            # What no name leads to is what a name led to a moment ago.
            if not names or len(found) > holders.MOST:
                return None
            found |= names
        return found

    def _other_modules(self):
        """Name modules of the project's that came or went; tells whether there are any."""
        loaded = [*sys.modules.values()]
        if same(loaded, self._loaded):
            return set(), False
        self._loaded = loaded
        found = {"module " + it for it in {*self._spaces}.symmetric_difference(self._modules())}
        return found, bool(found)

    def _other_names(self):
        """Name what modules bind anew; tells whether an object was bound before."""
        found, lost = set(), False
        for module, (path, space, keys, values) in [*self._spaces.items()]:
            if same([*space.values()], values) and same([*space], keys):
                continue
            old, new = dict(zip(keys, values)), dict(space)
            for key in {*old, *new} - IGNORED:
                if key not in old or key not in new or not alike([old[key]], [new[key]]):
                    name = "{}::{}".format(path, key)
                    found.add(name)
                    lost = lost or (key in old and old[key] is not None)
                    self._shelves[""].take({name: new.get(key)})
            self._spaces[module] = path, space, [*new], [*new.values()]
        return found, lost
