"""Reads the extension modules off a setup.py without running it."""

from __future__ import annotations

import ast
import posixpath
import re
import warnings
from typing import TYPE_CHECKING, Any, Final

from presubmit.selector.native.globs import matching
from presubmit.selector.native.setup_calls import (
    added,
    callee,
    of_strings,
    percent,
    product,
    stem_of,
)
from presubmit.selector.native.setup_values import (
    UNKNOWN,
    BuiltExtension,
    Choice,
    Function,
    State,
    TooMuchError,
    Unknown,
    choices_of,
    flat,
    items_of,
    join_values,
)
from presubmit.selector.native.values import Declared, Extension

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence


_MOST_TURNS: Final = 500
_MOST_STEPS: Final = 50_000
_DEEPEST: Final = 12
_CONSTRUCTOR = re.compile(r"(?:\w*Extension|Extension\w*)$")
_NOT_SOURCES: Final = frozenset({"CMakeExtension", "MesonExtension"})
"""Constructors that only name a module which another build system builds."""


def read_setup(source: bytes, paths: Collection[str], *, path: str = "setup.py") -> Declared:
    """Give the extension modules that a setup.py may declare, whatever the platform and the environment are."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        state = State()
        _Reader(state, paths, path).read(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError, TooMuchError) as error:
        return Declared(problems=(f"{path} cannot be read: {str(error) or type(error).__name__}",))
    folder = posixpath.dirname(path)
    shared, shared_known = flat(state.shared)
    extensions = []
    for built in state.built:
        sources, known = flat(built.sources)
        folders, _ = flat(built.include_dirs)
        extensions += [
            Extension(
                name=name,
                sources=_placed(folder, [*sources, *shared]),
                include_dirs=_placed(folder, folders),
                origin=f"{path}:{built.line}",
                complete=known and shared_known,
            )
            for name in built.names
        ]
    return Declared(extensions=tuple(extensions), problems=tuple(dict.fromkeys(state.problems)))


def _placed(folder: str, found: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(posixpath.normpath(posixpath.join(folder, it)) for it in found))


class _Reader:
    """Runs statements over values; both sides of a condition are taken."""

    def __init__(self, state: State, paths: Collection[str], path: str) -> None:
        self.state = state
        self.paths = paths
        self.path = path
        self.names: dict[str, Any] = {"__file__": posixpath.basename(path)}
        self.returned: list[Any] = []
        self.depth = 0

    def read(self, tree: ast.Module) -> None:
        """Run a module, then every function of it that nothing called."""
        self.run(tree.body)
        for function in self.state.functions:
            if not function.called:
                self.call_function(function, [], {})
        calls = [it for it in ast.walk(tree) if isinstance(it, ast.Call)]
        for call in calls:
            if call not in self.state.seen and _CONSTRUCTOR.search(callee(call)):
                self.problem(call, "an extension that cannot be followed")

    def problem(self, node: ast.AST, text: str) -> None:
        """Note what cannot be told."""
        self.state.problems.append(f"{self.path}:{getattr(node, 'lineno', 0)}: {text}")

    # --- statements

    def run(self, body: Sequence[ast.stmt]) -> None:
        """Run statements in order."""
        for statement in body:
            self.state.steps += 1
            if self.state.steps > _MOST_STEPS:
                raise TooMuchError("it does too much")
            self.run_one(statement)

    def run_one(self, node: ast.stmt) -> None:  # noqa: C901 - one case for each kind of statement
        """Run one statement."""
        match node:
            case ast.Assign(targets=targets, value=value):
                result = self.value(value)
                if _sets_sources(targets) and _mentions_sources(value):
                    return  # what `build_ext` does to an extension's own sources
                for target in targets:
                    self.bind(target, result)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.bind(target, self.value(value))
            case ast.AugAssign(target=target, op=ast.Add(), value=value):
                self.grow(target, self.value(value))
            case ast.AugAssign(target=target):
                self.bind(target, UNKNOWN)
            case ast.Expr(value=value):
                self.value(value)
            case ast.Return(value=value):
                self.returned.append(None if value is None else self.value(value))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                function = Function(node)
                self.state.functions.append(function)
                self.names[node.name] = function
            case ast.ClassDef(body=body):
                self.state.functions += [
                    Function(it) for it in body if isinstance(it, ast.FunctionDef)
                ]
            case _:
                self.run_block(node)

    def run_block(self, node: ast.stmt) -> None:
        """Run a statement that holds others."""
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                self.value(test)
                self.run_either([body, orelse])
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=last):
                self.run_either([[*body, *orelse], *(it.body for it in handlers), []])
                self.run(last)
            case ast.With(items=items, body=body):
                for item in items:
                    if item.optional_vars is not None:
                        self.bind(item.optional_vars, UNKNOWN)
                self.run(body)
            case ast.While(body=body):
                self.run_either([body, []])
            case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
                for item in self.turns(iterable):
                    self.bind(target, item)
                    self.run_either([body, []])
                self.run(orelse)
            case _:
                pass

    def run_either(self, bodies: Sequence[Sequence[ast.stmt]]) -> None:
        """Run bodies of which one is taken; a list that one of them changes in place is changed for all."""
        before = dict(self.names)
        after: list[dict[str, Any]] = []
        for body in bodies:
            self.names = dict(before)
            self.run(body)
            after.append(self.names)
        self.names = after[0]
        for names in after[1:]:
            for name, value in names.items():
                mine = self.names.get(name, value)
                self.names[name] = join_values(mine, value)

    def turns(self, iterable: ast.expr) -> list[Any]:
        """Give the values that a loop takes."""
        items = items_of(self.value(iterable))
        return [UNKNOWN] if items is None or len(items) > _MOST_TURNS else list(items)

    def bind(self, target: ast.expr, value: Any) -> None:  # noqa: ANN401, C901, PLR0912 - one case for each kind of target
        """Assign a value to a target."""
        match target:
            case ast.Name(id=name):
                self.names[name] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                items = items_of(value) if isinstance(value, list) else None
                fits = items is not None and len(items) == len(targets)
                for index, each in enumerate(targets):
                    self.bind(each, items[index] if fits and items is not None else UNKNOWN)
            case ast.Subscript(value=holder, slice=index):
                table, key = self.value(holder), self.value(index)
                if isinstance(table, dict):
                    if isinstance(key, str):
                        table[key] = join_values(table[key], value) if key in table else value
                    else:
                        table["**"] = UNKNOWN
                elif isinstance(table, list):
                    table.append(value)
            case ast.Attribute(value=holder, attr="sources"):
                built = self.value(holder)
                for it in choices_of(built):
                    if isinstance(it, BuiltExtension):
                        it.sources.append(value)
                    elif not isinstance(it, str):
                        self.unnamed_sources(value)
            case _:
                pass

    def unnamed_sources(self, value: Any) -> None:  # noqa: ANN401 - any value of a setup.py
        """Give sources to every extension, where it is not known to which they go."""
        self.state.shared.append(value)

    def grow(self, target: ast.expr, value: Any) -> None:  # noqa: ANN401 - any value of a setup.py
        """Do `target += value`."""
        old = self.value(target)
        if isinstance(old, list):
            items = items_of(value)
            old.extend([UNKNOWN] if items is None else items)
        elif isinstance(old, Choice) and any(isinstance(it, list) for it in old.values):
            for it in old.values:
                if isinstance(it, list):
                    it.extend(items_of(value) or [UNKNOWN])
        else:
            self.bind(target, added(old, value))

    # --- expressions

    def value(self, node: ast.expr) -> Any:  # noqa: ANN401, C901, PLR0911, PLR0912 - one case for each kind of expression
        """Give the value of an expression."""
        match node:
            case ast.Constant(value=value):
                return value if isinstance(value, str) or value is None else UNKNOWN
            case ast.Name(id=name):
                return self.names.get(name, UNKNOWN)
            case ast.List(elts=elts) | ast.Tuple(elts=elts) | ast.Set(elts=elts):
                return self.listed(elts)
            case ast.Dict(keys=keys, values=values):
                return self.table(keys, values)
            case ast.JoinedStr(values=values):
                parts = [
                    self.value(it.value if isinstance(it, ast.FormattedValue) else it)
                    for it in values
                ]
                return product(parts, "".join)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return added(self.value(left), self.value(right))
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return product(
                    [self.value(left), self.value(right)], lambda it: posixpath.join(*it)
                )
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                filler = self.value(right)
                fillers = filler if isinstance(filler, list) else [filler]
                return product([self.value(left), *fillers], percent)
            case ast.BinOp(left=left, right=right):
                self.value(left)
                self.value(right)
                return UNKNOWN
            case ast.IfExp(body=body, orelse=orelse):
                return join_values(self.value(body), self.value(orelse))
            case ast.BoolOp(values=values):
                result = self.value(values[0])
                for each in values[1:]:
                    result = join_values(result, self.value(each))
                return result
            case ast.ListComp(elt=elt) | ast.GeneratorExp(elt=elt) | ast.SetComp(elt=elt):
                return [self.value(elt) for _ in self.bound(node.generators)]
            case ast.Subscript(value=holder, slice=index):
                return self.item(self.value(holder), index)
            case ast.Attribute(value=holder, attr=name):
                return self.attribute(holder, name)
            case ast.Call():
                return self.call(node)
            case ast.NamedExpr(target=target, value=inner):
                result = self.value(inner)
                self.bind(target, result)
                return result
            case ast.Lambda(body=body):
                self.value(body)
                return UNKNOWN
            case _:
                return UNKNOWN

    def bound(self, generators: Sequence[ast.comprehension]) -> Iterator[None]:
        """Bind the targets of a comprehension to every combination; its filters are not applied."""
        if not generators:
            yield
            return
        for item in self.turns(generators[0].iter):
            self.bind(generators[0].target, item)
            yield from self.bound(generators[1:])

    def listed(self, elts: Sequence[ast.expr]) -> list[Any]:
        """Give a list display."""
        found: list[Any] = []
        for each in elts:
            if isinstance(each, ast.Starred):
                items = items_of(self.value(each.value))
                found += [UNKNOWN] if items is None else items
            else:
                found.append(self.value(each))
        return found

    def table(self, keys: Sequence[ast.expr | None], values: Sequence[ast.expr]) -> dict[str, Any]:
        """Give a dict display; a key that is not known is `**`."""
        found: dict[str, Any] = {}
        for key, value in zip(keys, values, strict=True):
            result = self.value(value)
            name = None if key is None else self.value(key)
            if key is None and isinstance(result, dict):
                found |= result
            else:
                found[name if isinstance(name, str) else "**"] = result
        if "sources" in found and isinstance(found["sources"], list):
            # `libraries=[("name", {"sources": [...]})]`: linked into any of the modules.
            self.unnamed_sources(found["sources"])
        return found

    def item(self, holder: Any, index: ast.expr) -> Any:  # noqa: ANN401 - any value of a setup.py
        """Give `holder[index]`."""
        if isinstance(index, ast.Slice):
            return holder
        if isinstance(holder, dict):
            key = self.value(index)
            return holder.get(key, UNKNOWN) if isinstance(key, str) else UNKNOWN
        if isinstance(holder, list):
            position = index.value if isinstance(index, ast.Constant) else None
            if isinstance(position, int) and position < len(holder):
                return holder[position]
            return Choice(tuple(holder)) if holder else UNKNOWN
        return UNKNOWN

    def attribute(self, holder: ast.expr, name: str) -> Any:  # noqa: ANN401 - any value of a setup.py
        """Give `holder.name`."""
        if name in {"sep", "altsep"}:
            return "/"
        value = self.value(holder)
        if isinstance(value, BuiltExtension):
            return value.sources if name == "sources" else UNKNOWN
        if name == "parent":
            return product([value], lambda it: posixpath.dirname(it[0]) or ".")
        if name == "name" and not isinstance(value, Unknown):
            return product([value], lambda it: posixpath.basename(it[0]))
        if name == "stem":
            return product([value], lambda it: stem_of(posixpath.basename(it[0])))
        return UNKNOWN

    # --- calls

    def call(self, node: ast.Call) -> Any:  # noqa: ANN401 - any value of a setup.py
        """Give what a call returns."""
        name = callee(node)
        self.state.seen.add(node)
        arguments = self.listed(node.args)
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value)
            if keyword.arg is None:
                keywords |= value if isinstance(value, dict) else {"**": value}
            else:
                keywords[keyword.arg] = value
        if isinstance(node.func, ast.Name):
            function = self.names.get(node.func.id)
            if isinstance(function, Function):
                return self.call_function(function, arguments, keywords)
        if _CONSTRUCTOR.search(name):
            return self.construct(node, name, arguments, keywords)
        if name == "cythonize":
            return self.cythonize(node, arguments, keywords)
        if name == "setup":
            self.check_setup(node, keywords)
            return None
        holder = self.value(node.func.value) if isinstance(node.func, ast.Attribute) else None
        return self.library(name, holder, arguments)

    def call_function(
        self,
        function: Function,
        arguments: Sequence[Any],
        keywords: dict[str, Any],
    ) -> Any:  # noqa: ANN401 - any value of a setup.py
        """Run a function of the file itself."""
        function.called = True
        if self.depth >= _DEEPEST:
            return UNKNOWN
        outer, outer_returned = self.names, self.returned
        given = function.node.args
        parameters = [it.arg for it in (*given.posonlyargs, *given.args)]
        defaults = dict(zip(parameters[::-1], given.defaults[::-1], strict=False))
        local = {it: self.value(defaults[it]) for it in parameters if it in defaults}
        local |= {it: UNKNOWN for it in parameters if it not in local}
        local |= {it.arg: UNKNOWN for it in given.kwonlyargs}
        for extra in (given.vararg, given.kwarg):
            if extra is not None:
                local[extra.arg] = UNKNOWN
        local |= dict(zip(parameters, arguments, strict=False)) | keywords
        self.names, self.returned = outer | local, []
        self.depth += 1
        try:
            self.run(function.node.body)
            found = self.returned or [None]
        finally:
            self.depth -= 1
            self.names, self.returned = outer, outer_returned
        result = found[0]
        for each in found[1:]:
            result = join_values(result, each)
        return result

    def construct(
        self,
        node: ast.Call,
        constructor: str,
        arguments: Sequence[Any],
        keywords: dict[str, Any],
    ) -> Any:  # noqa: ANN401 - any value of a setup.py
        """Note an extension."""
        if constructor in _NOT_SOURCES:
            return None
        name = arguments[0] if arguments else keywords.get("name", UNKNOWN)
        names, known = flat(name)
        if not names or not known:
            self.problem(node, "the name of an extension cannot be told")
        sources = arguments[1] if len(arguments) > 1 else keywords.get("sources", UNKNOWN)
        built = BuiltExtension(
            names=[it for it in names if it not in {"*", ""}],
            sources=sources if isinstance(sources, list) else [sources],
            include_dirs=[keywords.get("include_dirs", [])],
            line=node.lineno,
        )
        if "*" in names:
            return self.cythonize(node, [built.sources], {})
        depends, _ = flat(keywords.get("depends", []))
        built.sources = [built.sources, depends] if depends else built.sources
        self.state.built.append(built)
        return built

    def cythonize(
        self, node: ast.Call, arguments: Sequence[Any], keywords: dict[str, Any]
    ) -> list[Any]:
        """Note the modules that Cython's `cythonize` makes of patterns; extensions are passed through."""
        given = arguments[0] if arguments else keywords.get("module_list", UNKNOWN)
        found: list[Any] = []
        for each in items_of(given) or list(choices_of(given)):
            if isinstance(each, BuiltExtension):
                found.append(each)
                continue
            patterns, known = flat(each)
            if not known:
                self.problem(node, "what cythonize is given cannot be told")
            for path in [it for pattern in patterns for it in self.globbed(pattern)]:
                built = BuiltExtension([self.cython_name(path)], [path], [], node.lineno)
                self.state.built.append(built)
                found.append(built)
        return found

    def cython_name(self, path: str) -> str:
        """Name a module as Cython does: by the packages that its source lies in."""
        folder, name = posixpath.split(posixpath.normpath(path))
        parts = [stem_of(name)]
        while folder and any(
            posixpath.join(folder, f"__init__{end}") in self.paths
            for end in (".py", ".pyx", ".pxd")
        ):
            folder, name = posixpath.split(folder)
            parts.insert(0, name)
        return ".".join(parts)

    def check_setup(self, node: ast.Call, keywords: dict[str, Any]) -> None:
        """See whether `setup()` gets modules that were not seen made."""
        for name in ("ext_modules", "**"):
            for each in choices_of(keywords.get(name, [])):
                if not _seen(each):
                    self.problem(node, "the modules that setup() is given cannot be told")
        if keywords.get("cffi_modules"):
            self.problem(node, "cffi makes a module that cannot be told")

    def library(self, name: str, holder: Any, arguments: Sequence[Any]) -> Any:  # noqa: ANN401, PLR0911 - one case for each function
        """Give what the functions of the standard library return that build files use."""
        if name in {"append", "extend", "insert", "add", "update"}:
            return self.change(name, holder, arguments)
        if name in {"glob", "iglob", "rglob"}:
            return self.glob(name, holder, arguments)
        if name in {"items", "values", "keys"} and isinstance(holder, dict):
            pairs = [[key, value] for key, value in holder.items()]
            columns = {"items": pairs, "values": list(holder.values()), "keys": list(holder)}
            return columns[name]
        if name == "get":
            if isinstance(holder, dict) and arguments and isinstance(arguments[0], str):
                return holder.get(arguments[0], arguments[1] if len(arguments) > 1 else None)
            return arguments[1] if len(arguments) > 1 else UNKNOWN
        if name == "zip":
            columns_ = [items_of(it) for it in arguments]
            known = [it for it in columns_ if it is not None]
            return (
                [list(row) for row in zip(*known, strict=False)]
                if len(known) == len(columns_)
                else UNKNOWN
            )
        if name == "enumerate" and arguments:
            items = items_of(arguments[0])
            return UNKNOWN if items is None else [[UNKNOWN, it] for it in items]
        if name == "listdir" and arguments:
            folders, known_ = flat(arguments[0])
            return [
                posixpath.basename(it) for one in folders for it in self.globbed(f"{one}/*")
            ] + ([] if known_ else [UNKNOWN])
        if name == "join" and isinstance(holder, str):
            items = items_of(arguments[0]) if arguments else None
            return UNKNOWN if items is None else product(items, holder.join)
        return of_strings(name, holder, arguments)

    def change(self, name: str, holder: Any, arguments: Sequence[Any]) -> None:  # noqa: ANN401 - any value
        """Change a list or a dict in place."""
        if not arguments:
            return
        for each in choices_of(holder):
            if isinstance(each, list):
                if name in {"extend", "update"}:
                    items = items_of(arguments[-1])
                    each.extend([UNKNOWN] if items is None else list(items))
                else:
                    each.append(arguments[-1])
            elif isinstance(each, dict):
                each.update(arguments[-1] if isinstance(arguments[-1], dict) else {"**": UNKNOWN})

    def glob(self, name: str, holder: Any, arguments: Sequence[Any]) -> list[Any]:  # noqa: ANN401 - any value
        """Give the paths that match."""
        patterns, known = flat(arguments[0] if arguments else UNKNOWN)
        folders = flat(holder)[0] if isinstance(holder, str | Choice) else []
        if name == "rglob":
            patterns = [f"**/{it}" for it in patterns]
        if folders:
            patterns = [posixpath.join(one, it) for one in folders for it in patterns]
        found: list[Any] = [path for pattern in patterns for path in self.globbed(pattern)]
        return found if known else [*found, UNKNOWN]

    def globbed(self, pattern: str) -> list[str]:
        """Give the paths below the file's folder that match a pattern, relative to it."""
        if not re.search(r"[*?\[]", pattern):
            return [pattern]
        folder = posixpath.dirname(self.path)
        found = matching(self.paths, folder, pattern)
        return [posixpath.relpath(it, folder or ".") for it in found]


def _seen(value: object) -> bool:
    if isinstance(value, list):
        return all(_seen(it) for each in value for it in choices_of(each))
    if isinstance(value, dict):
        return "**" not in value and _seen(value.get("ext_modules", []))
    return value is None or isinstance(value, BuiltExtension)


def _sets_sources(targets: Sequence[ast.expr]) -> bool:
    return any(isinstance(it, ast.Attribute) and it.attr == "sources" for it in targets)


def _mentions_sources(value: ast.expr) -> bool:
    return _sets_sources([it for it in ast.walk(value) if isinstance(it, ast.Attribute)])
