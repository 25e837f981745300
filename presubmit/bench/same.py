"""Whether both sides loaded what they should differ in: a comparison of a build with itself says nothing. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from presubmit.bench.progress import Proved
    from presubmit.bench.values import Proof

_SOURCES = (".py", ".pyw")


def same_build(proved: Proved, *, changed: Collection[str], native: bool) -> bool:
    """Tell whether both sides loaded the very same of what the change alters.

    `changed` holds the names of changed modules; with `native` an extension module has to differ, too. Where neither
    side loaded anything of it, nothing is wrong: the change may be reached by other ways (a data file, a subprocess).
    """
    base, head = _blobs(proved.base), _blobs(proved.head)
    both = base.keys() & head.keys()
    python = [name for name in changed if name in both]
    if any(base[name] != head[name] for name in python):
        return False
    extensions = _extensions(proved.base) & _extensions(proved.head) if native else set()
    if any(base[name] != head[name] for name in extensions):
        return False
    return bool(python or extensions)


def _blobs(proofs: Iterable[Proof]) -> dict[str, str]:
    return {it.module: it.blob for it in proofs}


def _extensions(proofs: Iterable[Proof]) -> set[str]:
    return {it.module for it in proofs if not it.file.endswith(_SOURCES)}
