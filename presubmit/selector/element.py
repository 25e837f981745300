"""What one Python file defines, element by element, and which names each element uses: the values."""

from __future__ import annotations

from enum import StrEnum

from presubmit.values import Value

MODULE = "<module>"
"""The qualified name of what runs when the module is imported: its own statements and those of its classes."""


class ElementKind(StrEnum):
    """What an element is."""

    MODULE = "module"
    CLASS = "class"
    """A class's header and its own statements; its methods and constants are elements by themselves."""
    FUNCTION = "function"
    """A function or method, with everything that is nested in it."""
    CONSTANT = "constant"
    """An assignment of literals to names, at module or class level: running it can neither fail nor call anything."""


class Element(Value, frozen=True, kw_only=True):
    """One element of a file; digests change when the code does, whatever its layout, comments or docstrings.

    Uses are written as `f` (an identifier that is no local variable), `root.f` (an attribute of such an identifier),
    `self.f` (an attribute of a method's first parameter), `.f` (an attribute of anything else, or a word of a string),
    `.do_*` and `.*_key` (the known part of a name that is built), `=f` (a parameter: tests get fixtures by them).
    """

    qualname: str
    """`f`, `C`, `C.m`, `C.D.m`, `LIMIT`, `C.limit`, or `<module>`."""
    kind: ElementKind
    first_line: int
    last_line: int
    head: str
    """Digest of what runs where the element is defined: decorators, defaults, bases, a class's own statements."""
    body: str = ""
    """Digest of what runs later: a function's body (annotations and literal defaults with it), a constant's value."""
    docstring: str = ""
    """Digest of the docstring."""
    uses: tuple[str, ...] = ()
    """Names that running it may look up: identifiers, attributes, words of strings that are identifiers."""
    head_uses: tuple[str, ...] = ()
    """The same for what runs where it is defined."""
    decorators: tuple[str, ...] = ()
    """`functools.lru_cache`, `app.route`; `?` for one that is no plain name."""
    bases: tuple[str, ...] = ()
    """A class's bases, and `metaclass=M`."""
    dynamic: tuple[str, ...] = ()
    """Ways to reach what is not named: `getattr` (a computed name), `getattr self`,
    `members` (all that there is), `imports` (modules by computed names), `fixtures` (by computed names), `exec`."""
    call: str = ""
    """Digest of what a call of a function meets before its body runs: parameters, generator or not.

    Empty where no line of the body stands by itself: that it ran cannot be told from that it was defined."""
    writes: tuple[str, ...] = ()
    """What it changes that outlives a call: global names, `self.x`, `closure x`, `default x`.

    `class x`, `globals x` (`*`: any), `result f` (what a call of `f` gave), `parameter x`.
    And `call x` where it calls a parameter: as a decorator, it runs what it decorates. `passes x`, `asks x m` and
    `gives x` tell which names it hands to calls, calls the method `m` of, and returns: `x`, `x.y`, `self.x`,
    `class.x`, `result:f`."""


class Shape(Value, frozen=True, kw_only=True):
    """All elements of a file, the module first."""

    elements: tuple[Element, ...]
    problem: str = ""
    """Why it could not be parsed; there are no elements then."""
    imports: tuple[tuple[str, str], ...] = ()
    """Names that imports bind, and to what: `("f", "pkg.mod:f")`, `("np", "numpy")`, `("x", "..mod:x")`."""
    stars: tuple[str, ...] = ()
    """Modules of which everything is imported, as written."""
    aliases: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Names that are assigned at module or class level, and what the value uses: `("TABLE", ("f", "g"))`.

    The name that a fixture is given (`@fixture(name="x")`) is one of them; it has `=fixture` besides its function."""
    kept: tuple[str, ...] = ()
    """Names bound at module or class level, `C.x`, whose values may change: containers, instances."""
    names: tuple[str, ...] = ()
    """Every name that occurs in all these, once."""
