"""Holds a document against the tables (actions/runner: ObjectTemplating/TemplateReader.cs)."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from presubmit.upstream.nodes import Mapping, Mark, Node, Problem, Scalar, Sequence
from presubmit.upstream.scalars import text_of
from presubmit.upstream.schema import embedded
from presubmit.upstream.schema.shapes import ANYTHING, Keys, Scope, Shape, joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def check(node: Node, shape: Shape, path: str) -> tuple[Problem, ...]:
    """Give everything in a document that its shape does not allow, in the file's order."""
    return tuple(_Check(path).node(node, shape, Scope()))


class _Check:
    """Carries the file's name to every problem."""

    def __init__(self, path: str) -> None:
        self.path = path

    def node(self, node: Node, shape: Shape, outer: Scope) -> Iterator[Problem]:
        scope = joined(outer, shape.scope)
        match node:
            case Scalar():
                yield from self._scalar(node, shape, scope)
            case Sequence(items):
                inner = ANYTHING if shape.anything else shape.items
                if inner is None:
                    yield self._error(node.mark, f"a sequence cannot stand here, only {shape}")
                    return
                for item in items:
                    yield from self.node(item, inner, scope)
            case Mapping():
                if shape.anything:
                    yield from self._mapping(node, (_ANY_KEYS,), scope)
                elif shape.mappings:
                    yield from self._mapping(node, shape.mappings, scope)
                else:
                    yield self._error(node.mark, f"a mapping cannot stand here, only {shape}")

    # --- scalars ------------------------------------------------------------------------------------------------------

    def _scalar(self, node: Scalar, shape: Shape, scope: Scope) -> Iterator[Problem]:
        text = text_of(node)
        if isinstance(node.value, str) and embedded.is_template(text):
            fault = embedded.fault_of(text, scope)
            if fault:
                yield self._error(node.mark, fault)
            elif shape.condition and embedded.has_text_around(text):
                yield self._warning(
                    node.mark, "always true: text stands outside of ${{ }}, and a text is true"
                )
            if fault or not embedded.is_literal(text):
                return
        elif shape.condition and text:
            fault = embedded.fault_of_expression(text, scope)
            if fault:
                yield self._error(node.mark, fault)
            return
        if shape.anything or _fits(node, text, shape):
            return
        if shape.usual and text:
            yield self._warning(
                node.mark, f"'{text}' is not known{_suggestion(text, shape.usual)}"
            )
            return
        found = f"'{text}'" if text else "nothing"
        yield self._error(node.mark, f"{found} cannot stand here, only {shape}")

    # --- mappings -----------------------------------------------------------------------------------------------------

    def _mapping(
        self, node: Mapping, variants: tuple[Keys, ...], scope: Scope
    ) -> Iterator[Problem]:
        candidates = list(variants)
        computed = False
        for key, value in node.entries:
            name = text_of(key)
            if embedded.is_template(name):
                computed = True
                yield from self._computed_key(key, value, scope)
                continue
            having = [keys for keys in candidates if name in keys.known]
            if having:
                candidates = having
                yield from self.node(value, having[0].known[name], scope)
            elif candidates[0].others is not None and name:
                yield from self.node(value, candidates[0].others, scope)
            else:
                yield self._unknown_key(key, variants, candidates)
        if len(candidates) > 1:
            own = [f"'{name}'" for keys in candidates for name in _telling(keys, variants)]
            yield self._error(node.mark, f"one of these keys is missing: {', '.join(own)}")
        elif not computed:
            for name in candidates[0].required:
                if node.get(name) is None:
                    yield self._error(node.mark, f"the key '{name}' is missing")

    def _computed_key(self, key: Scalar, value: Node, scope: Scope) -> Iterator[Problem]:
        text = text_of(key)
        fault = "" if embedded.is_insertion(text) else embedded.fault_of(text, scope)
        if not fault and not scope.names:
            fault = "an expression cannot stand here"
        if fault:
            yield self._error(key.mark, fault)
        else:
            yield from self.node(value, ANYTHING, scope)

    def _unknown_key(
        self, key: Scalar, variants: tuple[Keys, ...], candidates: list[Keys]
    ) -> Problem:
        name = text_of(key)
        if not name:
            return self._error(key.mark, "a key cannot be empty")
        if any(name in keys.known for keys in variants):
            beside = _telling(candidates[0], variants)
            return self._error(key.mark, f"'{name}' cannot stand beside '{beside[0]}'")
        if any(name in keys.idle for keys in candidates):
            return self._warning(key.mark, f"'{name}' does nothing here")
        known = [other for keys in candidates for other in keys.known]
        message = f"the key '{name}' is not known{_suggestion(name, known)}"
        if all(keys.closed for keys in candidates):
            return self._error(key.mark, message)
        return self._warning(key.mark, message)

    def _error(self, mark: Mark, message: str) -> Problem:
        return Problem(self.path, mark, message)

    def _warning(self, mark: Mark, message: str) -> Problem:
        return Problem(self.path, mark, message, warning=True)


_ANY_KEYS = Keys(known={}, others=ANYTHING)


def _telling(keys: Keys, variants: Iterable[Keys]) -> tuple[str, ...]:
    """Give the keys by which a mapping is known to be this one of its variants."""
    return tuple(
        name for name in keys.required if not all(name in other.required for other in variants)
    )


def _fits(node: Scalar, text: str, shape: Shape) -> bool:
    match node.value:
        case None if shape.null:
            return True
        case bool() if shape.boolean:
            return True
        case int() | float() if shape.number and not isinstance(node.value, bool):
            return True
    # Whatever is no text becomes one where text is wanted: `name: 3.10` is "3.1".
    return (
        shape.text or (shape.filled and bool(text)) or text in shape.words or text in shape.usual
    )


def _suggestion(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.75)
    return f"; did you mean '{near[0]}'?" if near else ""
