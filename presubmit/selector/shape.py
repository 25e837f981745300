"""From a Python source to its shape: the elements that it defines and the names that each of them uses."""

from __future__ import annotations

import ast
import builtins
import re
import sys
import warnings
from typing import TYPE_CHECKING, Final

from presubmit.selector.element import MODULE, Element, ElementKind, Shape
from presubmit.selector.known import (
    AUTOUSE,
    TYPE_MAKERS,
    TYPING,
    believes,
    is_inert_base,
    is_pure,
)
from presubmit.selector.uses import Uses, digest, docstring

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["EXTRACTOR", "MODULE", "Element", "ElementKind", "Shape", "read_shape"]

EXTRACTOR: Final = f"5-{sys.version_info[0]}.{sys.version_info[1]}"
"""Changes when `read_shape` gives other values for the same source: caches are keyed by it.

The Python is part of it, since each version's parser builds slightly different trees."""

_LARGEST: Final = 4 * 1024 * 1024
_OF_CLASS: Final = frozenset({"__new__", "__init_subclass__", "__class_getitem__"})
"""Methods that get a class without being decorated."""
_FROZEN: Final = frozenset(
    [
        *(
            "object",
            "compile",
            "frozenset",
            "namedtuple",
            "TypeVar",
            "NewType",
            "getLogger",
            "tuple",
        ),
        *("Path", "resolve", "absolute", "dirname", "abspath", "realpath", "str", "int", "float"),
        *("bool", "bytes", "len", "getenv", "join", "timedelta", "date", "datetime", "Decimal"),
        *(
            "partial",
            "Struct",
            "itemgetter",
            "attrgetter",
            "methodcaller",
            "ParamSpec",
            "TypeVarTuple",
        ),
    ]
)
"""Calls that give what nobody changes."""
_WORD: Final = re.compile(r"[A-Za-z_]\w*")


def read_shape(source: bytes) -> Shape:
    """Find the elements of a source; one that cannot be parsed gives a value that says so."""
    if len(source) > _LARGEST:
        return Shape(elements=(), problem="too large to parse")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        return _Reader().read(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError, LookupError) as error:
        return Shape(elements=(), problem=_problem(error))


def _problem(error: Exception) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.msg} (line {error.lineno})" if error.lineno else str(error.msg)
    return str(error) or type(error).__name__


class _Scope:
    """The module or a class while its statements are read."""

    def __init__(self, prefix: str, *, constants: bool) -> None:
        self.prefix = prefix
        self.constants = constants
        """Whether an assignment of literals is an element by itself here."""
        self.run = Uses()
        """What runs where it is defined."""
        self.stored = Uses()
        """What is only stored or annotated: whoever uses the names that it gets uses it."""
        self._defined: list[str] = []

    def define(self, name: str) -> None:
        """Note that a name got its value; the order of such statements says nothing."""
        self._defined.append(name)

    def runs(self, *nodes: ast.AST) -> None:
        """Note code that runs here; what it finds defined is part of it."""
        if self._defined:
            self.run.tokens.append(f"after {self.flush()}")
        self.run.take(*nodes)

    def flush(self) -> str:
        """Give what was defined since the last call, in no order."""
        names = " ".join(sorted(self._defined))
        self._defined.clear()
        return names

    def stores(self, *nodes: ast.AST) -> Uses:
        """Note code that only stores values; gives what it uses."""
        uses = Uses()
        uses.take(*nodes)
        self.run.tokens.extend(uses.tokens)
        self.stored.dynamic.update(uses.dynamic)
        return uses


