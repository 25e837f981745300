"""What one Python file can pull in, read from its source without importing it."""

from __future__ import annotations

import ast
import itertools
import re
import warnings
from typing import TYPE_CHECKING, Any, Final

from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

EXTRACTOR: Final = "3"
"""Raise it when `read_imports` gives other values for the same source: caches are keyed by it."""

_LARGEST: Final = 4 * 1024 * 1024
_LONGEST_WORD: Final = 200

_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_TARGET = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?::[\w.\[\], ]*)?")
_WORD = re.compile(r"[\w.*/\\@+-]+")
_DASH_M = re.compile(r"(?:^|\s)-[mp]\s*([A-Za-z_]\w*(?:\.\w+)*)")
_IMPORT_LINE = re.compile(r"^[ \t>.]*import[ \t]+([\w., \t]+)", re.MULTILINE)
_FROM_LINE = re.compile(
    r"^[ \t>.]*from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]+)", re.MULTILINE
)
_INLINE_IMPORT = re.compile(
    r"(?:^|[;'\"\s])(?:import[ \t]+([\w.]+)|from[ \t]+([\w.]+)[ \t]+import\b)"
)
_QUOTED = re.compile(r"""["']([\w.*/\\:@+-]{1,200})["']""")

_IMPORTERS: Final = frozenset(
    {
        "import_module",
        "__import__",
        "importorskip",
        "import_string",
        "import_object",
        "import_from_string",
        "resolve_name",
        "find_spec",
        "run_module",
        "get_loader",
    }
)
_LOADERS: Final = frozenset(
    {"spec_from_file_location", "SourceFileLoader", "run_path", "load_source", "attach_stub"}
)
_WALKERS: Final = frozenset(
    {"iter_modules", "walk_packages", "entry_points", "iter_entry_points", "__subclasses__"}
)
_DOCUMENTS: Final = re.compile(rb"__doc__|getdoc|doctest|DocTest|testmod|pydoc|\bhelp\(|\bFire\b")
_LISTERS: Final = frozenset({"listdir", "scandir", "walk", "glob", "iglob", "rglob", "iterdir"})


class Imports(Value, frozen=True):
    """What one file imports or may import; a flag that is set widens the choice of tests."""

    names: tuple[str, ...] = ()
    """Dotted names that are imported, at any depth of the code."""
    stars: tuple[str, ...] = ()
    """Modules of which everything is imported."""
    strings: tuple[str, ...] = ()
    """String constants that look like dotted module names."""
    prefixes: tuple[str, ...] = ()
    """What stands before the first unknown part of a dynamic import, `pkg.plugins.`."""
    plugins: tuple[str, ...] = ()
    """Modules named in `pytest_plugins`."""
    words: tuple[str, ...] = ()
    """Other short string constants: file names, patterns, single names."""
    hooks: tuple[str, ...] = ()
    """Module-level names that start with `pytest_`."""
    dynamic: bool = False
    """It imports something whose name is not in the source."""
    walks: bool = False
    """It walks modules (pkgutil, entry points, subclasses)."""
    lists: bool = False
    """It lists folders."""
    documents: bool = False
    """Its text holds a word by which docstrings are read; where none stands, no element of it reads one."""
    problem: str = ""
    """Why the source could not be parsed; what is here is then a guess by pattern."""


def read_imports(source: bytes, *, module: str, is_package: bool) -> Imports:
    """Find what a module's source imports; a source that cannot be parsed gives a value that says so."""
    found = _Found(module=module, is_package=is_package)
    found.documents = _DOCUMENTS.search(source) is not None
    if len(source) > _LARGEST:
        return _guess(source[:_LARGEST], found, "too large to parse")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        for node in _walk(tree):
            found.take(node)
        found.take_module(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError, LookupError) as error:
        return _guess(source, _Found(module=module, is_package=is_package), _problem(error))
    return found.imports()


def _problem(error: Exception) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.msg} (line {error.lineno})" if error.lineno else str(error.msg)
    return str(error) or type(error).__name__


def _walk(tree: ast.Module) -> Iterator[ast.AST]:
    """Give every node that may matter, docstrings reduced to nothing: prose must not look like code."""
    stack: list[Any] = [tree]
    # This loop sees every node of every file: no `isinstance`, and no look at what holds no nodes.
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is ast.Name:
            if node.id in _MARKS:
                yield node
            continue
        if kind in _INTERESTING:
            yield node
        for name in _CHILDREN[kind]:
            value = getattr(node, name, None)
            if type(value) is list:
                if (
                    name == "body"
                    and kind in _DOCUMENTED
                    and (text := _docstring(value)) is not None
                ):
                    value = value[1:]
                    if ">>>" in text:
                        yield ast.Constant(_doctest_lines(text))
                stack.extend(value)
            elif value is not None:
                stack.append(value)


