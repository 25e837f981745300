"""What a finished build knows: which files each object and extension module was really made from."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
import struct
from typing import TYPE_CHECKING, Any, Final

from presubmit.selector.native.suffixes import C_SUFFIXES
from presubmit.selector.native.reach import is_name_of, owners
from presubmit.selector.native.values import NativeMap
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

_MODULE_FILE = re.compile(
    r"([A-Za-z_]\w*)(?:\.(?:cpython|cp|pypy|graalpy|abi)[\w-]*)?\.(?:so|pyd|dylib|dll)$"
)
_SOURCES: Final = (
    ".c",
    ".cc",
    ".cpp",
    ".cxx",
    ".c++",
    ".m",
    ".mm",
    ".cu",
    ".s",
    ".S",
    ".pyx",
    ".f",
    ".f90",
)
_SIGNATURE: Final = b"# ninjadeps\n"
_VERSIONS: Final = (3, 4)
_LARGEST_RECORD: Final = (1 << 19) - 1
_LARGEST_FILE: Final = 512 * 1024 * 1024
_WORD: Final = 4
_DEPS_HEAD: Final = 3
"""An output's id and the two halves of its time."""


class BuildFacts(Value, frozen=True, kw_only=True):
    """Edges of a build: what each output was made from, with paths as the build wrote them."""

    made_from: dict[str, tuple[str, ...]] = {}
    folder: str = ""
    """The folder that relative paths start at, relative to the tree (`build`)."""
    problems: tuple[str, ...] = ()
    """What could not be read: facts may be missing then, and the build files decide."""


def join_facts(facts: Iterable[BuildFacts]) -> BuildFacts:
    """Put the facts of one build together; all must start at the same folder."""
    found = list(facts)
    made: dict[str, dict[str, None]] = {}
    for each in found:
        for output, inputs in each.made_from.items():
            made.setdefault(output, {}).update(dict.fromkeys(inputs))
    return BuildFacts(
        made_from={output: tuple(inputs) for output, inputs in made.items()},
        folder=next((it.folder for it in found if it.folder), ""),
        problems=tuple(dict.fromkeys(it for each in found for it in each.problems)),
    )


# --- ninja ----------------------------------------------------------------------------------------------------------


def read_ninja_log(data: bytes, folder: str = "") -> BuildFacts:
    """Read `.ninja_deps` (the format is described in ninja's `src/deps_log.h`); a torn end is left out."""
    if not data.startswith(_SIGNATURE) or len(data) > _LARGEST_FILE:
        return BuildFacts(folder=folder, problems=(".ninja_deps is no dependency log",))
    at = len(_SIGNATURE) + _WORD
    version = struct.unpack_from("<i", data, len(_SIGNATURE))[0] if len(data) >= at else 0
    if version not in _VERSIONS:
        return BuildFacts(folder=folder, problems=(f".ninja_deps has version {version}",))
    head_words = _DEPS_HEAD if version == _VERSIONS[-1] else _DEPS_HEAD - 1
    paths: list[str] = []
    made: dict[str, tuple[str, ...]] = {}
    while at + _WORD <= len(data):
        (word,) = struct.unpack_from("<I", data, at)
        size, is_deps = word & 0x7FFFFFFF, bool(word >> 31)
        record = data[at + _WORD : at + _WORD + size]
        at += _WORD + size
        if size > _LARGEST_RECORD or len(record) < size or size % _WORD or size < _WORD:
            return _torn(made, folder)
        words = struct.unpack(f"<{size // _WORD}I", record)
        if not is_deps:
            if words[-1] ^ 0xFFFFFFFF != len(paths):
                return _torn(made, folder)
            paths.append(record[:-_WORD].rstrip(b"\0").decode("utf-8", "surrogateescape"))
            continue
        inputs = words[head_words:]
        if len(words) < head_words or any(it >= len(paths) for it in (words[0], *inputs)):
            return _torn(made, folder)
        # A later record of an output replaces an earlier one.
        made[paths[words[0]]] = tuple(paths[it] for it in inputs)
    return BuildFacts(made_from=made, folder=folder)


