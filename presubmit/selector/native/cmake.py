"""Reads the extension modules off `CMakeLists.txt` files: every branch is taken, generated files stand for their inputs."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from presubmit.selector.native.globs import matching
from presubmit.selector.native.values import Declared, Extension

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_COMMAND = re.compile(r"([A-Za-z_]\w*)[ \t\r\n]*\(")
_ARGUMENT = re.compile(
    r"""
    (?P<skip>[ \t\r\n;]+|\#\[(?P<c>=*)\[(?:.|\n)*?\](?P=c)\]|\#[^\n]*)
  | \[(?P<b>=*)\[(?P<bracket>(?:.|\n)*?)\](?P=b)\]
  | "(?P<quoted>(?:\\(?:.|\n)|[^"\\])*)"
  | (?P<open>\()
  | (?P<close>\))
  | (?P<plain>(?:\\.|\$<[^>\n]*>|\$\{[^}\n]*\}|[^\s()\#"\\;])+)
    """,
    re.VERBOSE,
)
_VARIABLE = re.compile(r"\$(?:ENV|CACHE)?\{([^${}]*)\}")
_MODULES: Final = frozenset(
    {"pybind11_add_module", "nanobind_add_module", "python_add_library"}
    | {"python3_add_library", "add_python_library", "python_extension_module"}
)
_TARGETS: Final = frozenset({"add_library", "add_executable", "cuda_add_library"})
_WORDS: Final = frozenset(
    {"STATIC", "SHARED", "MODULE", "OBJECT", "INTERFACE", "IMPORTED", "GLOBAL", "ALIAS", "UNKNOWN"}
    | {
        "EXCLUDE_FROM_ALL",
        "PUBLIC",
        "PRIVATE",
        "NO_EXTRAS",
        "THIN_LTO",
        "OPT_SIZE",
        "LTO",
        "SYSTEM",
    }
    | {
        "STABLE_ABI",
        "NB_STATIC",
        "NB_SHARED",
        "WITH_SOABI",
        "PROTECT_STACK",
        "NOMINSIZE",
        "NOSTRIP",
    }
    | {
        "MUSL_DYNAMIC_LIBCPP",
        "FREE_THREADED",
        "USE_SABI",
        "WIN32",
        "MACOSX_BUNDLE",
        "BEFORE",
        "NB_DOMAIN",
    }
)
_GENERATED: Final = "<build>"
_DEEPEST: Final = 20
_MOST_STEPS: Final = 50_000


@dataclass
class _Target:
    kind: str
    folder: str
    line: int = 0
    path: str = ""
    sources: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    includes: list[str] = field(default_factory=list)
    output: str = ""
    destinations: list[str] = field(default_factory=list)
    unknown: bool = False


@dataclass(frozen=True)
class _Command:
    name: str
    arguments: tuple[tuple[str, bool], ...]
    """Each with whether it was quoted."""
    line: int


class _CMakeError(Exception):
    """The text is no CMake that this reader understands."""


def read_cmake(
    texts: Callable[[str], bytes | None], paths: Collection[str], *, path: str = "CMakeLists.txt"
) -> Declared:
    """Give the extension modules that the top CMakeLists.txt and what it adds may declare."""
    reader = _Reader(texts, paths)
    reader.enter(path)
    return Declared(
        extensions=tuple(reader.extensions()), problems=tuple(dict.fromkeys(reader.problems))
    )


def _commands(text: str) -> list[_Command]:
    found: list[_Command] = []
    position = 0
    while position < len(text):
        skipped = re.compile(r"(?:[ \t\r\n]+|#\[(=*)\[(?:.|\n)*?\]\1\]|#[^\n]*)+").match(
            text, position
        )
        if skipped is not None:
            position = skipped.end()
            continue
        match = _COMMAND.match(text, position)
        if match is None:
            raise _CMakeError(f"line {text.count(chr(10), 0, position) + 1} is not understood")
        line = text.count("\n", 0, position) + 1
        arguments, position = _arguments(text, match.end())
        found.append(_Command(match[1].lower(), tuple(arguments), line))
    return found


def _arguments(text: str, position: int) -> tuple[list[tuple[str, bool]], int]:
    found: list[tuple[str, bool]] = []
    depth = 1
    while depth:
        match = _ARGUMENT.match(text, position)
        if match is None:
            raise _CMakeError(f"line {text.count(chr(10), 0, position) + 1} is not understood")
        position = match.end()
        if match["open"]:
            depth += 1
        elif match["close"]:
            depth -= 1
        elif match["bracket"] is not None:
            found.append((match["bracket"], True))
        elif match["quoted"] is not None:
            found.append((re.sub(r"\\(.)", r"\1", match["quoted"]), True))
        elif match["plain"] is not None:
            found.append((match["plain"], False))
    return found, position


class _Reader:
    """Runs the commands."""

    def __init__(self, texts: Callable[[str], bytes | None], paths: Collection[str]) -> None:
        self.texts = texts
        self.paths = frozenset(paths)
        self.problems: list[str] = []
        self.targets: dict[str, _Target] = {}
        self.aliases: dict[str, str] = {}
        self.generated: dict[str, list[str]] = {}
        self.variables: dict[str, list[str]] = {}
        self.functions: dict[str, tuple[list[str], list[_Command]]] = {}
        self.includes: list[str] = []
        self.folder = ""
        self.path = ""
        self.steps = 0
        self.depth = 0

    def enter(self, path: str, *, included: bool = False) -> None:
        """Run one file; one that is included keeps the folder of its includer."""
        source = self.texts(path)
        if source is None or self.depth > _DEEPEST:
            if not included:
                self.problems.append(f"{path} cannot be read")
            return
        outer = self.folder, self.path
        self.path = path
        if not included:
            self.folder = posixpath.dirname(path)
        self.depth += 1
        try:
            self.run(_commands(source.decode("utf-8", "replace")))
        except (_CMakeError, RecursionError) as error:
            self.problems.append(f"{path} cannot be read: {error}")
        self.depth -= 1
        self.folder, self.path = outer

    def run(self, commands: list[_Command]) -> None:
        """Run commands; the conditions of `if` do not matter."""
        at = 0
        while at < len(commands):
            self.steps += 1
            if self.steps > _MOST_STEPS:
                raise _CMakeError("it does too much")
            command = commands[at]
            if command.name in {"function", "macro", "foreach"}:
                end = _end(commands, at, command.name)
                body = commands[at + 1 : end]
                if command.name == "foreach":
                    self.loop(command, body)
                elif command.arguments:
                    names = [it for it, _ in command.arguments]
                    self.functions[names[0].lower()] = (names[1:], body)
                at = end + 1
                continue
            self.command(command)
            at += 1

    def loop(self, command: _Command, body: list[_Command]) -> None:
        """Run a loop once for each item."""
        if not command.arguments:
            return
        variable = command.arguments[0][0]
        items = self.expanded(command.arguments[1:])
        if items[:1] == ["IN"]:
            found: list[str] = []
            mode = ""
            for each in items[1:]:
                if each in {"LISTS", "ITEMS", "ZIP_LISTS"}:
                    mode = each
                else:
                    found += self.variables.get(each, []) if mode != "ITEMS" else [each]
            items = found
        for item in items:
            self.variables[variable] = [item]
            self.run(body)

    def command(self, command: _Command) -> None:  # noqa: C901 - one case for each command
        """Run one command."""
        arguments = self.expanded(command.arguments)
        name = command.name
        if name in self.functions and self.depth <= _DEEPEST:
            self.call(name, arguments)
            return
        if not arguments:
            return
        match name:
            case "set":
                values = [it for it in arguments[1:] if it not in {"PARENT_SCOPE", "FORCE"}]
                if "CACHE" in values:
                    values = values[: values.index("CACHE")]
                self.variables[arguments[0]] = self.either(arguments[0], values)
            case "list" if arguments[0] in {"APPEND", "PREPEND"} and len(arguments) > 1:
                self.variables.setdefault(arguments[1], []).extend(arguments[2:])
            case "file" if arguments[0] in {"GLOB", "GLOB_RECURSE"} and len(arguments) > 1:
                self.glob(arguments)
            case "project":
                self.variables["PROJECT_NAME"] = [arguments[0]]
                self.variables["CMAKE_PROJECT_NAME"] = [arguments[0]]
            case "add_subdirectory":
                place = posixpath.normpath(posixpath.join("/", self.folder, arguments[0])).lstrip(
                    "/"
                )
                self.enter(f"{place}/CMakeLists.txt" if place else "CMakeLists.txt")
            case "include":
                self.include(arguments[0])
            case "include_directories":
                self.includes += self.placed(arguments)
            case _:
                self.target_command(command, arguments)

    def either(self, name: str, values: list[str]) -> list[str]:
        """Give what a variable may hold: what is appended to itself, else both the old and the new files."""
        old = self.variables.get(name, [])
        if not any(posixpath.splitext(it)[1] for it in values):
            return values
        return list(dict.fromkeys([*old, *values]))

    def target_command(self, command: _Command, arguments: list[str]) -> None:  # noqa: C901 - one case for each command
        """Run a command that makes or changes a target."""
        name, first = command.name, arguments[0]
        if name in _MODULES or name in _TARGETS:
            self.add(command, arguments)
        elif name in {
            "add_cython_target",
            "cython_transpile",
            "add_custom_command",
            "configure_file",
        }:
            self.generate(command, arguments)
        elif name == "install":
            self.install(arguments)
        elif name in {"set_target_properties", "set_property"} and "OUTPUT_NAME" in arguments:
            output = arguments[arguments.index("OUTPUT_NAME") + 1 :][:1]
            for each in arguments:
                if each in self.targets and output:
                    self.targets[each].output = output[0]
        elif (target := self.targets.get(self.aliases.get(first, first))) is not None:
            rest = [it for it in arguments[1:] if it not in _WORDS]
            if name == "target_sources":
                self.give(target, rest)
            elif name in {"target_link_libraries", "add_dependencies"}:
                target.links += rest
            elif name == "target_include_directories":
                target.includes += self.placed(rest)

    def add(self, command: _Command, arguments: list[str]) -> None:
        """Note a target."""
        first, rest = arguments[0], arguments[1:]
        if "ALIAS" in rest:
            self.aliases[first] = rest[-1]
            return
        module = command.name in _MODULES or (command.name == "add_library" and "MODULE" in rest)
        target = _Target(
            kind="module" if module else "other",
            folder=self.folder,
            line=command.line,
            path=self.path,
        )
        self.give(target, [it for it in rest if it not in _WORDS])
        self.targets[first] = target

    def give(self, target: _Target, sources: list[str]) -> None:
        """Give sources to a target."""
        for source in sources:
            if (match := re.fullmatch(r"\$<TARGET_OBJECTS:([^>]*)>", source)) is not None:
                target.links.append(match[1])
            elif "$" in source:
                inner = re.findall(r"[\w./-]+\.\w+", source)
                target.sources += [it for each in inner for it in self.found(each)]
                target.unknown |= not inner
            else:
                target.sources += self.found(source)

    def found(self, source: str) -> list[str]:
        """Give the files of the tree that a source means; a generated one is what it is made from."""
        place = posixpath.normpath(posixpath.join("/", self.folder, source)).lstrip("/")
        if _GENERATED in place:
            place = place[place.index(_GENERATED) + len(_GENERATED) :].lstrip("/")
        if place in self.paths:
            return [place]
        name = posixpath.basename(place)
        return self.generated.get(name, [place])

    def generate(self, command: _Command, arguments: list[str]) -> None:
        """Note what a generated file is made from."""
        if command.name == "configure_file":
            if len(arguments) > 1:
                made = posixpath.basename(arguments[1])
                self.generated.setdefault(made, []).extend(self.found(arguments[0]))
            return
        inputs = [it for each in arguments for it in self.found(each) if it in self.paths]
        outputs = [
            it for it in arguments if posixpath.splitext(it)[1] in {".c", ".cpp", ".cc", ".h"}
        ]
        if "OUTPUT_VARIABLE" in arguments:
            variable = arguments[arguments.index("OUTPUT_VARIABLE") + 1 :][:1]
            self.variables |= dict.fromkeys(variable, inputs)
        if command.name == "add_cython_target":
            self.variables[arguments[0]] = [f"/{it}" for it in inputs] or arguments[:1]
            outputs.append(arguments[0])
        for output in outputs:
            self.generated.setdefault(posixpath.basename(output), []).extend(inputs)

    def install(self, arguments: list[str]) -> None:
        """Note where a module is installed: that is its package."""
        if "DESTINATION" not in arguments:
            return
        place = arguments[arguments.index("DESTINATION") + 1 :][:1]
        for each in arguments:
            if each in self.targets:
                self.targets[each].destinations += place

    def include(self, name: str) -> None:
        """Run an included file of the tree, if it is one."""
        for each in (name, f"{name}.cmake", f"cmake/{name}.cmake"):
            for folder in (self.folder, ""):
                place = posixpath.normpath(posixpath.join(folder, each.lstrip("/")))
                if place in self.paths:
                    self.enter(place, included=True)
                    return

    def call(self, name: str, arguments: list[str]) -> None:
        """Run a function or macro of the project."""
        parameters, body = self.functions[name]
        outer = {it: self.variables.get(it) for it in (*parameters, "ARGN", "ARGV")}
        self.variables |= {it: [value] for it, value in zip(parameters, arguments, strict=False)}
        self.variables["ARGN"] = arguments[len(parameters) :]
        self.variables["ARGV"] = arguments
        self.depth += 1
        self.run(body)
        self.depth -= 1
        for each, value in outer.items():
            self.variables[each] = value or []

    def glob(self, arguments: list[str]) -> None:
        """Run `file(GLOB ...)`."""
        patterns = arguments[2:]
        if "RELATIVE" in patterns:
            at = patterns.index("RELATIVE")
            patterns = patterns[:at] + patterns[at + 2 :]
        found: list[str] = []
        for pattern in patterns:
            if pattern == "CONFIGURE_DEPENDS":
                continue
            if arguments[0] == "GLOB_RECURSE":
                folder, base = posixpath.split(pattern)
                pattern = posixpath.join(folder, "**", base)  # noqa: PLW2901 - the same pattern, written for all depths
            found += matching(self.paths, self.folder, pattern.removeprefix("/"))
        # Absolute in CMake; here `/` is the top of the tree.
        self.variables[arguments[1]] = [f"/{it}" for it in found]

    def placed(self, folders: list[str]) -> list[str]:
        """Give folders relative to the tree."""
        found = []
        for each in folders:
            inner = re.fullmatch(r"\$<(?:BUILD_INTERFACE):([^>]*)>", each)
            text = inner[1] if inner else each
            if "$" not in text and text not in _WORDS and _GENERATED not in text:
                found.append(
                    posixpath.normpath(posixpath.join("/", self.folder, text)).lstrip("/") or "."
                )
        return found

    def expanded(self, arguments: tuple[tuple[str, bool], ...]) -> list[str]:
        """Fill variables in; an unquoted list becomes several arguments."""
        found: list[str] = []
        for text, quoted in arguments:
            whole = re.fullmatch(r"\$\{([^${}]*)\}", text)
            if whole is not None and not quoted:
                found += self.variable(whole[1])
                continue
            for _ in range(5):
                filled = _VARIABLE.sub(lambda it: ";".join(self.variable(it[1])), text)
                if filled == text:
                    break
                text = filled  # noqa: PLW2901 - variables inside variables
            found += [it for it in text.split(";") if it] if not quoted or ";" in text else [text]
        return [it.replace("//", "/") if it.startswith("//") else it for it in found]

    def variable(self, name: str) -> list[str]:
        """Give a variable's value; one that is not known stands for itself."""
        if name in {"CMAKE_CURRENT_SOURCE_DIR", "CMAKE_CURRENT_LIST_DIR"}:
            return [f"/{self.folder}"]
        if name in {"CMAKE_SOURCE_DIR", "PROJECT_SOURCE_DIR"} or name.endswith("_SOURCE_DIR"):
            return ["/"]
        if name == "CMAKE_CURRENT_BINARY_DIR":
            return [f"/{_GENERATED}/{self.folder}".rstrip("/")]
        if name.endswith("_BINARY_DIR"):
            return [f"/{_GENERATED}"]
        return self.variables.get(name, [f"$<unknown:{name}>"])

    # --- the result

    def extensions(self) -> list[Extension]:
        """Give the modules with everything that is linked into them."""
        found = []
        for name, target in self.targets.items():
            if target.kind != "module":
                continue
            tail = target.output or name
            if "$" in tail:
                self.problems.append(
                    f"{target.path}:{target.line}: the name of a module cannot be told"
                )
                continue
            parts = [self.targets[it] for it in self.linked(name)]
            places = [it for it in target.destinations if "$" not in it and it != "."] or [""]
            found += [
                Extension(
                    name=".".join([*[it for it in place.split("/") if it], tail]),
                    sources=tuple(_clean(it for part in parts for it in part.sources)),
                    include_dirs=tuple(
                        _clean([*self.includes, *(it for part in parts for it in part.includes)])
                    ),
                    origin=f"{target.path}:{target.line}",
                    complete=not any(part.unknown for part in parts),
                )
                for place in places
            ]
        return found

    def linked(self, name: str) -> list[str]:
        """Give a target and every target that it is linked with."""
        seen: list[str] = []
        stack = [name]
        while stack:
            each = self.aliases.get(stack[-1], stack[-1])
            stack.pop()
            if each in self.targets and each not in seen:
                seen.append(each)
                stack += self.targets[each].links
        return seen


def _clean(found: object) -> list[str]:
    values = list(found) if not isinstance(found, str) else [found]  # type: ignore[call-overload]
    return list(dict.fromkeys(str(it).lstrip("/") for it in values))


def _end(commands: list[_Command], start: int, name: str) -> int:
    depth = 0
    for at in range(start, len(commands)):
        if commands[at].name == name:
            depth += 1
        elif commands[at].name == f"end{name}":
            depth -= 1
            if not depth:
                return at
    raise _CMakeError(f"line {commands[start].line}: {name}() has no end")
