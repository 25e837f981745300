"""Reads `on`: the events that start a workflow, and what a reusable one wants of its callers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.upstream.model import CallInput, Trigger
from presubmit.upstream.nodes import Mapping, Node, Problem, Scalar, Sequence
from presubmit.upstream.scalars import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_PAIRS: Final = ("branches", "tags", "paths")
_FILTERS: Final = frozenset((*_PAIRS, *(f"{name}-ignore" for name in _PAIRS), "types"))


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """What `workflow_call` declares."""

    inputs: tuple[CallInput, ...] = ()
    secrets: tuple[str, ...] = ()
    required_secrets: tuple[str, ...] = ()
    outputs: dict[str, Scalar] = {}


def read_triggers(node: Node | None, path: str) -> tuple[tuple[Trigger, ...], tuple[Problem, ...]]:
    """Read the three forms of `on`: an event, a sequence of events, a mapping of events to their filters."""
    match node:
        case Scalar():
            return (Trigger(mark=node.mark, event=text_of(node), filters={}),), ()
        case Sequence(items) if items:
            names = [item for item in items if isinstance(item, Scalar)]
            return tuple(Trigger(mark=n.mark, event=text_of(n), filters={}) for n in names), ()
        case Mapping(entries) if entries:
            triggers = tuple(_trigger(key, value) for key, value in entries)
            problems = (p for key, value in entries for p in _check_filters(key, value, path))
            return triggers, tuple(problems)
    return (), (Problem(path, node.mark if node else None, "`on` names no event"),)


def read_call(triggers: tuple[Trigger, ...]) -> Call:
    """Read what a caller must and may give."""
    node = next((trigger.node for trigger in triggers if trigger.event == "workflow_call"), None)
    secrets = dict(_declared(node, "secrets"))
    values = ((name, output.get("value")) for name, output in _mappings(node, "outputs"))
    return Call(
        inputs=tuple(_input(name, given) for name, given in _mappings(node, "inputs")),
        secrets=tuple(secrets),
        required_secrets=tuple(n for n, given in secrets.items() if _is_required(given)),
        outputs={name: value for name, value in values if isinstance(value, Scalar)},
    )


def _trigger(key: Scalar, value: Node) -> Trigger:
    filters = {}
    for name, node in value.entries if isinstance(value, Mapping) else ():
        if text_of(name) not in _FILTERS:
            continue
        if isinstance(node, Sequence):
            filters[text_of(name)] = node
        elif isinstance(node, Scalar) and node.value is not None:
            filters[text_of(name)] = Sequence((node,), node.mark)
    nothing = isinstance(value, Scalar) and value.value is None
    return Trigger(
        mark=key.mark, event=text_of(key), filters=filters, node=None if nothing else value
    )


def _check_filters(key: Scalar, value: Node, path: str) -> Iterator[Problem]:
    """Refuse a filter beside its opposite (docs: "Workflow syntax", `on.push.branches-ignore`)."""
    if not isinstance(value, Mapping):
        return
    keys = {text_of(name): (name, node) for name, node in value.entries}
    for name in _PAIRS:
        if name in keys and f"{name}-ignore" in keys:
            later = max(keys[name][0].mark, keys[f"{name}-ignore"][0].mark)
            yield Problem(
                path, later, f"`{text_of(key)}` can have `{name}` or `{name}-ignore`, not both"
            )
    for name, (place, node) in keys.items():
        if name in _FILTERS and isinstance(node, Scalar) and node.value is None:
            yield Problem(path, place.mark, f"`{name}` holds nothing", warning=True)


def _input(name: str, given: Mapping) -> CallInput:
    kind = given.get("type")
    return CallInput(
        name=name,
        kind=text_of(kind) if isinstance(kind, Scalar) else "string",
        required=_is_required(given),
        default=given.get("default"),
    )


def _is_required(given: Node) -> bool:
    required = given.get("required") if isinstance(given, Mapping) else None
    return isinstance(required, Scalar) and required.value is True


def _declared(node: Node | None, key: str) -> Iterator[tuple[str, Node]]:
    part = node.get(key) if isinstance(node, Mapping) else None
    if isinstance(part, Mapping):
        yield from ((text_of(name), given) for name, given in part.entries)


def _mappings(node: Node | None, key: str) -> Iterator[tuple[str, Mapping]]:
    yield from ((n, given) for n, given in _declared(node, key) if isinstance(given, Mapping))
