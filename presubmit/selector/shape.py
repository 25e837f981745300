"""What one Python file defines, element by element, and which names each element uses: read from its source alone."""

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
    """One element of a file; digests change when the code does, whatever its layout, comments or docstrings."""

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


class Shape(Value, frozen=True, kw_only=True):
    """All elements of a file, the module first."""

    elements: tuple[Element, ...]
    problem: str = ""
    """Why it could not be parsed; there are no elements then."""
