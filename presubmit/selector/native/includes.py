"""Which files of the tree a native source includes, cimports or is generated from: read from its text alone."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

C_SUFFIXES: Final = frozenset(
    {
        ".c",
        ".cc",
        ".cpp",
        ".cxx",
        ".c++",
        ".m",
        ".mm",
        ".cu",
        ".cuh",
        ".h",
        ".hh",
        ".hpp",
        ".hxx",
        ".h++",
    }
    | {".inc", ".inl", ".ipp", ".tcc", ".tpp", ".def", ".s", ".S", ".asm", ".dispatch"}
)
CYTHON_SUFFIXES: Final = frozenset({".pyx", ".pxd", ".pxi"})
NATIVE_SUFFIXES: Final = (
    C_SUFFIXES | CYTHON_SUFFIXES | {".f", ".f90", ".f95", ".for", ".pyf", ".rs"}
)
_TEMPLATE_SUFFIXES: Final = frozenset({".in", ".src", ".tp", ".tmpl", ".template", ".j2", ".mako"})

_INCLUDE = re.compile(
    rb"^[ \t]*(?:#|%:)[ \t]*(?:include|include_next|import)\b[ \t]*([^\r\n]*)", re.MULTILINE
)
_NAMED = re.compile(r'"([^"]+)"|<([^>]+)>')
_CIMPORT = re.compile(r"^[ \t]*cimport[ \t]+([^\n#]+)", re.MULTILINE)
_FROM_CIMPORT = re.compile(
    r"^[ \t]*from[ \t]+(\.*[\w.]*)[ \t]*cimport[ \t]*(\([^)]*\)|[^\n#]+)", re.MULTILINE
)
_CYTHON_INCLUDE = re.compile(r"""^[ \t]*include[ \t]*["']([^"']+)["']""", re.MULTILINE)
_EXTERN = re.compile(r"""\bextern[ \t]+from[ \t]*<?["']([^"']+)["']""")
_DISTUTILS = re.compile(
    r"^#[ \t]*distutils:[ \t]*(?:sources|depends)[ \t]*=[ \t]*(.+)$", re.MULTILINE
)
_IMPORT = re.compile(r"^[ \t]*import[ \t]+([\w.]+(?:[ \t]*,[ \t]*[\w.]+)*)", re.MULTILINE)
_FROM_IMPORT = re.compile(
    r"^[ \t]*from[ \t]+(\.*[\w.]*)[ \t]*import[ \t]*(\([^)]*\)|[^\n#]+)", re.MULTILINE
)
_C_IMPORT = re.compile(
    r"\b(?:PyImport_\w+|(?:py|pybind11|nb|nanobind)::module_?(?:_::|::)import_?)\s*\(\s*\"([\w.]+)\""
)
_CAPSULE = re.compile(r"\bPyCapsule_Import\s*\(\s*\"([\w.]+)\"")
_UNKNOWN_IMPORT = re.compile(r"\b(?:PyCapsule_Import|PyImport_Import\w*)\s*\(\s*[^\s\"]")
ANY_MODULE: Final = "*"
"""Stands among a source's imports for one whose name is not written out."""


class Included(Value, frozen=True, kw_only=True):
    """What one native file pulls in."""

    files: tuple[str, ...] = ()
    """Files of the tree; where a name is ambiguous, all that it may mean."""
    cimports: tuple[str, ...] = ()
    """Dotted names that a Cython file cimports."""
    imports: tuple[str, ...] = ()
    """Dotted names that are imported when the module runs."""
    anything: str = ""
    """Why it may include any header: `#include MACRO`."""


class Finder:
    """Finds files of the tree by the names that sources use."""

    def __init__(self, paths: Iterable[str], folders: Collection[str] = ()) -> None:
        self.paths = frozenset(paths)
        self.folders = tuple(folders)
        self.by_base: dict[str, list[str]] = {}
        for path in sorted(self.paths):
            self.by_base.setdefault(posixpath.basename(path), []).append(path)
            stem, suffix = posixpath.splitext(path)
            if suffix in _TEMPLATE_SUFFIXES:
                # `x.pxi.in` is what `x.pxi` is generated from.
                self.by_base.setdefault(posixpath.basename(stem), []).append(path)

    def find(self, name: str, folder: str) -> list[str]:
        """Give the files that `#include "name"` in a folder may mean."""
        name = name.strip().replace("\\", "/")
        near = posixpath.normpath(posixpath.join(folder, name))
        if near in self.paths:
            return [near]
        found = [
            place
            for one in self.folders
            if (place := posixpath.normpath(posixpath.join(one, name))) in self.paths
        ]
        tail = f"/{posixpath.normpath(name).lstrip('./')}"
        same = self.by_base.get(posixpath.basename(name), ())
        # The order of include folders is the compiler's: everything that ends alike may be meant.
        found += [it for it in same if f"/{it}".endswith(tail) or _generates(it, tail)]
        return list(dict.fromkeys(found or same))


def _generates(path: str, tail: str) -> bool:
    stem, suffix = posixpath.splitext(path)
    return suffix in _TEMPLATE_SUFFIXES and f"/{stem}".endswith(tail)


def suffix_of(path: str) -> str:
    """Give the suffix that tells a native file's language, `.pyx` for `x.pyx.in`."""
    stem, suffix = posixpath.splitext(path)
    if suffix in _TEMPLATE_SUFFIXES:
        inner = posixpath.splitext(stem)[1]
        return inner if inner in NATIVE_SUFFIXES else suffix
    return suffix


