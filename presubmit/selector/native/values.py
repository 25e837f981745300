"""The values of native code: which files an extension module is built from, and what a changed file can touch."""

from __future__ import annotations

from presubmit.values import Value


class Extension(Value, frozen=True, kw_only=True):
    """One extension module as a build file declares it."""

    name: str
    """Dotted; only the last part where the build file does not say the package."""
    sources: tuple[str, ...]
    include_dirs: tuple[str, ...] = ()
    origin: str = ""
    """The build file that declares it."""
    complete: bool = True
    """False: some of its sources could not be read off the build file, so any file may be one."""


class Declared(Value, frozen=True, kw_only=True):
    """What one kind of build file declares."""

    extensions: tuple[Extension, ...] = ()
    problems: tuple[str, ...] = ()
    """What could not be read; there may be further modules then."""


class NativeMap(Value, frozen=True, kw_only=True):
    """From native files to extension modules."""

    claims: dict[str, tuple[str, ...]]
    """For each file that a module is built from directly, the modules."""
    included_by: dict[str, tuple[str, ...]]
    """For each file, the native files that include (or cimport, or are generated from) it."""
    modules: dict[str, tuple[str, ...]]
    """For each module all files it is built from: sources, and what they include."""
    used_by: dict[str, tuple[str, ...]] = {}
    """For each module, the modules that cimport or import it."""
    imports: dict[str, tuple[str, ...]] = {}
    """For each module, the dotted names that its native sources import when they run."""
    open: tuple[str, ...] = ()
    """Modules of which not all sources are known: every native file may belong to them."""
    unsure: tuple[str, ...] = ()
    """Why there may be modules that are not known at all: no native file can be narrowed then."""


class NativeReach(Value, frozen=True, kw_only=True):
    """What a changed native file can touch."""

    modules: tuple[str, ...]
    names: tuple[str, ...] | None = None
    """The names of the modules that can behave otherwise; None: any. Empty (with modules): the edit is quiet."""
    chain: tuple[str, ...] = ()
    """From the changed file to the module, or to the bound name."""
    unsure: str = ""
    """Why nothing can be said; the caller selects all tests."""
    why_whole: str = ""
    """Why names cannot narrow it, where `names` is None."""

    @property
    def quiet(self) -> bool:
        """Tell an edit of comments and layout only."""
        return self.names == () and not self.unsure
