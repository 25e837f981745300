"""From the build files of a tree to its extension modules and their sources, before anything is built."""

from __future__ import annotations

import posixpath
import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

import msgspec

from presubmit.selector.native.built import SOURCES
from presubmit.selector.native.cmake import read_cmake
from presubmit.selector.native.exact import matching_name
from presubmit.selector.native.globs import matching
from presubmit.selector.native.includes import (
    ANY_MODULE,
    Finder,
    Included,
    closure,
    included_by,
    read_includes,
)
from presubmit.selector.native.meson import read_meson
from presubmit.selector.native.setup_py import read_setup
from presubmit.selector.native.suffixes import is_native_file
from presubmit.selector.native.values import Declared, Extension, NativeMap

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from presubmit.selector.native.exact import Built

_FOREIGN: Final = re.compile(
    r"(?:^|/)(?:Cargo\.toml|BUILD\.bazel|BUILD|WORKSPACE|SConstruct|wscript|binding\.gyp)$"
)
_GENERATORS: Final = (".pyx", ".in", ".src", ".tp", ".tmpl", ".template", ".j2", ".mako", ".py")
_TWINS: Final = (".pyx", ".py", ".pyx.in", ".pyx.tp", ".c.src", ".c.in")


def read_native(
    paths: Collection[str],
    texts: Callable[[str], bytes | None],
    *,
    built: Built | None = None,
) -> NativeMap:
    """Read which native files each extension module is built from, as far as the build files say.

    Where a build by the same build files and of the same set of files is known, its sources are what counts.
    """
    present = frozenset(paths)
    declared = _declared(present, texts)
    extensions = [it for each in declared for it in each.extensions]
    problems = [it for each in declared for it in each.problems]
    if built is not None:
        extensions = _as_built(extensions, built)
        problems = [] if built.whole else problems
    folders = dict.fromkeys(folder for it in extensions for folder in it.include_dirs)
    finder = Finder(present, tuple(folders))
    included: dict[str, Included] = {}
    for path in sorted(present):
        if is_native_file(path):
            text = texts(path)
            included[path] = Included() if text is None else read_includes(path, text, finder)
            if text is None:
                problems.append(f"{path} cannot be read")
    return make_map(extensions, included, problems, present)


def _as_built(declared: Sequence[Extension], built: Built) -> list[Extension]:
    """Give the extension modules with the sources that they were made from, and those that were not made as declared.

    A source that no module was made from here (it is for another platform) stays where it is declared.
    """
    known = {it.name for it in declared}
    names = {matching_name(name, known): name for name in built.modules}
    read = {path for files in built.modules.values() for path in files}
    found = []
    for name, of in names.items():
        mine = [it for it in declared if it.name == name]
        sources = [it for it in built.modules[of] if it.endswith((*SOURCES, *_GENERATORS))]
        sources += [path for it in mine for path in it.sources if path not in read]
        folders = [*built.include_dirs, *(path for it in mine for path in it.include_dirs)]
        found.append(
            Extension(
                name=name,
                sources=tuple(dict.fromkeys(sources)),
                include_dirs=tuple(dict.fromkeys(folders)),
                origin="the build",
            )
        )
    rest = [it for it in declared if it.name not in names]
    if built.whole:
        rest = [msgspec.structs.replace(it, complete=True) for it in rest]
    return [*found, *rest]


def make_map(
    extensions: Sequence[Extension],
    included: Mapping[str, Included],
    problems: Iterable[str],
    present: Collection[str],
) -> NativeMap:
    """Join modules, their sources and what these include."""
    claims: dict[str, list[str]] = {}
    sources: dict[str, list[str]] = {}
    for extension in extensions:
        found = [it for source in extension.sources for it in generators_of(source, present)]
        sources.setdefault(extension.name, []).extend(found)
        for path in found:
            claims.setdefault(path, []).append(extension.name)
    modules = {
        name: tuple(closure(dict.fromkeys(found), included, lambda: included))
        for name, found in sources.items()
    }
    imports = {
        name: tuple(
            dict.fromkeys(
                it for path in files if path in included for it in included[path].imports
            )
        )
        for name, files in modules.items()
    }
    return NativeMap(
        claims={path: tuple(dict.fromkeys(names)) for path, names in claims.items()},
        included_by=included_by(included),
        modules=modules,
        used_by=_used_by(modules, included, imports),
        imports=imports,
        open=tuple(dict.fromkeys(it.name for it in extensions if not it.complete)),
        unsure=tuple(dict.fromkeys(problems)),
    )


def generators_of(source: str, present: Collection[str]) -> list[str]:
    """Give a source, and what it is generated from where that lies beside it."""
    found = [source] if source in present else []
    stem = posixpath.splitext(source)[0]
    if posixpath.splitext(source)[1] in {".c", ".cc", ".cpp", ".cxx", ".cu"}:
        found += [it for end in _TWINS if (it := stem + end) in present and it != source]
    for suffix in (".in", ".src", ".tp", ".tmpl", ".template", ".j2", ".mako"):
        if f"{source}{suffix}" in present:
            found.append(f"{source}{suffix}")
    return found