def is_native_file(path: str) -> bool:
    """Tell a source or header that an extension module may be built from, by its name."""
    return suffix_of(path) in NATIVE_SUFFIXES or suffix_of(path).lower() in NATIVE_SUFFIXES


def read_includes(path: str, text: bytes, finder: Finder) -> Included:
    """Find what one native file pulls in."""
    if suffix_of(path) in CYTHON_SUFFIXES:
        return _cython(path, text.decode("utf-8", "replace"), finder)
    folder = posixpath.dirname(path)
    files: list[str] = []
    anything = ""
    joined = re.sub(rb"\\\r?\n", b" ", text)
    for match in _INCLUDE.finditer(joined):
        rest = match[1].decode("utf-8", "replace")
        named = _NAMED.match(rest.strip())
        if named is None:
            anything = anything or f"{path} includes {rest.strip()[:60]}"
        else:
            files += finder.find(named[1] or named[2], folder)
    plain = joined.decode("utf-8", "replace")
    if plain.find("%include") >= 0:
        files += [
            it for n in re.findall(r'%include\s+"([^"]+)"', plain) for it in finder.find(n, folder)
        ]
    imports = [*_C_IMPORT.findall(plain), *_CAPSULE.findall(plain)]
    if text.startswith(b"/* Generated by Cython"):
        imports = []  # what it imports stands in its Cython source
    elif _UNKNOWN_IMPORT.search(plain):
        imports.append(ANY_MODULE)
    return Included(
        files=tuple(dict.fromkeys(it for it in files if it != path)),
        imports=tuple(dict.fromkeys(imports)),
        anything=anything,
    )


def _cython(path: str, text: str, finder: Finder) -> Included:
    folder = posixpath.dirname(path)
    text = text.replace("\\\n", " ")
    files: list[str] = []
    for pattern in (_CYTHON_INCLUDE, _EXTERN):
        files += [it for name in pattern.findall(text) for it in finder.find(name, folder)]
    for found in _DISTUTILS.findall(text):
        files += [it for name in found.split() for it in finder.find(name, folder)]
    stem = re.sub(r"\.(pyx|pxd|pxi)(\.\w+)?$", "", path)
    for beside in (f"{stem}.pxd", f"{stem}.pxi", f"{stem}.pxd.in"):
        if beside in finder.paths and beside != path:
            files.append(beside)
    cimports = [
        name.split(" as ")[0].strip()
        for found in _CIMPORT.findall(text)
        for name in found.split(",")
    ]
    for base, names in _FROM_CIMPORT.findall(text):
        cimports += _joined(_absolute(base, path), names)
    imports = [
        name.strip()
        for found in _IMPORT.findall(text)
        for name in found.split(",")
        if name.strip()
    ]
    for base, names in _FROM_IMPORT.findall(text):
        imports += _joined(_absolute(base, path), names)
    for name in cimports:
        files += _pxd_of(name, folder, finder)
    return Included(
        files=tuple(dict.fromkeys(it for it in files if it != path)),
        cimports=tuple(dict.fromkeys(it for it in cimports if it)),
        imports=tuple(dict.fromkeys(it for it in imports if it)),
    )


def _absolute(name: str, path: str) -> str:
    """Turn a relative name into dots from the top of the tree; tails are compared, so `src.` does not matter."""
    level = len(name) - len(name.lstrip("."))
    if not level:
        return name
    parts = posixpath.dirname(path).split("/")
    parts = parts[: max(0, len(parts) - (level - 1))]
    return ".".join([*(it for it in parts if it), *([name[level:]] if name[level:] else [])])


def _joined(base: str, names: str) -> list[str]:
    found = [base] if base else []
    for each in names.strip("() \t\n").split(","):
        name = each.split("#")[0].split(" as ")[0].strip()
        if name and name != "*":
            found.append(f"{base}.{name}" if base else name)
    return found


def _pxd_of(name: str, folder: str, finder: Finder) -> list[str]:
    """Give the `.pxd` files that a cimported name may mean."""
    parts = name.split(".")
    place = "/".join(parts)
    near = posixpath.normpath(posixpath.join(folder, f"{place}.pxd"))
    if near in finder.paths:
        return [near]
    ends = (f"/{place}.pxd", f"/{place}/__init__.pxd", f"/{place}.pxd.in")
    same = [
        *finder.by_base.get(f"{parts[-1]}.pxd", ()),
        *finder.by_base.get("__init__.pxd", ()),
    ]
    return [it for it in dict.fromkeys(same) if f"/{it}".endswith(ends)]


def included_by(included: Mapping[str, Included]) -> dict[str, tuple[str, ...]]:
    """Turn around what each file includes; one that may include anything counts for every header."""
    users: dict[str, list[str]] = {}
    headers = [
        it for it in included if suffix_of(it).lower() not in {".c", ".cc", ".cpp", ".cxx", ".pyx"}
    ]
    for path, found in included.items():
        for each in (*found.files, *(headers if found.anything else ())):
            if each != path:
                users.setdefault(each, []).append(path)
    return {path: tuple(sorted(set(found))) for path, found in users.items()}


def closure(
    starts: Iterable[str],
    included: Mapping[str, Included],
    all_headers: Callable[[], Iterable[str]],
) -> list[str]:
    """Give some files and everything that they include."""
    seen: dict[str, None] = dict.fromkeys(starts)
    stack = list(seen)
    while stack:
        found = included.get(stack.pop())
        if found is None:
            continue
        for each in (*found.files, *(all_headers() if found.anything else ())):
            if each not in seen:
                seen[each] = None
                stack.append(each)
    return list(seen)
