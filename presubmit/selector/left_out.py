"""Why tests are not chosen, and by which rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presubmit.selector.rules import Reach
from presubmit.values import LeftOut, Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from presubmit.selector.narrow import Chain, Narrowed
    from presubmit.selector.scene import Scene
    from presubmit.values import Selection


def find_left_out(
    scene: Scene,
    narrowed: Narrowed,
    chosen: Mapping[str, tuple[Reason, ...]],
    affected: Mapping[str, tuple[Reason, ...]],
) -> tuple[LeftOut, ...]:
    """Say of every test that was not chosen why not; `affected` have reasons, and were cut."""
    quiet = [path for path in scene.of(Reach.NONE) if path in scene.differences]
    unseen: Mapping[str, Chain] = scene.graph.reach(quiet) if quiet else {}
    return tuple(
        LeftOut(path=test, reasons=_reasons(scene, narrowed, test, affected, unseen))
        for test in scene.layout.tests
        if test not in chosen
    )


def _reasons(
    scene: Scene,
    narrowed: Narrowed,
    test: str,
    affected: Mapping[str, tuple[Reason, ...]],
    unseen: Mapping[str, Chain],
) -> tuple[Reason, ...]:
    if test in affected:
        return (Reason(rule="nearest", text="others are nearer to the change"),)
    found = []
    if (chain := narrowed.left.get(test)) is not None:
        names = ", ".join(scene.narrowed[chain[0]][:3])
        text = f"imports {chain[0]}, but no name in it leads to {names}, which changed there"
        found.append(Reason(rule="names", text=text, chain=chain))
    if (chain := unseen.get(test)) is not None:
        text = f"only comments, layout or docstrings of {chain[0]} changed"
        found.append(Reason(rule="quiet", text=text, chain=chain))
    if not found:
        found.append(Reason(rule="imports", text="neither imports nor names a changed file"))
    return tuple(found)


def why_not(selection: Selection, test: str) -> tuple[Reason, ...]:
    """Say why a test file is not chosen; nothing where it is, or where the project has no such test."""
    return next((it.reasons for it in selection.left_out if it.path == test), ())
