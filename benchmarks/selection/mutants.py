"""Small faults in a project's sources, one a mutant: pure, seeded, and each within one line."""

from __future__ import annotations

import ast
import hashlib
import random
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

BODIES: Final = ("operator", "return", "raise")
"""Kinds that change what a function does when it is called."""
IMPORT_TIME: Final = ("constant", "default", "decorator")
"""Kinds that change what runs, or what is bound, when a module is imported."""
KINDS: Final = (*BODIES, *IMPORT_TIME, "data", "native")
QUIET: Final = ("comment", "docstring", "readme")
"""Edits that no test can see: the right answer is no test at all."""

OPERATORS: Final[Mapping[type[ast.AST], tuple[str, str]]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.Mod: ("%", "*"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", ">="),
    ast.LtE: ("<=", ">"),
    ast.Gt: (">", "<="),
    ast.GtE: (">=", "<"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One edit of one file: the bytes from `start` to `end` become `new`."""

    kind: str
    path: str
    line: int
    start: int
    end: int
    new: str
    note: str = ""

    @property
    def id(self) -> str:
        """A name that stays the same from run to run."""
        text = f"{self.path}\0{self.start}\0{self.end}\0{self.new}"
        return (
            f"{self.kind}:{self.path}:{self.line}:{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        )

    def apply(self, source: bytes) -> bytes:
        """Give the file's new bytes."""
        new = self.new.encode("latin-1" if self.kind == "data" else "utf-8")
        return source[: self.start] + new + source[self.end :]

    def plain(self) -> dict[str, Any]:
        """Give the plain form, for JSON."""
        return asdict(self)


def candidates(path: str, source: bytes, kind: str) -> list[Mutant]:
    """Give every mutant of this kind in a file, in the order of the source."""
    if kind == "data":
        return _data(path, source)
    if kind == "readme":
        return [_inserted("readme", path, source, len(source), "\nOne more sentence.\n")]
    if kind == "native":
        return _native(path, source) if path.endswith(NATIVE) else []
    if not path.endswith(".py"):
        return []
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    text = _Text(source)
    found = [m for m in PYTHON[kind](path, text, tree) if m.apply(source) != source]
    return [m for m in found if _parses(m.apply(source))]


def pick(sources: Mapping[str, Mapping[str, bytes]], seed: int) -> dict[str, list[Mutant]]:
    """Give for each kind the mutants of its own sources, in an order that the seed alone decides."""
    chosen = {}
    for kind, files in sources.items():
        every = [m for path in sorted(files) for m in candidates(path, files[path], kind)]
        random.Random(f"{seed} {kind}").shuffle(every)  # noqa: S311 - a trial, not a secret
        chosen[kind] = _spread(every)
    return chosen


def _spread(mutants: Sequence[Mutant]) -> list[Mutant]:
    """Take files in turn, so that one large module does not give every mutant."""
    by_file: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        by_file.setdefault(mutant.path, []).append(mutant)
    rows = list(by_file.values())
    depth = max(map(len, rows), default=0)
    return [row[at] for at in range(depth) for row in rows if at < len(row)]


def _parses(source: bytes) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return True


class _Text:
    """A source with the byte offset of each line: ast's columns are bytes."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def at(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self.at(node.lineno, node.col_offset), self.at(end_line, end_column)

    def edit(
        self, kind: str, path: str, node: ast.expr | ast.stmt, new: str, note: str = ""
    ) -> Mutant:
        start, end = self.span(node)
        return Mutant(
            kind=kind, path=path, line=node.lineno, start=start, end=end, new=new, note=note
        )


def _one_line(node: ast.AST) -> bool:
    return getattr(node, "lineno", 0) == getattr(node, "end_lineno", -1)


Function = ast.FunctionDef | ast.AsyncFunctionDef


def _functions(tree: ast.Module) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, Function) and not _declared_only(node):
            yield node


def _declared_only(node: Function) -> bool:
    """Tell an overload or an abstract method: neither runs."""
    names = {ast.unparse(item).rpartition(".")[2] for item in node.decorator_list}
    return bool(names & {"overload", "abstractmethod"})


def _in_functions(tree: ast.Module) -> Iterator[ast.AST]:
    """Give the nodes of function bodies, each once."""
    seen: set[int] = set()
    for function in _functions(tree):
        for statement in function.body:
            for node in ast.walk(statement):
                if id(node) not in seen:
                    seen.add(id(node))
                    yield node


def _operators(path: str, text: _Text, tree: ast.Module) -> Iterator[Mutant]:
    for node in _in_functions(tree):
        pairs: list[tuple[ast.expr, ast.AST, ast.expr]]
        if isinstance(node, ast.BinOp):
            pairs = [(node.left, node.op, node.right)]
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            pairs = [(node.left, node.ops[0], node.comparators[0])]
        elif isinstance(node, ast.BoolOp):
            pairs = [(node.values[0], node.op, node.values[1])]
        else:
            continue
        for left, operator, right in pairs:
            mutant = _operator(path, text, left, operator, right)
            if mutant:
                yield mutant


def _operator(
    path: str, text: _Text, left: ast.expr, operator: ast.AST, right: ast.expr
) -> Mutant | None:
    if type(operator) not in OPERATORS or left.end_lineno != right.lineno:
        return None
    old, new = OPERATORS[type(operator)]
    start, end = text.span(left)[1], text.span(right)[0]
    between = text.source[start:end].decode("utf-8", "replace")
    word = r"\s+".join(map(re.escape, old.split()))
    found = list(re.finditer(rf"(?<![\w]){word}(?![\w])" if old[0].isalpha() else word, between))
    if len(found) != 1:
        return None
    begin = start + len(between[: found[0].start()].encode())
    return Mutant(
        kind="operator",
        path=path,
        line=left.end_lineno or left.lineno,
        start=begin,
        end=begin + len(found[0].group().encode()),
        new=new,
        note=f"{old} -> {new}",
    )


def _returns(path: str, text: _Text, tree: ast.Module) -> Iterator[Mutant]:
    for node in _in_functions(tree):
        if isinstance(node, ast.Return) and node.value is not None and _one_line(node):
            if isinstance(node.value, ast.Constant) and node.value.value is None:
                continue
            yield text.edit("return", path, node, "return None", "returns None")


def _raises(path: str, text: _Text, tree: ast.Module) -> Iterator[Mutant]:
    simple = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Assert)
    for function in _functions(tree):
        body = function.body[1:] if ast.get_docstring(function) is not None else function.body
        if body and isinstance(body[0], simple) and _one_line(body[0]):
            if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
                continue  # `...`: a protocol's method
            raised = 'raise RuntimeError("mutant")'
            yield text.edit("raise", path, body[0], raised, f"{function.name} raises")


def _changed(value: object) -> str | None:
    """Give another literal of the same kind; None for what is better left alone."""
    if isinstance(value, bool):
        return repr(not value)
    if isinstance(value, int):
        return repr(value + 1)
    if isinstance(value, float):
        return repr(value + 1.5)
    if isinstance(value, str) and "\n" not in value:
        return repr(value + "x")
    if value is None:
        return "0"
    return None


def _constants(path: str, text: _Text, tree: ast.Module) -> Iterator[Mutant]:
    for statement in _at_import(tree.body):
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
            continue
        for node in _outside_functions(statement.value):
            if isinstance(node, ast.Constant) and _one_line(node):
                new = _changed(node.value)
                if new is not None and not _in_fstring(text, node):
                    yield text.edit("constant", path, node, new, f"{node.value!r} -> {new}")


def _in_fstring(text: _Text, node: ast.expr) -> bool:
    """Python 3.11 gives the parts of an f-string the place of the whole: those cannot be edited."""
    start, end = text.span(node)
    written = text.source[start:end].decode("utf-8", "replace")
    try:
        return not isinstance(ast.parse(written, mode="eval").body, ast.Constant)
    except (SyntaxError, ValueError):
        return True


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.Lambda | ast.JoinedStr):
            yield from _outside_functions(child)


def _at_import(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Give the statements that run when the module is imported, those of classes too."""
    for statement in body:
        if isinstance(statement, Function):
            continue
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
            continue
        yield statement
        for name in ("body", "orelse", "finalbody"):
            yield from _at_import(getattr(statement, name, []))


def _defaults(path: str, text: _Text, tree: ast.Module) -> Iterator[Mutant]:
    for function in _functions(tree):
        arguments = function.args
        for node in (*arguments.defaults, *arguments.kw_defaults):
            if isinstance(node, ast.Constant) and _one_line(node):
                new = _changed(node.value)
                if new is not None:
                    note = f"{function.name}: {node.value!r} -> {new}"
                    yield text.edit("default", path, node, new, note)


def _decorators(path: str, text: _Text, tree: ast.Module) -> Iterator[Mutant]:
    for node in ast.walk(tree):
        if not isinstance(node, Function | ast.ClassDef):
            continue
        if isinstance(node, Function) and _declared_only(node):
            continue
        for item in node.decorator_list:
            if _one_line(item):
                note = f"{node.name} loses @{ast.unparse(item)}"
                yield text.edit("decorator", path, item, "(lambda thing: thing)", note)


def _comments(path: str, text: _Text, tree: ast.Module) -> Iterator[Mutant]:
    for function in _functions(tree):
        first = function.body[0]
        if first.lineno > function.lineno:
            start = text.at(first.lineno, 0)
            line = " " * first.col_offset + "# One more remark.\n"
            yield _inserted("comment", path, text.source, start, line)


def _docstrings(path: str, text: _Text, tree: ast.Module) -> Iterator[Mutant]:
    for function in _functions(tree):
        first = function.body[0]
        if ast.get_docstring(function) is None or ">>>" in (ast.get_docstring(function) or ""):
            continue
        start, end = text.span(first)
        written = text.source[start:end]
        if written.startswith((b'"""', b'r"""')) and written.endswith(b'"""'):
            at = start + written.index(b'"""') + 3
            yield _inserted("docstring", path, text.source, at, "In other words: ")


def _inserted(kind: str, path: str, source: bytes, at: int, new: str) -> Mutant:
    line = source.count(b"\n", 0, at) + 1
    return Mutant(kind=kind, path=path, line=line, start=at, end=at, new=new, note="quiet")


PYTHON: Final[Mapping[str, Callable[[str, _Text, ast.Module], Iterator[Mutant]]]] = {
    "operator": _operators,
    "return": _returns,
    "raise": _raises,
    "constant": _constants,
    "default": _defaults,
    "decorator": _decorators,
    "comment": _comments,
    "docstring": _docstrings,
}

# --- What is not Python -----------------------------------------------------------------------------------------------

NATIVE: Final = (".c", ".cc", ".cpp", ".h", ".hpp", ".pyx", ".pxi")
NATIVE_OPERATORS: Final = {
    " == ": " != ",
    " != ": " == ",
    " < ": " >= ",
    " <= ": " > ",
    " > ": " <= ",
    " >= ": " < ",
    " + ": " - ",
    " - ": " + ",
    " += ": " -= ",
    " && ": " || ",
    " || ": " && ",
    " and ": " or ",
    " or ": " and ",
}


def _native(path: str, source: bytes) -> list[Mutant]:
    """Operators and return values inside functions, by lines: a lighter reading than a parser's."""
    found: list[Mutant] = []
    at = 0
    reader = _cython_lines if path.endswith((".pyx", ".pxi")) else _c_lines
    for number, (line, inside) in enumerate(reader(source.decode("latin-1")), start=1):
        if inside:
            found += _native_line(path, line, number, at)
        at += len(line)
    return [m for m in found if m.apply(source) != source]


def _native_line(path: str, line: str, number: int, at: int) -> Iterator[Mutant]:
    cython = path.endswith((".pyx", ".pxi"))
    returned = re.match(r"\s*return ([^;\n]+?)(;|\n|$)", line)
    if returned and returned.group(1).strip() not in {"0", "None", "NULL"}:
        start, end = returned.span(1)
        new = "None" if cython else "0"
        yield _native_edit(path, number, at + start, at + end, new, f"returns {new}")
    for old, new in NATIVE_OPERATORS.items():
        places = [m.start() for m in re.finditer(re.escape(old), line)]
        if len(places) == 1:
            start = at + places[0]
            yield _native_edit(path, number, start, start + len(old), new, f"{old} -> {new}")


def _native_edit(path: str, line: int, start: int, end: int, new: str, note: str) -> Mutant:
    return Mutant(
        kind="native", path=path, line=line, start=start, end=end, new=new, note=note.strip()
    )


def _c_lines(text: str) -> Iterator[tuple[str, bool]]:
    """Give each line of C, and whether it is code inside braces."""
    depth, comment, macro = 0, False, False
    for line in text.splitlines(keepends=True):
        was_macro = macro
        macro = (was_macro or line.lstrip().startswith("#")) and line.rstrip().endswith("\\")
        directive = was_macro or line.lstrip().startswith("#")
        code = re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', '""', line)
        started = comment
        if comment:
            comment = "*/" not in code
        elif "/*" in code:
            comment = "*/" not in code.partition("/*")[2]
        plain = not started and "/*" not in code and "//" not in code and code.count('"') == 0
        yield line, plain and not directive and depth > 0
        if not directive and not started:
            depth += code.count("{") - code.count("}")


def _cython_lines(text: str) -> Iterator[tuple[str, bool]]:
    """Give each line of Cython, and whether it is a statement of a function."""
    inside, indent, string = False, 0, False
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        quotes = line.count('"""') + line.count("'''")
        started = string
        string ^= quotes % 2 == 1
        if not started and re.match(r"\s*(c?p?def)\b.*\)\s*[^=]*:\s*(#.*)?$", line):
            inside, indent = True, len(line) - len(line.lstrip())
            yield line, False
            continue
        if bare and not started and len(line) - len(line.lstrip()) <= indent:
            inside = False
        plain = not started and quotes == 0 and not any(c in line for c in "#'\"")
        yield line, inside and plain and bool(bare)


def _data(path: str, source: bytes) -> list[Mutant]:
    """Change one byte in the middle of a data file: a letter or digit of a text, any byte else."""
    try:
        text = source.decode("ascii")
    except UnicodeDecodeError:
        middle = len(source) // 2
        return [_byte(path, 1, middle, chr(source[middle] ^ 0x55))]
    places = [m.start() for m in re.finditer(r"[A-Za-z0-9]", text)]
    if not places:
        return []
    at = places[len(places) // 2]
    new = "7" if text[at].isdigit() and text[at] != "7" else "8" if text[at] == "7" else "q"
    return [_byte(path, source[:at].count(b"\n") + 1, at, "z" if text[at] == new else new)]


def _byte(path: str, line: int, at: int, new: str) -> Mutant:
    return Mutant(
        kind="data", path=path, line=line, start=at, end=at + 1, new=new, note="one byte"
    )