class _Reader:
    """Walks the statements of a module and of its classes."""

    def __init__(self) -> None:
        self.elements: dict[str, Element] = {}
        self.imports: dict[tuple[str, str], None] = {}
        self.stars: dict[str, None] = {}
        self.aliases: dict[str, set[str]] = {}
        self.plain: set[str] = set()
        self.examples: set[str] = set()
        self.kept: set[str] = set()
        self.bound: dict[str, list[str]] = {}
        """What binds module-level names: modules that they come from, or nothing where they are made here."""
        self.annotates = True
        """Whether annotations run where they stand; what Python 3.14 does is not counted on."""

    def read(self, tree: ast.Module) -> Shape:
        """Give the shape of a module."""
        scope = _Scope("", constants=True)
        text = self._docstring(tree.body)
        self.annotates = not any(map(_defers_annotations, tree.body))
        self._bindings(tree.body)
        self._statements(tree.body[bool(text) :], scope)
        self._keep_imports(scope.run)
        module = Element(
            qualname=MODULE,
            kind=ElementKind.MODULE,
            first_line=1,
            last_line=max((it.end_lineno or 1 for it in tree.body), default=1),
            head=digest(scope.run.tokens),
            docstring=digest(text),
            uses=tuple(sorted({f".{it}" for it in self.examples} | {*scope.stored.uses()})),
            head_uses=_sorted(scope.run),
            dynamic=tuple(sorted(scope.run.dynamic | scope.stored.dynamic)),
            writes=tuple(sorted({*scope.run.writes()})),
        )
        elements = (module, *self.elements.values())
        return Shape(
            elements=elements,
            names=self._names(elements),
            imports=tuple(self.imports),
            stars=tuple(self.stars),
            kept=tuple(sorted(self.kept)),
            aliases=tuple((name, tuple(sorted(used))) for name, used in self.aliases.items()),
        )

    def _bindings(  # noqa: C901 - one kind of statement after the other
        self, body: Iterable[ast.stmt]
    ) -> None:
        """Note where the names of the module come from, before any of them is met."""
        for it in body:
            match it:
                case ast.ImportFrom(module=module, level=level, names=names):
                    source = "." * level + (module or "")
                    for alias in names:
                        self.bound.setdefault(alias.asname or alias.name, []).append(source)
                case ast.Import(names=names):
                    for alias in names:
                        name = alias.asname or alias.name.partition(".")[0]
                        self.bound.setdefault(name, []).append(alias.name)
                case (
                    ast.FunctionDef(name=name)
                    | ast.AsyncFunctionDef(name=name)
                    | ast.ClassDef(name=name)
                ):
                    self.bound.setdefault(name, []).append("")
                case ast.Assign(targets=targets):
                    for name in (name for target in targets for name in _target_names(target)):
                        self.bound.setdefault(name, []).append("")
                case ast.If() | ast.Try() | ast.TryStar() | ast.With() | ast.For() | ast.While():
                    for part in ("body", "orelse", "finalbody"):
                        self._bindings(getattr(it, part, ()))
                    for handler in getattr(it, "handlers", ()):
                        self._bindings(handler.body)
                case _:
                    pass

    def _names(self, elements: Iterable[Element]) -> tuple[str, ...]:
        """Give every name that occurs: an index of files by names is made of them."""
        found: set[str] = set()
        for used in (*((*it.uses, *it.head_uses) for it in elements), *self.aliases.values()):
            for use in used:
                found.update(use.split("."))
        for alias, target in self.imports:
            found.add(alias)
            found.update(_WORD.findall(target))
        found.discard("")
        return tuple(sorted(found))

    def _docstring(self, body: list[ast.stmt]) -> tuple[str, ...]:
        """Give the docstring of a body as tokens; what its examples name, a doctest of this file runs."""
        text = docstring(body)
        if text is None:
            return ()
        if ">>>" in text:
            for line in text.splitlines():
                if line.lstrip().startswith((">>>", "...")):
                    self.examples.update(_WORD.findall(line))
        return (text,)

    def _keep_imports(self, uses: Uses) -> None:
        self.imports.update(dict.fromkeys(uses.imports))
        self.stars.update(dict.fromkeys(uses.stars))

    def _keep(self, element: Element) -> None:
        """Add an element; what is defined twice is one element."""
        name = element.qualname
        known = self.elements.get(name)
        self.elements[name] = element if known is None else _joined(known, element)

    # --- statements -------------------------------------------------------------------------------------------------

    def _statements(self, body: Iterable[ast.stmt], scope: _Scope) -> None:
        for statement in body:
            match statement:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    scope.define(statement.name)
                    self._function(statement, scope)
                case ast.ClassDef():
                    scope.define(statement.name)
                    self._class(statement, scope)
                case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                    self._assignment(statement, scope)
                case ast.Expr(value=ast.Constant()) | ast.Pass():
                    pass
                case ast.Import() | ast.ImportFrom():
                    scope.run.take(statement)
                case _:
                    self._compound(statement, scope)

    def _compound(self, statement: ast.stmt, scope: _Scope) -> None:
        """Read what may hold definitions, else note a statement that runs."""
        match statement:
            case ast.If(test=test, body=body, orelse=orelse):
                if ast.unparse(test).rpartition(".")[2] == "TYPE_CHECKING":
                    self._statements(orelse, scope)
                    return
                scope.runs(test)
                self._blocks(scope, body, orelse)
            case ast.Try() | ast.TryStar():
                self._blocks(scope, statement.body)
                for handler in statement.handlers:
                    if handler.type is not None:
                        scope.runs(handler.type)
                    self._blocks(scope, handler.body)
                self._blocks(scope, statement.orelse, statement.finalbody)
            case ast.With(items=items, body=body):
                scope.runs(*items)
                self._blocks(scope, body)
            case ast.For(target=target, iter=values, body=body, orelse=orelse):
                scope.runs(target, values)
                self._blocks(scope, body, orelse)
            case ast.While(test=test, body=body, orelse=orelse):
                scope.runs(test)
                self._blocks(scope, body, orelse)
            case _:
                scope.runs(statement)

    def _blocks(self, scope: _Scope, *blocks: Sequence[ast.stmt]) -> None:
        for block in blocks:
            scope.run.tokens.append("{")
            self._statements(block, scope)
            scope.run.tokens.append(f"{scope.flush()}}}")

    def _assignment(  # noqa: C901 - what each part of it says
        self, statement: ast.Assign | ast.AnnAssign | ast.AugAssign, scope: _Scope
    ) -> None:
        """Read an assignment: a constant, names for something else, or code that runs."""
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        names = [name for target in targets for name in _target_names(target)]
        value = statement.value
        if names and names[0] in {"__all__", "__slots__"}:
            scope.stores(statement)
            return
        annotation = statement.annotation if isinstance(statement, ast.AnnAssign) else None
        if annotation is not None:
            scope.stored.take(annotation)
        if value is None:
            scope.stores(statement)
            return
        if _may_change(value):
            self.kept.update(scope.prefix + name for name in names)
        plain = all(isinstance(it, ast.Name | ast.Tuple | ast.List) for it in targets)
        constant = scope.constants and plain and not isinstance(statement, ast.AugAssign)
        if constant and (annotation is None or not scope.prefix) and _is_literal(value):
            for name in names:
                self._constant(name, statement, value, annotation, scope)
            return
        if plain and not isinstance(statement, ast.AugAssign) and _only_stores(value):
            used = scope.stores(*targets, value)
            if annotation is not None:
                scope.stores(annotation)
        else:
            scope.runs(*targets, value)
            scope.run.tokens.append(type(statement).__name__)
            used = Uses()
            used.take(value)
            if annotation is not None:
                scope.stores(annotation)
        for name in names:
            self.aliases.setdefault(scope.prefix + name, set()).update(used.uses())

    def _constant(
        self,
        name: str,
        statement: ast.stmt,
        value: ast.expr,
        annotation: ast.expr | None,
        scope: _Scope,
    ) -> None:
        scope.define(name)
        head, body = Uses(), Uses()
        if annotation is not None:
            head.take(annotation)
        body.take(value)
        self._keep(
            Element(
                qualname=scope.prefix + name,
                kind=ElementKind.CONSTANT,
                first_line=statement.lineno,
                last_line=statement.end_lineno or statement.lineno,
                head=digest(head.tokens),
                body=digest(body.tokens),
                uses=_sorted(body),
            )
        )

    # --- functions --------------------------------------------------------------------------------------------------

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: _Scope) -> None:
        decorators = tuple(_dotted(it) for it in node.decorator_list)
        if any(_is_autouse(it) for it in node.decorator_list):
            decorators += (AUTOUSE,)
        for name in map(_fixture_name, node.decorator_list):
            if name == "?":
                decorators += (AUTOUSE,)
            elif name:
                self.aliases.setdefault(name, set()).update(("=fixture", scope.prefix + node.name))
        arguments = node.args
        parameters = [*arguments.posonlyargs, *arguments.args]
        method = bool(scope.prefix) and "staticmethod" not in decorators
        first = parameters[0].arg if method and parameters else ""
        of_class = "classmethod" in decorators or node.name in _OF_CLASS
        uses, head = Uses(first, of_class=of_class), Uses()
        head.take(*node.decorator_list)
        uses.tokens.append(type(node).__name__)
        self._parameters(arguments, uses, head)
        if node.returns is not None:
            uses.take(node.returns)
        uses.take(*getattr(node, "type_params", ()))
        if self.annotates:
            _annotations(node, head)
        if not all(map(self._is_pure, decorators)):
            # Such a decorator may read the signature where the function is defined.
            head.tokens.extend(uses.tokens)
        text = self._docstring(node.body)
        uses.take(*node.body[bool(text) :])
        self._keep_imports(uses)
        found = set(uses.uses())
        found.update(
            f"={it.arg}" for it in [*parameters, *arguments.kwonlyargs] if it.arg != first
        )
        start = min([node.lineno, *(it.lineno for it in node.decorator_list)])
        writes = set(uses.writes())
        writes.update(f"default {it}" for it in _shared_defaults(arguments))
        self._keep(
            Element(
                qualname=scope.prefix + node.name,
                kind=ElementKind.FUNCTION,
                first_line=start,
                last_line=node.end_lineno or node.lineno,
                head=digest(head.tokens),
                body=digest(uses.tokens),
                docstring=digest((*text, *uses.docstrings)),
                uses=tuple(sorted(found)),
                head_uses=_sorted(head),
                decorators=decorators,
                dynamic=tuple(sorted(uses.dynamic)),
                writes=tuple(sorted(writes)),
                call=_call(node, uses) if _has_own_lines(node, node.body[bool(text) :]) else "",
            )
        )

    def _parameters(self, arguments: ast.arguments, uses: Uses, head: Uses) -> None:
        """Note parameters: literal defaults belong to the body, others run with the definition."""
        for mark, group in (
            ("/", arguments.posonlyargs),
            (",", arguments.args),
            ("*", [arguments.vararg]),
            (",", arguments.kwonlyargs),
            ("**", [arguments.kwarg]),
        ):
            uses.tokens.append(mark)
            uses.take(*(it for it in group if it is not None))
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is None or not _is_literal(default):
                uses.tokens.append("default")
                if default is not None:
                    uses.tokens.append("computed")
                    self._computed_default(default, uses, head)
            else:
                uses.take(default)

    def _computed_default(self, default: ast.expr, uses: Uses, head: Uses) -> None:
        """Note a default that runs with the definition; one that is only stored is used by the function."""
        head.tokens.append("default")
        if not _only_stores(default):
            head.take(default)
            return
        stored = Uses()
        stored.take(default)
        head.tokens.extend(stored.tokens)
        uses.also(stored)

    def _is_pure(self, decorator: str) -> bool:
        return is_pure(decorator) and (
            self._is_believed(decorator) or decorator.endswith((".setter", ".getter", ".deleter"))
        )

    def _is_inert(self, base: str) -> bool:
        if base in self.plain:
            return True
        return is_inert_base(base) and self._is_believed(base.rpartition("=")[2])

    def _is_believed(self, dotted: str) -> bool:
        """Tell whether a known name is bound in this file, if at all, by the import of a known module."""
        sources = self.bound.get(dotted.partition(".")[0], ())
        return all(map(believes, sources))

    # --- classes ----------------------------------------------------------------------------------------------------

    def _class(self, node: ast.ClassDef, around: _Scope) -> None:
        name = around.prefix + node.name
        decorators = tuple(_dotted(it) for it in node.decorator_list)
        bases = tuple(_dotted(it) for it in node.bases)
        bases += tuple(f"{it.arg or '**'}={_dotted(it.value)}" for it in node.keywords)
        plain = all(map(self._is_pure, decorators)) and all(map(self._is_inert, bases))
        if plain:
            self.plain.add(name)
        scope = _Scope(f"{name}.", constants=plain)
        scope.run.take(*node.decorator_list, *node.keywords)
        scope.run.tokens.append("bases")
        for base in node.bases:
            if _dotted(base) == "?" or isinstance(base, ast.Call):
                scope.run.take(base)
            else:
                scope.stored.take(base)
                scope.run.tokens.append(ast.dump(base))
        text = self._docstring(node.body)
        self._statements(node.body[bool(text) :], scope)
        self._keep_imports(scope.run)
        start = min([node.lineno, *(it.lineno for it in node.decorator_list)])
        self._keep(
            Element(
                qualname=name,
                kind=ElementKind.CLASS,
                first_line=start,
                last_line=node.end_lineno or node.lineno,
                head=digest(scope.run.tokens),
                docstring=digest(text),
                uses=_sorted(scope.stored),
                head_uses=_sorted(scope.run),
                decorators=decorators,
                bases=bases,
                dynamic=tuple(sorted(scope.run.dynamic | scope.stored.dynamic)),
                writes=tuple(sorted({*scope.run.writes()})),
            )
        )