def _used_by(
    modules: Mapping[str, Sequence[str]],
    included: Mapping[str, Included],
    imports: Mapping[str, Sequence[str]],
) -> dict[str, tuple[str, ...]]:
    """Find the modules that take functions of others at run time: by cimport, or by an import."""
    users: dict[str, list[str]] = {}
    by_tail: dict[str, list[str]] = {}
    for name in modules:
        by_tail.setdefault(name.rpartition(".")[2], []).append(name)
    for user, files in modules.items():
        wanted = {*imports.get(user, ())}
        wanted.update(it for path in files if path in included for it in included[path].cimports)
        for each in wanted:
            used = (
                modules
                if each == ANY_MODULE
                else {name for tail in each.split(".") for name in by_tail.get(tail, ())}
            )
            for name in used:
                if name != user:
                    users.setdefault(name, []).append(user)
    return {name: tuple(sorted(set(found))) for name, found in users.items()}


# --- build files ----------------------------------------------------------------------------------------------------


def _declared(present: frozenset[str], texts: Callable[[str], bytes | None]) -> list[Declared]:
    """Read every build file at the top of the tree, or of a project inside it."""
    found: list[Declared] = []
    for path in sorted(present):
        name = posixpath.basename(path)
        folder = posixpath.dirname(path)
        if name == "setup.py" and _is_project(folder, present):
            text = texts(path)
            if text is None:
                found.append(Declared(problems=(f"{path} cannot be read",)))
            else:
                found.append(read_setup(text, present, path=path))
        elif name == "pyproject.toml":
            text = texts(path)
            if text is not None:
                found.append(read_pyproject(text, present, path=path))
    for name, read in (("meson.build", read_meson), ("CMakeLists.txt", read_cmake)):
        found += [read(texts, present, path=path) for path in _tops(name, present)]
    if not any(it.extensions for it in found) and (other := _foreign(present)):
        found.append(Declared(problems=(f"{other}: a build system that is not read",)))
    return found


def _is_project(folder: str, present: frozenset[str]) -> bool:
    """Tell a `setup.py` that builds something from one inside a package (numpy.distutils)."""
    return f"{folder}/__init__.py".lstrip("/") not in present


def _tops(name: str, present: frozenset[str]) -> list[str]:
    """Give the files of a name with none of that name in a folder above."""
    found = sorted(
        (it for it in present if posixpath.basename(it) == name), key=lambda it: it.count("/")
    )
    tops: list[str] = []
    for path in found:
        folder = posixpath.dirname(path)
        if not any(_inside(folder, posixpath.dirname(top)) for top in tops):
            tops.append(path)
    return tops


def _inside(folder: str, top: str) -> bool:
    return not top or folder == top or folder.startswith(f"{top}/")


def _foreign(present: frozenset[str]) -> str:
    return next((it for it in sorted(present) if _FOREIGN.search(it)), "")


def read_pyproject(
    text: bytes, paths: Collection[str], *, path: str = "pyproject.toml"
) -> Declared:
    """Give the extension modules that a pyproject.toml declares for setuptools or a Cython hook of hatch."""
    try:
        data: Any = tomllib.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return Declared(problems=(f"{path} cannot be read: {error}",))
    folder = posixpath.dirname(path)
    extensions: list[Extension] = []
    problems: list[str] = []
    for table in _tables(data, "tool", "setuptools", "ext-modules"):
        name, sources = table.get("name"), _texts(table.get("sources"))
        if not isinstance(name, str) or not sources:
            problems.append(f"{path}: an extension module without a name or sources")
            continue
        patterns = [*sources, *_texts(table.get("depends"))]
        extensions.append(
            Extension(
                name=name,
                sources=tuple(it for each in patterns for it in matching(paths, folder, each)),
                include_dirs=tuple(
                    posixpath.normpath(posixpath.join(folder, it))
                    for it in _texts(table.get("include-dirs"))
                ),
                origin=path,
            )
        )
    build = data.get("build-system") if isinstance(data, dict) else None
    requires = _texts(build.get("requires")) if isinstance(build, dict) else []
    tools = " ".join(requires)
    if (
        "hatch-cython" in tools
        or "pymsbuild" in tools
        or "maturin" in tools
        or "setuptools-rust" in tools
    ):
        problems.append(f"{path}: modules that {_named(tools)} finds by itself")
    return Declared(extensions=tuple(extensions), problems=tuple(problems))


def _named(tools: str) -> str:
    names = ("hatch-cython", "pymsbuild", "maturin", "setuptools-rust")
    return next((it for it in names if it in tools), "the backend")


def _tables(data: object, *keys: str) -> list[dict[str, Any]]:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return [it for it in data if isinstance(it, dict)] if isinstance(data, list) else []


def _texts(value: object) -> list[str]:
    return [it for it in value if isinstance(it, str)] if isinstance(value, list) else []
