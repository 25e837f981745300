"""What a change did to one Python file: element by element, and whether it shows at import or only when run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from presubmit.selector.element import MODULE, Element, ElementKind, Shape
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Collection

_RUN_LATER: Final = frozenset({ElementKind.FUNCTION, ElementKind.CONSTANT})


class Difference(Value, frozen=True, kw_only=True):
    """What differs between two versions of a file; a moved or re-laid-out element does not."""

    bodies: tuple[str, ...] = ()
    """Functions and constants of which only what runs later changed."""
    at_import: tuple[str, ...] = ()
    """Elements that were added, removed, or changed in what runs at import."""
    docstrings: tuple[str, ...] = ()
    """Elements with another docstring."""
    problem: str = ""
    """Why a side cannot be parsed; what changed is then unknown."""

    @property
    def quiet(self) -> bool:
        """Tell whether nothing but comments, layout and docstrings changed."""
        return not (self.bodies or self.at_import or self.problem)


def compare(base: Shape | None, head: Shape | None) -> Difference:
    """Compare a file's two versions; None stands for a side that does not have it."""
    problem = next((it.problem for it in (base, head) if it is not None and it.problem), "")
    if problem:
        return Difference(problem=problem)
    if base is None or head is None:
        only = base or head
        return Difference(at_import=() if only is None else tuple(_by_name(only)) or (MODULE,))
    return _compare(base, head)


def _compare(base: Shape, head: Shape) -> Difference:
    old, new = _by_name(base), _by_name(head)
    bodies, docstrings = [], []
    # The order of definitions shows: in the order of tests, of an enum's members, in `vars()` and `globals()`.
    at_import = [MODULE] if _order(base, new) != _order(head, old) else []
    for name in dict.fromkeys((*new, *old)):
        before, after = old.get(name), new.get(name)
        if before is None or after is None or _differs_at_import(before, after):
            at_import.append(name)
            continue
        if before.body != after.body:
            bodies.append(name)
        if before.docstring != after.docstring:
            docstrings.append(name)
    return Difference(
        bodies=tuple(bodies),
        at_import=tuple(dict.fromkeys(at_import)),
        docstrings=tuple(docstrings),
    )


def _order(shape: Shape, other: Collection[str]) -> list[str]:
    """Give the elements that the other version has as well, as they stand in the file."""
    common = [it for it in shape.elements if it.qualname in other]
    common.sort(key=lambda it: (it.qualname != MODULE, it.first_line))
    return [it.qualname for it in common]


def _by_name(shape: Shape) -> dict[str, Element]:
    return {element.qualname: element for element in shape.elements}


def _differs_at_import(before: Element, after: Element) -> bool:
    if before.kind is not after.kind or before.head != after.head:
        return True
    return before.kind not in _RUN_LATER and before.body != after.body