def _joined(one: Element, two: Element) -> Element:
    """Join two definitions with one name."""

    def both(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted({*a, *b}))

    kinds = {one.kind, two.kind}
    kind = one.kind if len(kinds) == 1 else ElementKind.CLASS
    return Element(
        qualname=one.qualname,
        kind=kind,
        first_line=min(one.first_line, two.first_line),
        last_line=max(one.last_line, two.last_line),
        head=digest((one.head, two.head)),
        body=digest((one.body, two.body)),
        docstring=digest((one.docstring, two.docstring)),
        uses=both(one.uses, two.uses),
        head_uses=both(one.head_uses, two.head_uses),
        decorators=both(one.decorators, two.decorators),
        bases=both(one.bases, two.bases),
        dynamic=both(one.dynamic, two.dynamic),
        writes=both(one.writes, two.writes),
        call=digest((one.call, two.call)) if one.call and two.call else "",
    )


def _call(node: ast.FunctionDef | ast.AsyncFunctionDef, uses: Uses) -> str:
    """Digest what decides how a call of a function begins, apart from the values of its defaults."""
    arguments = node.args
    groups = (arguments.posonlyargs, arguments.args, arguments.kwonlyargs)
    stars = tuple(it.arg if it else "" for it in (arguments.vararg, arguments.kwarg))
    required = tuple(it is None for it in arguments.kw_defaults)
    return digest(
        (
            *(type(node).__name__, "yields" if {"Yield", "YieldFrom"} & set(uses.tokens) else ""),
            *(",".join(it.arg for it in group) for group in groups),
            *(*stars, str(len(arguments.defaults)), str(required)),
        )
    )