def _torn(made: dict[str, tuple[str, ...]], folder: str) -> BuildFacts:
    return BuildFacts(
        made_from=made, folder=folder, problems=(".ninja_deps is damaged at its end",)
    )


def read_ninja_deps(text: str, folder: str = "") -> BuildFacts:
    """Read what `ninja -t deps` prints."""
    made: dict[str, tuple[str, ...]] = {}
    output = ""
    inputs: list[str] = []
    for line in [*text.splitlines(), ""]:
        head = re.match(r"(\S.*): #deps \d+", line)
        if head is not None:
            output, inputs = head[1], []
        elif line.startswith((" ", "\t")) and output:
            inputs.append(line.strip())
        elif not line.strip() and output:
            made[output] = tuple(inputs)
            output = ""
    return BuildFacts(made_from=made, folder=folder)


def read_build_ninja(text: str, folder: str = "") -> BuildFacts:
    """Read the edges of `build.ninja`; order-only inputs count too: generated sources are such."""
    made: dict[str, tuple[str, ...]] = {}
    for line in re.sub(r"\$\r?\n[ \t]*", "", text).splitlines():
        if not line.startswith("build "):
            continue
        words = _ninja_words(line[len("build ") :])
        if ":" not in words:
            continue
        cut = words.index(":")
        inputs = tuple(it for it in words[cut + 2 :] if it not in {"|", "||", "|@"})
        for output in words[:cut]:
            if output != "|":
                made[output] = (*made.get(output, ()), *inputs)
    return BuildFacts(made_from=made, folder=folder)


def _ninja_words(line: str) -> list[str]:
    """Split at blanks and `:`, with ninja's `$ `, `$:` and `$$`."""
    found: list[str] = [""]
    for piece in re.findall(r"\$[\s\S]|:|[ \t]+|[^$: \t]+", line):
        if piece.startswith("$") and len(piece) > 1:
            found[-1] += piece[1:]
        elif piece == ":":
            found += [":", ""]
        elif piece.isspace():
            found.append("")
        else:
            found[-1] += piece
    return [it for it in found if it]


# --- compilers ------------------------------------------------------------------------------------------------------


def read_depfile(text: str, folder: str = "") -> BuildFacts:
    """Read a compiler's `*.d`."""
    made: dict[str, tuple[str, ...]] = {}
    joined = re.sub(r"\\\r?\n", " ", text)
    for line in joined.splitlines():
        words = [
            it.replace("\\ ", " ").replace("\\#", "#").replace("$$", "$")
            for it in re.findall(r"(?:\\.|[^\s\\])+", line)
        ]
        cut = next((at for at, it in enumerate(words) if it.endswith(":") or it == ":"), None)
        if cut is None:
            continue
        outputs = [it.removesuffix(":") for it in words[: cut + 1]]
        for output in outputs:
            if output and words[cut + 1 :]:
                made[output] = tuple(words[cut + 1 :])
    return BuildFacts(made_from=made, folder=folder)


def read_compile_commands(data: bytes, folder: str = "") -> BuildFacts:
    """Read `compile_commands.json`: which source each object is made from."""
    try:
        entries: Any = json.loads(data)
    except (ValueError, RecursionError) as error:
        return BuildFacts(
            folder=folder, problems=(f"compile_commands.json cannot be read: {error}",)
        )
    made: dict[str, tuple[str, ...]] = {}
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict) or not isinstance(entry.get("file"), str):
            continue
        output = entry.get("output")
        words = entry.get("arguments") or _split(str(entry.get("command", "")))
        if not isinstance(output, str):
            output = _after(words, "-o")
        if output:
            made[output] = (*made.get(output, ()), entry["file"])
    return BuildFacts(made_from=made, folder=folder)


