"""Reads the shapes of many blobs: from the cache where they are known, else parsed, many of them on every core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.selector.cache import Kind
from presubmit.selector.processes import every_core
from presubmit.selector.shape import EXTRACTOR, Shape, read_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from presubmit.selector.cache import Cache

_BATCH: Final = 1_000
"""Sources that are held in memory at a time."""

_DECODER: Final = msgspec.msgpack.Decoder(Shape)
_ENCODER: Final = msgspec.msgpack.Encoder()


def read_shapes(
    blobs: Iterable[str],
    read: Callable[[Iterable[str]], Mapping[str, bytes]],
    cache: Cache | None = None,
) -> dict[str, Shape]:
    """Give blob id -> Shape; `read` gives the contents of blobs, and is asked only for those that the cache lacks."""
    wanted = tuple(dict.fromkeys(blobs))
    found = {} if cache is None else _load(wanted, cache)
    missing = [blob for blob in wanted if blob not in found]
    with every_core(len(missing)) as cores:
        for start in range(0, len(missing), _BATCH):
            sources = dict(read(missing[start : start + _BATCH]))
            shapes = cores.map(read_shape, list(sources.values()))
            fresh = dict(zip(sources, shapes, strict=True))
            found |= fresh
            if cache is not None:
                _store(fresh, cache)
    return found


def _key(blob: str) -> str:
    return f"{EXTRACTOR}:{blob}"


def _load(blobs: Iterable[str], cache: Cache) -> dict[str, Shape]:
    keys = {_key(blob): blob for blob in blobs}
    found: dict[str, Shape] = {}
    for key, value in cache.load(Kind.SHAPES, list(keys)).items():
        try:
            found[keys[key]] = _DECODER.decode(value)
        except (msgspec.MsgspecError, UnicodeError):
            continue
    return found


def _store(shapes: Mapping[str, Shape], cache: Cache) -> None:
    entries: dict[str, bytes] = {}
    for blob, shape in shapes.items():
        try:
            entries[_key(blob)] = _ENCODER.encode(shape)
        except UnicodeError:
            continue  # a name that is no UTF-8: it is parsed again
    cache.store(Kind.SHAPES, entries)