def _has_own_lines(node: ast.FunctionDef | ast.AsyncFunctionDef, body: Sequence[ast.stmt]) -> bool:
    """Tell whether the body starts on a line of its own, below the signature."""
    arguments = node.args
    signature: list[ast.arg | ast.expr] = [
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        *arguments.defaults,
    ]
    others = (arguments.vararg, arguments.kwarg, node.returns, *arguments.kw_defaults)
    signature += [it for it in others if it is not None]
    end = max((it.end_lineno or it.lineno for it in signature), default=node.lineno)
    return bool(body) and body[0].lineno > max(end, node.lineno)


def _defers_annotations(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(it.name == "annotations" for it in node.names)
    )


def _annotations(node: ast.FunctionDef | ast.AsyncFunctionDef, head: Uses) -> None:
    """Note annotations that run with the definition: some may fail, some call something."""
    arguments = node.args
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    given += [it for it in (arguments.vararg, arguments.kwarg) if it is not None]
    for annotation in (*(it.annotation for it in given), node.returns):
        match annotation:
            case None | ast.Constant():
                pass
            case ast.Name(id=name) if hasattr(builtins, name):
                pass
            case _ if any(isinstance(it, ast.Call) for it in ast.walk(annotation)):
                head.take(annotation)
            case _:
                stored = Uses()
                stored.take(annotation)
                head.tokens.extend(stored.tokens)