class _Children(dict[type, tuple[str, ...]]):
    """For each kind of node, the fields that may hold nodes; for what is no node, none."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        names: tuple[str, ...] = ()
        if issubclass(kind, ast.AST) and kind is not ast.Constant:
            names = tuple(name for name in kind._fields if name not in _PLAIN)
        self[kind] = names
        return names


_PLAIN: Final = frozenset(
    {"ctx", "op", "ops", "id", "attr", "arg", "asname", "module", "level", "type_comment", "kind"}
)
"""Fields that hold no nodes, or only such as say nothing by themselves."""
_CHILDREN: Final = _Children()
_MARKS: Final = _WALKERS | _LISTERS | _LOADERS
"""The only names that say something outside of an attribute or a call."""
_INTERESTING: Final = frozenset(
    {
        ast.Import,
        ast.ImportFrom,
        ast.Constant,
        ast.Call,
        ast.Attribute,
        ast.Assign,
        ast.AnnAssign,
        ast.AugAssign,
    }
)
_DOCUMENTED: Final = frozenset({ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef})


def _docstring(body: list[ast.stmt]) -> str | None:
    return _constant_text(body[0]) if body else None


def _constant_text(statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        value = statement.value.value
        return value if isinstance(value, str) else None
    return None


def _doctest_lines(text: str) -> str:
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line.startswith((">>>", "...")))


class _Found:
    """Collects what the nodes of one module say."""

    def __init__(self, *, module: str, is_package: bool) -> None:
        self.package = module if is_package else module.rpartition(".")[0]
        self.names: set[str] = set()
        self.stars: set[str] = set()
        self.strings: set[str] = set()
        self.prefixes: set[str] = set()
        self.plugins: set[str] = set()
        self.words: set[str] = set()
        self.hooks: set[str] = set()
        self.aliases: dict[str, str] = {}
        self.chains: set[str] = set()
        self.dynamic = self.walks = self.lists = self.documents = False

    def imports(self, problem: str = "") -> Imports:
        """Give the collected value."""
        for chain in self.chains:
            head, _, rest = chain.partition(".")
            if head in self.aliases:
                self.names.add(f"{self.aliases[head]}.{rest}")
        return Imports(
            names=tuple(sorted(self.names)),
            stars=tuple(sorted(self.stars)),
            strings=tuple(sorted(self.strings)),
            prefixes=tuple(sorted(self.prefixes)),
            plugins=tuple(sorted(self.plugins)),
            words=tuple(sorted(self.words)),
            hooks=tuple(sorted(self.hooks)),
            dynamic=self.dynamic,
            walks=self.walks,
            lists=self.lists,
            documents=self.documents,
            problem=problem,
        )

    def take(self, node: ast.AST) -> None:
        """Note what one node says."""
        match node:
            case ast.Name(id=name):
                self._take_name(name)
            case ast.Attribute(attr=name):
                self._take_name(name)
                if (chain := _chain(node)) is not None:
                    self.chains.add(chain)
            case ast.Constant(value=value):
                if isinstance(value, str):
                    self.take_text(value)
            case ast.Call():
                self._take_call(node)
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                self._take_plugins(node)
            case ast.Import():
                self._take_import(node)
            case ast.ImportFrom():
                base = self.resolve("." * node.level + (node.module or ""))
                self.take_from(base, [(alias.name, alias.asname) for alias in node.names])
            case _:
                pass

    def take_module(self, tree: ast.Module) -> None:
        """Note the pytest hooks that the module defines."""
        for statement in tree.body:
            match statement:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    self._take_hook(name)
                case ast.Assign(targets=targets):
                    for target in targets:
                        if isinstance(target, ast.Name):
                            self._take_hook(target.id)
                case ast.ImportFrom(names=names):
                    for alias in names:
                        self._take_hook(alias.asname or alias.name)
                case _:
                    pass

    def _take_hook(self, name: str) -> None:
        if name.startswith("pytest_"):
            self.hooks.add(name)

    def _take_import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.names.add(alias.name)
            if alias.asname:
                self.aliases[alias.asname] = alias.name
            else:
                top = alias.name.partition(".")[0]
                self.aliases[top] = top

    def take_from(self, base: str, names: list[tuple[str, str | None]]) -> None:
        """Note `from base import name as other, ...`."""
        if base:
            self.names.add(base)
        for name, other in names:
            if name == "*":
                self.stars.add(base)
                continue
            full = f"{base}.{name}" if base else name
            self.names.add(full)
            self.aliases[other or name] = full

    def resolve(self, name: str) -> str:
        """Turn a possibly relative module name into an absolute one."""
        level = len(name) - len(name.lstrip("."))
        if not level:
            return name
        parts = self.package.split(".") if self.package else []
        parts = parts[: max(0, len(parts) - (level - 1))]
        rest = name[level:]
        return ".".join([*parts, rest] if rest else parts)

    def take_text(self, text: str) -> None:
        """Note what a string constant may name."""
        if len(text) <= _LONGEST_WORD:
            stripped = text.strip()
            if (match := _TARGET.fullmatch(stripped)) is not None:
                name = match[1]
                if "." in name or ":" in stripped:
                    self.strings.add(name)
            if _WORD.fullmatch(stripped):
                self.words.add(stripped)
                return
        self._take_prose(text)

    def _take_prose(self, text: str) -> None:
        """Note what a longer string may name: code, a command line, a message with a file name."""
        for match in _DASH_M.finditer(text):
            self.strings.add(match[1])
        for match in _INLINE_IMPORT.finditer(text):
            self.strings.add(match[1] or match[2])
        for match in _FROM_LINE.finditer(text):
            for name in _listed(match[2]):
                self.strings.add(f"{match[1]}.{name}" if match[1].strip(".") else name)
        for word in text.split():
            bare = word.strip("\"'`(),;:[]{}<>=")
            if "." in bare and len(bare) <= _LONGEST_WORD and _WORD.fullmatch(bare):
                self.words.add(bare)

    def _take_name(self, name: str) -> None:
        if name in _WALKERS:
            self.walks = True
        elif name in _LISTERS:
            self.lists = True
        elif name in _LOADERS:
            self.dynamic = True

    def _take_call(self, node: ast.Call) -> None:
        for argument in node.args:
            if isinstance(argument, ast.List | ast.Tuple):
                self._take_command(argument.elts)
        self._take_command(node.args)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else None
        name = node.func.id if isinstance(node.func, ast.Name) else name
        if name not in _IMPORTERS:
            return
        values = [*node.args[:1], *(key.value for key in node.keywords if key.arg == "name")]
        prefix = _literal(values[0]) if values else None
        if prefix is None:
            self.dynamic = True
            return
        text, whole = prefix
        if text.startswith("."):
            text = self._anchored(text, node)
        if whole:
            self.names.add(text.partition(":")[0])
        elif text:
            self.prefixes.add(text)
        else:
            self.dynamic = True

    def _anchored(self, text: str, node: ast.Call) -> str:
        """Resolve `import_module(".x", package)`."""
        anchors = [*node.args[1:2], *(key.value for key in node.keywords if key.arg == "package")]
        anchor = _literal(anchors[0]) if anchors else None
        if anchor is not None and anchor[1]:
            level = len(text) - len(text.lstrip("."))
            parts = anchor[0].split(".")
            return ".".join([*parts[: len(parts) - (level - 1)], text[level:]])
        resolved = self.resolve(text)
        return f"{resolved}." if not text.strip(".") and resolved else resolved

    def _take_command(self, items: list[ast.expr]) -> None:
        """Note the module in `[..., "-m", "pkg", ...]` (and a plugin after `-p`)."""
        for option, value in itertools.pairwise(items):
            if _text(option) in {"-m", "-p"} and (name := _text(value)) is not None:
                self.strings.add(name)

    def _take_plugins(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if not any(isinstance(it, ast.Name) and it.id == "pytest_plugins" for it in targets):
            return
        for part in ast.walk(node.value) if node.value is not None else ():
            text = _text(part)
            if text is not None and _DOTTED.fullmatch(text):
                self.plugins.add(text)


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None


def _literal(node: ast.expr) -> tuple[str, bool] | None:
    """Give the known start of a string expression and whether that is all of it."""
    if (text := _text(node)) is not None:
        return text, True
    match node:
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
            return text, False
        case ast.BinOp(left=left, op=ast.Add()) if (start := _literal(left)) is not None:
            return start[0], False
        case ast.BinOp(left=left, op=ast.Mod()) if (start := _literal(left)) is not None:
            return start[0].partition("%")[0], False
        case ast.Call(func=ast.Attribute(value=value, attr="format")):
            start = _literal(value)
            return None if start is None else (start[0].partition("{")[0], False)
        case _:
            return None


def _chain(node: ast.Attribute) -> str | None:
    """Give `a.b.c` for an attribute of a plain name."""
    parts = [node.attr]
    value = node.value
    while isinstance(value, ast.Attribute):
        parts.append(value.attr)
        value = value.value
    if not isinstance(value, ast.Name):
        return None
    parts.append(value.id)
    return ".".join(reversed(parts))


def _listed(text: str) -> list[str]:
    """Give the names in `a, b as c`."""
    items = (item.split() for item in text.strip("() \t").replace("\n", " ").split(","))
    return [item[0] for item in items if item and _DOTTED.fullmatch(item[0])]


def _guess(source: bytes, found: _Found, problem: str) -> Imports:
    """Read a source that cannot be parsed by patterns; it counts as able to import anything near."""
    text = source.decode("utf-8", "replace")
    for match in _IMPORT_LINE.finditer(text):
        found.names.update(_listed(match[1]))
    for match in _FROM_LINE.finditer(text):
        base = found.resolve(match[1])
        found.take_from(base, [(name, None) for name in _listed(match[2])])
        if "*" in match[2]:
            found.stars.add(base)
    for match in _QUOTED.finditer(text):
        found.take_text(match[1])
    found.hooks.update(re.findall(r"^(?:async )?def (pytest_\w+)", text, re.MULTILINE))
    found.dynamic = found.walks = found.documents = True
    return found.imports(problem)