def read_build_log(text: str, folder: str = "") -> BuildFacts:
    """Read the compiler and linker lines that setuptools prints."""
    made: dict[str, tuple[str, ...]] = {}
    for line in text.splitlines():
        if " -o " not in line:
            continue
        words = _split(line)
        output = _after(words, "-o")
        if not output:
            continue
        if "-c" in words:
            inputs = [it for it in words if it.endswith(_SOURCES)]
        else:
            inputs = [it for it in words if it.endswith((".o", ".obj", ".a")) and it != output]
        if inputs:
            made[output] = (*made.get(output, ()), *inputs)
    return BuildFacts(made_from=made, folder=folder)


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _after(words: object, option: str) -> str:
    if not isinstance(words, list) or option not in words:
        return ""
    at = words.index(option) + 1
    return str(words[at]) if at < len(words) else ""


# --- together -------------------------------------------------------------------------------------------------------


def built_modules(
    facts: BuildFacts, paths: Collection[str], *, root: str = ""
) -> dict[str, tuple[str, ...]]:
    """Give for each extension module that was built the files of the tree it was made from.

    `root` is the absolute path that the tree had when it was built.
    """
    present = frozenset(paths)
    made = {
        _placed(output, facts.folder, root): inputs for output, inputs in facts.made_from.items()
    }
    inside = {
        output: [_placed(it, facts.folder, root) for it in inputs]
        for output, inputs in made.items()
    }
    found: dict[str, tuple[str, ...]] = {}
    for output in inside:
        match = _MODULE_FILE.search(posixpath.basename(output))
        if match is None or match.start() or not _is_linked(output, inside):
            continue
        name = ".".join([*_package(output, facts.folder), match[1]])
        found[name] = tuple(it for it in _everything(output, inside) if it in present)
    return found


def _is_linked(output: str, inside: Mapping[str, list[str]]) -> bool:
    return any(it.endswith((".o", ".obj", ".a")) for it in inside[output])


def _placed(path: str, folder: str, root: str) -> str:
    if path.startswith("/"):
        top = root.rstrip("/") + "/"
        return posixpath.normpath(path[len(top) :]) if root and path.startswith(top) else path
    return posixpath.normpath(posixpath.join(folder, path))


def _package(output: str, folder: str) -> list[str]:
    """Give the package that a module file lies in: below `build/lib.*`, or below the build folder."""
    place = posixpath.dirname(output)
    place = re.sub(r"^.*?\blib\.[^/]*/?", "", place)
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


def with_facts(found: NativeMap, modules: Mapping[str, Collection[str]]) -> NativeMap:
    """Let what was built win over what the build files say, for every C or C++ file that the build knows.

    A file that the build does not know (a new one) is still answered by the build files, and so is Cython: builds do
    not write down what a `.pyx` includes. The facts must be of the change's own build, or of its base's.
    """
    names = {built: _matching(built, found) for built in modules}
    exact: dict[str, dict[str, None]] = {}
    merged: dict[str, tuple[str, ...]] = dict(found.modules)
    for built, files in modules.items():
        name = names[built]
        merged[name] = tuple(dict.fromkeys([*merged.get(name, ()), *files]))
        for path in files:
            if posixpath.splitext(path)[1] in C_SUFFIXES:
                exact.setdefault(path, {})[name] = None
    unbuilt = {it for it in found.modules if it not in names.values()}
    for path, claimed in exact.items():
        claimed.update(dict.fromkeys(it for it in owners(path, found) if it in unbuilt))
    claims = {path: it for path, it in found.claims.items() if path not in exact}
    return NativeMap(
        claims=claims | {path: tuple(it) for path, it in exact.items()},
        included_by={path: it for path, it in found.included_by.items() if path not in exact},
        modules=merged,
        used_by=found.used_by,
        imports=found.imports,
        open=tuple(it for it in found.open if it in unbuilt),
        unsure=found.unsure,
    )


def _matching(built: str, found: NativeMap) -> str:
    """Give the static name of a built module, where there is just one that can be meant."""
    same = [it for it in found.modules if is_name_of(it, built) and built.endswith(it)] or [
        it for it in found.modules if it.rpartition(".")[2] == built.rpartition(".")[2]
    ]
    return same[0] if len(same) == 1 else built