def _sorted(uses: Uses) -> tuple[str, ...]:
    return tuple(sorted(set(uses.uses())))


def _dotted(node: ast.expr) -> str:
    """Write a decorator or base as a dotted name, its call or subscript left off."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return "?"
    return ".".join([node.id, *reversed(parts)])


def _is_autouse(node: ast.expr) -> bool:
    """Tell whether a decorator makes a fixture that every test gets unasked."""
    return isinstance(node, ast.Call) and any(
        it.arg == "autouse" and not (isinstance(it.value, ast.Constant) and not it.value.value)
        for it in node.keywords
    )


def _fixture_name(node: ast.expr) -> str:
    """Give the name by which tests ask for a fixture, where its decorator says one; `?` for one that is computed."""
    if not isinstance(node, ast.Call) or not _dotted(node).endswith("fixture"):
        return ""
    for it in node.keywords:
        if it.arg == "name":
            value = it.value.value if isinstance(it.value, ast.Constant) else "?"
            return str(value or "")
        if it.arg is None:
            return "?"
    return ""


def _target_names(node: ast.expr) -> list[str]:
    """Give the names that an assignment binds; of `a.b[c] = …` both `a` and `b`."""
    match node:
        case ast.Name(id=name):
            return [name]
        case ast.Attribute(value=value, attr=name):
            return [*_target_names(value), name]
        case ast.Subscript(value=value) | ast.Starred(value=value):
            return _target_names(value)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return [name for item in items for name in _target_names(item)]
        case _:
            return []


def _is_literal(node: ast.expr) -> bool:
    """Tell an expression that can neither fail nor call anything."""
    match node:
        case ast.Constant():
            return True
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() | complex())):
            return True
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return all(map(_is_literal, items))
        case ast.Set(elts=items):
            return all(map(_is_hashable, items))
        case ast.Dict(keys=keys, values=values):
            return all(key is not None and _is_hashable(key) for key in keys) and all(
                map(_is_literal, values)
            )
        case _:
            return False


def _is_hashable(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple):
        return all(map(_is_hashable, node.elts))
    return not isinstance(node, ast.List | ast.Set | ast.Dict) and _is_literal(node)


def _only_stores(node: ast.expr) -> bool:  # noqa: PLR0911 - one kind of expression after the other
    """Tell an expression that builds a value of other values without calling any of them."""
    match node:
        case ast.Name() | ast.Constant() | ast.Lambda():
            return True
        case ast.Attribute(value=value):
            return _only_stores(value)
        case ast.Subscript(value=value, slice=inner) if (
            _dotted(value).rpartition(".")[2] in TYPING
        ):
            return _only_stores(inner)
        case ast.Call(func=function, args=items, keywords=keywords):
            return _dotted(function).rpartition(".")[2] in TYPE_MAKERS and all(
                map(_only_stores, [*items, *(it.value for it in keywords)])
            )
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return all(map(_only_stores, items))
        case ast.Dict(keys=keys, values=values):
            return all(isinstance(key, ast.Constant) for key in keys) and all(
                map(_only_stores, values)
            )
        case _:
            return _is_literal(node)


def _may_change(node: ast.expr) -> bool:  # noqa: PLR0911 - one kind of expression after the other
    """Tell whether a value may be an object with a state of its own."""
    match node:
        case ast.Call(func=ast.Name(id="cast"), args=[_, value]):
            return _may_change(value)
        case ast.Call(func=function):
            name = function.attr if isinstance(function, ast.Attribute) else _dotted(function)
            return name not in _FROZEN
        case ast.Tuple(elts=items):
            return any(map(_may_change, items))
        case ast.Constant() | ast.Name() | ast.Attribute() | ast.Lambda() | ast.JoinedStr():
            return False
        case ast.UnaryOp() | ast.Compare():
            return False
        case ast.Subscript(value=value):
            return _dotted(value).rpartition(".")[2] not in TYPING
        case ast.BinOp(left=left, right=right):
            return _may_change(left) or _may_change(right)
        case _:
            return True


def _shared_defaults(arguments: ast.arguments) -> list[str]:
    """Give the parameters whose default is one container for all calls."""
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(reversed(positional), reversed(arguments.defaults), strict=False),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    return [it.arg for it, default in pairs if isinstance(default, ast.List | ast.Dict | ast.Set)]
