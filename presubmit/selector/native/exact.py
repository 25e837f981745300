"""Makes of what a build left an answer that may stand in for the build files, and puts it over what these say."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from presubmit.selector.native.built import SOURCES
from presubmit.selector.native.reach import is_name_of, owners
from presubmit.selector.native.suffixes import C_SUFFIXES, is_native_file
from presubmit.selector.native.values import NativeMap
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from presubmit.selector.native.built import BuildFacts

_MODULE_FILE = re.compile(
    r"([A-Za-z_]\w*)(?:\.(?:cpython|cp|pypy|graalpy|abi)[\w-]*)?\.(?:so|pyd|dylib|dll)$"
)
_LIBRARY_FOLDER = re.compile(r"^.*?(?:\blib\.[^/]*|\.build-lib)(?:/|$)")
"""Of setuptools: `build/lib.linux-x86_64-cpython-311`, or a temporary one for an editable install."""
_OBJECTS: Final = (".o", ".obj", ".a")


class Built(Value, frozen=True, kw_only=True):
    """Which files of the tree each extension module was made from, in one build."""

    modules: dict[str, tuple[str, ...]] = {}
    """Only modules of which every object is known."""
    whole: bool = False
    """Every module that the build made is among them."""
    headers: bool = False
    """The compiler itself said which headers it read; else headers are found by the sources' includes."""
    include_dirs: tuple[str, ...] = ()
    files: dict[str, str] = {}
    """Blob id of every native file of the tree that was built."""


def make_built(
    facts: BuildFacts,
    blobs: Mapping[str, str],
    *,
    made: Collection[str],
    headers: bool,
    root: str,
    generators: Callable[[str], Collection[str]],
) -> Built:
    """Put the facts of a build together.

    `made` are the extension modules that it gave, `root` is the absolute path that the tree had there, and
    `generators` gives for a source that is not in the tree the files of the tree that it is generated from.
    """
    inside = {
        _placed(output, facts.folder, root): [_placed(it, facts.folder, root) for it in inputs]
        for output, inputs in facts.made_from.items()
    }
    modules: dict[str, tuple[str, ...]] = {}
    for output, inputs in inside.items():
        match = _MODULE_FILE.fullmatch(posixpath.basename(output))
        if match is None or not any(it.endswith(_OBJECTS) for it in inputs):
            continue
        files = _files(output, inside, blobs, generators)
        if files:
            modules[".".join([*_package(output, facts.folder), match[1]])] = files
    folders = [_placed(it, facts.folder, root) for it in facts.include_dirs]
    return Built(
        modules=modules,
        whole=bool(made)
        and not facts.problems
        and all(any(is_name_of(it, name) for it in modules) for name in made),
        headers=headers and not facts.problems,
        include_dirs=tuple(it for it in folders if not it.startswith("/")),
        files={path: blob for path, blob in blobs.items() if is_native_file(path)},
    )


def _files(
    output: str,
    inside: Mapping[str, list[str]],
    present: Collection[str],
    generators: Callable[[str], Collection[str]],
) -> tuple[str, ...]:
    """Give the files of the tree that a module was made from; none where an object's source is not known."""
    every = _everything(output, inside)
    found: dict[str, None] = {}
    for path in every:
        if path in present:
            found[path] = None
        if path.endswith((".o", ".obj")):
            sources = [it for it in inside.get(path, ()) if it.endswith(SOURCES)]
            if not sources or not all(_known(it, inside, present, generators) for it in sources):
                return ()
            for source in sources:
                found |= dict.fromkeys(generators(source))
    return tuple(found)


def _known(
    source: str,
    inside: Mapping[str, list[str]],
    present: Collection[str],
    generators: Callable[[str], Collection[str]],
) -> bool:
    """Tell a source of the tree, or one that is known to be generated from such."""
    return (
        source in present
        or any(it in present for it in _everything(source, inside))
        or bool(generators(source))
    )


def _placed(path: str, folder: str, root: str) -> str:
    """Give a path of the build relative to the tree where it lies in it."""
    path = posixpath.normpath(posixpath.join(folder, path))
    top = root.rstrip("/") + "/"
    return path[len(top) :] if root and path.startswith(top) else path


def _package(output: str, folder: str) -> list[str]:
    """Give the package that a module file lies in: below setuptools' library folder, or below the build folder."""
    place = _LIBRARY_FOLDER.sub("", posixpath.dirname(output))
    if folder and (place == folder or place.startswith(f"{folder}/")):
        place = place[len(folder) :]
    return [it for it in place.split("/") if it.isidentifier()]


def _everything(output: str, inside: Mapping[str, list[str]]) -> list[str]:
    seen = dict.fromkeys([output])
    stack = [output]
    while stack:
        for each in inside.get(stack.pop(), ()):
            if each not in seen:
                seen[each] = None
                stack.append(each)
    return list(seen)


# --- with the build files -------------------------------------------------------------------------------------------


def is_current(built: Built, blobs: Mapping[str, str]) -> bool:
    """Tell whether no native file was added since: a build by the same build files may take it up, or find it first."""
    return all(path in built.files for path in blobs if is_native_file(path))


def with_built(found: NativeMap, built: Built, blobs: Mapping[str, str]) -> NativeMap:
    """Let what was built win over what the sources seem to include, for the C and C++ files that the build read.

    A module of which a file changed since keeps what the sources say as well: it may include others now. So does
    Cython: builds do not write down what a `.pyx` includes. Whether `built` is of this tree's build files, the
    caller knows.
    """
    if not built.headers or not is_current(built, blobs):
        return found
    names = {name: matching_name(name, found.modules) for name in built.modules}
    exact: dict[str, dict[str, None]] = {}
    steady = set()
    for name, files in built.modules.items():
        if all(built.files.get(it, blobs.get(it)) == blobs.get(it) for it in files):
            steady.add(names[name])
        for path in files:
            if posixpath.splitext(path)[1] in C_SUFFIXES:
                exact.setdefault(path, {})[names[name]] = None
    for path, claimed in exact.items():
        claimed.update(dict.fromkeys(it for it in owners(path, found) if it not in steady))
    return NativeMap(
        claims={path: it for path, it in found.claims.items() if path not in exact}
        | {path: tuple(it) for path, it in exact.items()},
        included_by={path: it for path, it in found.included_by.items() if path not in exact},
        modules=found.modules,
        used_by=found.used_by,
        imports=found.imports,
        open=found.open,
        unsure=found.unsure,
    )


def matching_name(built: str, known: Iterable[str]) -> str:
    """Give the name that the build files have for a built module, where there is just one that can be meant."""
    known = list(known)
    same = [it for it in known if is_name_of(it, built) and built.endswith(it)] or [
        it for it in known if it.rpartition(".")[2] == built.rpartition(".")[2]
    ]
    return same[0] if len(same) == 1 else built
