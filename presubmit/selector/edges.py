"""Keeps the resolved edges of a tree: where only contents changed, only the changed files are resolved again."""

from __future__ import annotations

import array
import hashlib
import os
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.selector.cache import Kind
from presubmit.selector.imports import EXTRACTOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from presubmit.selector.cache import Cache
    from presubmit.selector.resolve import Resolver

_VERSION: Final = 2
"""Raise it when the resolver gives other edges for the same imports."""
_WORTH: Final = 300
"""Files from which on edges are kept."""
_STALE: Final = 50
"""Files that may differ from what is kept before it is written anew."""


class _Edges(msgspec.Struct, frozen=True, array_like=True):
    """For each path (by number), the numbers of the nodes that it depends on."""

    nodes: bytes
    """Names; the paths stand first."""
    blobs: str
    counts: bytes
    targets: bytes


def read_edges(
    resolver: Resolver, blobs: Mapping[str, str], cache: Cache | None
) -> Iterator[tuple[str, Iterable[str]]]:
    """Give every path with the nodes that it depends on; what has no blob id is resolved each time."""
    paths = resolver.layout.names
    if cache is None or len(paths) < _WORTH:
        return ((path, resolver.dependencies(path)) for path in paths)
    key = _key(resolver)
    kept = _unpack(cache.load(Kind.PACKS, [key]).get(key, b""), blobs)
    fresh = {path: resolver.dependencies(path) for path in paths if path not in kept}
    found: dict[str, Iterable[str]] = {
        path: fresh[path] if path in fresh else kept[path] for path in paths
    }
    if len(fresh) > _STALE:
        cache.store(
            Kind.PACKS, {key: _pack({p: it for p, it in found.items() if p in blobs}, blobs)}
        )
    return iter(found.items())


def _key(resolver: Resolver) -> str:
    """Name what, besides a file's own content, decides what it depends on."""
    layout = resolver.layout
    parts = (
        list(layout.names.items()),
        layout.tests,
        layout.conftests,
        sorted(layout.packages),
        sorted(layout.scripts.items()),
        layout.entry_points,
        sorted(resolver.links.items()),
    )
    data = repr(parts).encode("utf-8", "backslashreplace")
    return f"edges:{_VERSION}:{EXTRACTOR}:{hashlib.sha256(data).hexdigest()}"


def _pack(edges: Mapping[str, Iterable[str]], blobs: Mapping[str, str]) -> bytes:
    numbers = {path: number for number, path in enumerate(edges)}
    counts, targets = array.array("I"), array.array("I")
    for nodes in edges.values():
        before = len(targets)
        targets.extend(numbers.setdefault(node, len(numbers)) for node in nodes)
        counts.append(len(targets) - before)
    return msgspec.msgpack.encode(
        _Edges(
            nodes=b"\0".join(os.fsencode(node) for node in numbers),
            blobs="\n".join(blobs[path] for path in edges),
            counts=counts.tobytes(),
            targets=targets.tobytes(),
        )
    )


def _unpack(data: bytes, blobs: Mapping[str, str]) -> dict[str, list[str]]:
    """Give the edges of the paths that still have the same blob."""
    counts, targets = array.array("I"), array.array("I")
    try:
        edges = msgspec.msgpack.decode(data, type=_Edges)
        counts.frombytes(edges.counts)
        targets.frombytes(edges.targets)
        nodes = [os.fsdecode(node) for node in edges.nodes.split(b"\0")]
        numbered = [nodes[number] for number in targets]
    except (msgspec.MsgspecError, UnicodeError, ValueError, IndexError):
        return {}
    found: dict[str, list[str]] = {}
    start = 0
    for path, blob, count in zip(nodes, edges.blobs.split("\n"), counts, strict=False):
        if blobs.get(path) == blob:
            found[path] = numbered[start : start + count]
        start += count
    return found
