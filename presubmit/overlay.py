"""Whether the tree's Python may be laid over an installed build, and which files of it. Pure.

A Python-only change of a large native project is tested in minutes that way, where its build takes hours. It is right
only while nothing differs that the installed build was compiled from: Python of one commit over an extension module
of another breaks at import, or, worse, later.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from presubmit.convention import is_build_file, is_native
from presubmit.errors import PresubmitError
from presubmit.selector.layout import matches_glob
from presubmit.values import Overlay, Value, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from presubmit.config import BuildConfig


class Seen(Value, frozen=True, kw_only=True):
    """One package as it is installed, against the tree's; paths are the tree's."""

    installed: str
    """Its folder; empty where it is not installed."""
    same: int
    """Python files that are alike, comments apart."""
    differs: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    """Only the tree has them."""
    extra: tuple[str, ...] = ()
    """Python files that only the installed package has: the build generated them, or they are gone."""
    commit: str = ""
    """The commit that the build says it was made from."""


class Laid(Value, frozen=True, kw_only=True):
    """What is laid over the installed packages."""

    files: tuple[str, ...]
    hidden: tuple[str, ...]
    """Installed files that the tree has no more."""
    note: str


class OverlayRefusedError(PresubmitError):
    """The installed build is not one of this tree."""


def overlay_of(
    build: BuildConfig, changed: Sequence[str], *, base: str, of_base: bool = False
) -> tuple[Overlay | None, str]:
    """Give the overlay of mode `overlay`, or None and the changed file that must be compiled."""
    overlay = Overlay(
        packages=build.overlay,
        installed=build.installed,
        compiled=build.compiled,
        changed=() if of_base else tuple(changed),
        base=base,
    )
    compiled = next((path for path in changed if is_compiled(path, build.compiled)), "")
    return (None, compiled) if compiled and build.command else (overlay, "")


def is_compiled(path: str, patterns: Sequence[str]) -> bool:
    """Whether a build is made from a file: by the patterns (`!docs/**` takes out), else native sources and build files."""
    if patterns:
        taken_out = (pattern[1:] for pattern in patterns if pattern.startswith("!"))
        return any(
            matches_glob(path, pattern) for pattern in patterns if not pattern.startswith("!")
        ) and not any(matches_glob(path, pattern) for pattern in taken_out)
    return is_native(path) or is_build_file(path)


def names_of(overlay: Overlay) -> tuple[str, ...]:
    """Give the names that the packages are imported by."""
    return tuple(posixpath.basename(package) for package in overlay.packages)


def lay_out(overlay: Overlay, seen: dict[str, Seen], since: Iterable[str] | None) -> Laid:
    """Say what is laid over the installed packages; raises OverlayRefusedError where the build is another tree's.

    `since` are the files that differ between the commit of the installed build and this tree; None where it is not
    known: then all Python that is installed must be the base's.
    """
    there = {name: it for name, it in seen.items() if it.installed}
    if not there:
        names = ", ".join(overlay.packages)
        raise OverlayRefusedError(
            f"{names} is not installed in the image, so there is nothing to lay the tree's Python over",
            hint="name what installs it in build.installed, or say in build.command how it is built",
        )
    differs = [path for it in there.values() for path in it.differs]
    new = [path for it in there.values() for path in it.new]
    extra = {path for it in there.values() for path in it.extra}
    commit = next((it.commit for it in there.values() if it.commit), "")
    if not sum(it.same for it in there.values()):
        raise _refused(f"no file of the installed {next(iter(there))} is like the tree's")
    if since is None:
        note = _of_unknown_commit(overlay, there, differs, commit)
        gone = extra & set(overlay.changed)
    else:
        since = set(since)
        compiled = sorted(path for path in since if is_compiled(path, overlay.compiled))
        if compiled:
            raise _refused(
                f"the installed build was made at {commit[:9]}, and {counted(len(compiled), 'file')}"
                f" that it was compiled from {'differs' if len(compiled) == 1 else 'differ'}: {_some(compiled)}"
            )
        note = f"laid over the build of {commit[:9]}: nothing that it was compiled from differs"
        gone = extra & since
    changed = set(overlay.changed)
    python = [path for path in new if path.endswith((".py", ".pyi")) or path in changed]
    laid = tuple(sorted((*differs, *python)))
    return Laid(
        files=laid,
        hidden=tuple(sorted(gone)),
        note=f"{note}; {counted(len(laid), 'file')} of the tree, all others as installed",
    )


def _of_unknown_commit(
    overlay: Overlay, there: dict[str, Seen], differs: Sequence[str], commit: str
) -> str:
    changed = set(overlay.changed)
    compiled = [path for path in overlay.changed if is_compiled(path, overlay.compiled)]
    said = (
        f"the commit that the installed build names ({commit[:9]}) is not in this repository"
        if commit
        else "the installed build does not say its commit"
    )
    if compiled:
        raise _refused(f"{compiled[0]} is compiled, and the change alters it")
    foreign = [path for path in differs if path not in changed]
    if foreign:
        raise _refused(
            f"{said}, and {counted(len(foreign), 'file')} of it"
            f" {'is' if len(foreign) == 1 else 'are'} not the base's: {_some(foreign)}"
        )
    alike = sum(it.same for it in there.values())
    return f"{said}, but {counted(alike, 'Python file')} of it are the base's, comments apart"


def _refused(why: str) -> OverlayRefusedError:
    return OverlayRefusedError(
        f"no overlay: {why}",
        hint="install a build of this base (build.installed), or say in build.command how it is built",
    )


def _some(paths: Sequence[str]) -> str:
    shown = ", ".join(paths[:3])
    return shown if len(paths) <= 3 else f"{shown} and {len(paths) - 3} more"  # noqa: PLR2004
