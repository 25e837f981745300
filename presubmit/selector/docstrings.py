"""Which tests may see that a docstring changed: those that run code which reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from presubmit.selector.element import MODULE, Element, ElementKind, Shape
from presubmit.selector.known import AUTOUSE, believes, is_plain_base, is_pure
from presubmit.selector.layout import is_python
from presubmit.selector.narrow import follow

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from presubmit.selector.narrow import Chain, MakeNames
    from presubmit.selector.scene import Scene

_DOC: Final = "__doc__"
_CALLS: Final = frozenset({"getdoc", "help", "pydoc", "render_doc"})
_PAGES: Final = frozenset({"help", "pydoc", "render_doc"})
"""Those that show all that a module or a class has."""
_DOCTEST: Final = frozenset({"doctest", "DocTestFinder", "testmod", "DocTestSuite"})
_LOOKS: Final = frozenset({"members", "imports"})
"""How an element gets at all that there is."""
_FRAMEWORKS: Final = frozenset(
    {"click", "rich_click", "asyncclick", "typer", "cyclopts", "fastapi", "invoke", "fire", "mcp"}
)
"""Distributions that make help or schemas out of docstrings."""
_TAKERS: Final = frozenset(
    {"command", "group", "callback", "run", "Fire", "tool", "add_api_route"}
)
"""What of theirs gets functions to do so."""
_DESCRIBED: Final = frozenset(
    {"cmd", "pydantic", "msgspec", "graphene", "traitlets", "strawberry", "sqlmodel"}
)
"""Modules whose base classes show the docstrings of what is derived from them."""


_FIXTURES: Final = frozenset(
    {
        "capsys",
        "caplog",
        "monkeypatch",
        "recwarn",
        "tmp_path",
        "tmp_path_factory",
        "tmpdir",
        "self",
    }
)
"""Fixtures of pytest that give no object of the project."""


class Reader(NamedTuple):
    """An element that reads docstrings."""

    path: str
    qualname: str
    subjects: frozenset[str] = frozenset()
    """The names that it reads them of; none: it reads those of objects that it is given."""
    pages: bool = False
    """It reads those of all that such an object has."""


def docstring_tests(scene: Scene, make_names: MakeNames | None) -> Iterator[tuple[str, Chain]]:
    """Give the tests that may see another docstring, with the chain from its file to them."""
    for path, difference in scene.differences.items():
        if not difference.docstrings:
            continue
        chains = scene.graph.reach([path])
        tests = frozenset(it for it in scene.layout.tests if it in chains)
        found = _seeing(scene, path, difference.docstrings, tests, make_names) if tests else ()
        for test in scene.layout.tests:
            if test in found:
                yield test, chains[test]


def _seeing(
    scene: Scene,
    path: str,
    qualnames: tuple[str, ...],
    tests: frozenset[str],
    make_names: MakeNames | None,
) -> set[str]:
    """Give those of the tests that depend on a file which may see other docstrings of some of its definitions."""
    needed = {path, *scene.graph.reached_from(tests)}
    wanted = {path, *(it for it in needed if _may_read(scene, it))}
    shapes = scene.tree.shapes(wanted)
    head = shapes.get(path)
    if head is None or head.problem:
        return set(tests)
    found, named, given = _look(scene, path, qualnames, wanted, shapes)
    found |= _running(scene, named, make_names, tests)
    readers = _running(scene, given, make_names, tests) & tests
    if readers - found:
        # An object whose docstring is read must be at hand where the reader runs.
        found |= readers & _running(scene, {path: set(qualnames)}, make_names, readers)
    return found & tests


Starts = dict[str, set[str]]


def _look(
    scene: Scene,
    path: str,
    qualnames: tuple[str, ...],
    wanted: Iterable[str],
    shapes: Mapping[str, Shape],
) -> tuple[set[str], Starts, Starts]:
    """Give tests that read the docstrings, the elements that show them, and those that show what they are given."""
    elements = {it.qualname: it for it in shapes[path].elements}
    shown = {it for it in qualnames if _is_shown(elements[it], shapes[path], scene)}
    found: set[str] = set()
    named: Starts = {path: shown}
    given: Starts = {}
    known = _known(shapes, scene)
    for where in sorted(wanted):
        shape = shapes.get(where)
        if shape is None or shape.problem:
            found |= _importing(scene, where)
            continue
        is_test = where in scene.graph.tests
        readers = tuple(_readers(where, shape, known))
        if is_test and _test_reads(shape, qualnames, readers, own=where == path):
            found.add(where)
        for reader in readers:
            if any(_is_read(it, reader, elements, path, scene) for it in qualnames) or (
                reader.pages and not is_test
            ):
                named.setdefault(where, set()).add(reader.qualname)
            elif not reader.subjects and not is_test:
                given.setdefault(where, set()).add(reader.qualname)
    return found, named, given


def _may_read(scene: Scene, path: str) -> bool:
    """Tell whether a file may have code that reads docstrings."""
    if path not in scene.layout.names or path in scene.gone or not is_python(path):
        return False
    value = scene.imports.get(path)
    if value is None or value.problem or value.documents:
        return True
    return any(it.partition(".")[0] in _FRAMEWORKS for it in value.names)


def _importing(scene: Scene, path: str) -> set[str]:
    return {it for it in scene.graph.reach([path]) if it in scene.graph.tests}


def _running(
    scene: Scene,
    starts: Mapping[str, Collection[str]],
    make_names: MakeNames | None,
    tests: Collection[str],
) -> set[str]:
    """Give the tests that may run some elements; it ends where it has all those that are asked for."""
    found: set[str] = set()
    for path, names in starts.items():
        # One by one: what runs at import would widen what is said of the others.
        for name in sorted(names):
            if found.issuperset(tests):
                return found
            led = follow(scene, {path: (name,)}, make_names)
            found.update(led.chains, led.imported)
            if not led.left:
                break  # all that depend on the file are in already
    return found


# --- who reads ----------------------------------------------------------------------------------------------------


def _known(shapes: Mapping[str, Shape], scene: Scene) -> frozenset[str]:
    """Give the names of all definitions and modules."""
    return frozenset(
        {
            *("self", MODULE),
            *(it.qualname.rpartition(".")[2] for one in shapes.values() for it in one.elements),
            *(name.rpartition(".")[2] for it in scene.layout.names.values() for name in it),
        }
    )


def _readers(path: str, shape: Shape, known: Collection[str]) -> Iterator[Reader]:
    """Give the elements of a file that read docstrings."""
    bindings = dict(shape.imports)
    for element in shape.elements:
        subjects = {_subject(use, element.kind, bindings) for use in _used(element)} - {None}
        for reader in _of_subjects(path, element.qualname, subjects, known, bindings):
            yield reader._replace(pages=not reader.subjects and _shows_pages(element, bindings))
    for _, used in shape.aliases:
        subjects = {_subject(use, ElementKind.MODULE, bindings) for use in used} - {None}
        yield from _of_subjects(path, MODULE, subjects, known, bindings)
    if any(target.rpartition(":")[2] == _DOC for _, target in shape.imports):
        yield Reader(path, MODULE, frozenset({MODULE}))


def _of_subjects(
    path: str,
    qualname: str,
    subjects: Collection[str | None],
    known: Collection[str],
    bindings: Mapping[str, str],
) -> Iterator[Reader]:
    """Tell what an element reads by name from what it is given, or gets by a variable's name."""
    names: set[str] = set()
    given = False
    for subject in subjects:
        if not subject:
            given = True
            continue
        target = bindings.get(subject, "").rpartition(":")[2].rpartition(".")[2]
        names |= {subject, target} - {""}
        given |= subject not in known and target not in known
    if names:
        yield Reader(path, qualname, frozenset(names))
    if given:
        yield Reader(path, qualname)


def _shows_pages(element: Element, bindings: Mapping[str, str]) -> bool:
    parts = [it.split(".") for it in (*element.uses, *element.head_uses) if it[0] not in ".="]
    names = {it for one in parts for it in one}
    return not _PAGES.isdisjoint(names | {_imported(one[0], bindings) for one in parts})


def _imported(name: str, bindings: Mapping[str, str]) -> str:
    """Give what a name of `pydoc`, `inspect` or `doctest` is called there."""
    module, _, known = bindings.get(name, "").partition(":")
    return known or module if module in {"pydoc", "inspect", "doctest"} else ""


def _used(element: Element) -> Iterator[str]:
    yield from element.uses
    if element.kind in {ElementKind.MODULE, ElementKind.CLASS}:
        yield from element.head_uses
        return
    # A decorator is handed the function below it alone: `_is_shown` looks at these.
    for use in element.head_uses:
        if use.rpartition(".")[2] == _DOC:
            yield use


def _subject(use: str, kind: ElementKind, bindings: Mapping[str, str]) -> str | None:
    """Give the name of which a use reads the docstring; empty: of any object; None: it reads none."""
    parts = use.lstrip("=").split(".")
    if parts[0] == _DOC:
        return MODULE if kind is not ElementKind.CLASS else "self"
    if _DOC in parts[1:]:
        return parts[parts.index(_DOC, 1) - 1]
    taken = bindings.get(parts[0], "").partition(":")[0].partition(".")[0] in _FRAMEWORKS
    if taken:
        name = parts[-1] if len(parts) > 1 else bindings[parts[0]].rpartition(":")[2]
        return "" if name in _TAKERS else None
    if parts[0] == "self" or parts == ["", "help"]:
        return None
    words = _CALLS | _DOCTEST if parts[0] != "" else _CALLS - {"help"}
    return "" if not words.isdisjoint([*parts, _imported(parts[0], bindings)]) else None


def _is_read(
    qualname: str, reader: Reader, elements: Mapping[str, Element], path: str, scene: Scene
) -> bool:
    """Tell whether a reader names a definition of `path`."""
    kind = elements[qualname].kind
    if qualname == MODULE:
        if reader.path == path and MODULE in reader.subjects:
            return True
        names = {it.rpartition(".")[2] for it in scene.layout.names.get(path, ())}
        imports = MODULE in reader.subjects and reader.qualname == MODULE
        return not names.isdisjoint(reader.subjects) or imports
    if qualname.rpartition(".")[2] in reader.subjects:
        return True
    if kind is not ElementKind.CLASS or "self" not in reader.subjects:
        return False
    owner = reader.qualname.rpartition(".")[0] or reader.qualname
    if reader.path == path and owner == qualname:
        return True
    # A base, or a metaclass, may read the docstrings of what is derived from it.
    derived = any(not is_plain_base(it) for it in elements[qualname].bases)
    return derived and (reader.path == path or reader.path in scene.graph.reached_from([path]))


# --- frameworks ---------------------------------------------------------------------------------------------------


def _is_shown(element: Element, shape: Shape, scene: Scene) -> bool:
    """Tell whether a decorator or a base from outside of the project may show a definition's docstring."""
    bindings = dict(shape.imports)
    if any(_shows(it, bindings, shape, scene) for it in element.decorators):
        return True
    if element.kind is ElementKind.CLASS:
        return _describes(element.bases, shape, bindings, set())
    owner = element.qualname.rpartition(".")[0]
    around = next((it for it in shape.elements if owner and it.qualname == owner), None)
    return around is not None and any(it.rpartition(".")[2] == "Cmd" for it in around.bases)


def _describes(
    bases: Iterable[str], shape: Shape, bindings: Mapping[str, str], seen: set[str]
) -> bool:
    """Tell whether a base, or one of those above it in the file, is of a module that shows docstrings."""
    elements = {it.qualname: it for it in shape.elements}
    for base in bases:
        root = base.rpartition("=")[2].partition(".")[0]
        if bindings.get(root, "").partition(":")[0].partition(".")[0] in _DESCRIBED:
            return True
        # A base of another file of the project may be derived from one.
        if bindings.get(root, "").startswith(".") and not is_plain_base(base):
            return True
        if base in elements and base not in seen:
            seen.add(base)
            if _describes(elements[base].bases, shape, bindings, seen):
                return True
    return False


def _shows(decorator: str, bindings: Mapping[str, str], shape: Shape, scene: Scene) -> bool:
    """Tell whether a decorator may turn a docstring into behaviour, as click and typer do.

    Those that do belong to other distributions, or to objects of theirs: `click.command`, `app.command`.
    """
    root, _, rest = decorator.partition(".")
    module, _, name = bindings.get(root, "").partition(":")
    if module.partition(".")[0] in _FRAMEWORKS:
        return True
    defined = any(it.qualname == root for it in shape.elements) or root in dict(shape.aliases)
    if is_pure(decorator) and (
        rest in {"setter", "getter", "deleter"}
        or (not defined and (not module or believes(module)))
    ):
        return False
    names = {known for it in scene.layout.names.values() for known in it}
    if module.startswith(".") or module in names:
        # A module's attribute is a decorator of the project's; an object's may be a framework's.
        inner = f"{module.lstrip('.')}.{name}"
        is_module = any(known == inner or known.endswith(f".{inner}") for known in names)
        return bool(rest and name) and not is_module
    return bool(module or rest) or root == "?"


# --- tests --------------------------------------------------------------------------------------------------------


def _test_reads(
    test: Shape, qualnames: Iterable[str], readers: Iterable[Reader], *, own: bool
) -> bool:
    """Tell whether a test file that does not read some docstrings by name reads them all the same.

    Of what it reads them is not known, but it must be at hand: the file names it, or gets all that there is.
    """
    if not _DOCTEST.isdisjoint(_words(test.elements)):
        return True
    readers = tuple(readers)
    given = {it.qualname for it in readers if not it.subjects}
    if not given:
        return False
    if any(it.pages for it in readers):
        return True
    near, words = _near(test, given)
    if own or any(it.qualname in given and _reads_all(it) for it in near):
        return True
    if any(it == MODULE or it.rpartition(".")[2] in words for it in qualnames):
        return True
    return bool(_others_fixtures(near, test))


def _near(test: Shape, starts: Collection[str]) -> tuple[list[Element], set[str]]:
    """Give the elements of a file that call some, set them up, or are called by all these: they give them objects.

    With all names that these use.
    """
    elements = {it.qualname: it for it in test.elements}
    aliases = dict(test.aliases)
    found = {it for it in starts if it in elements}
    size = -1
    while size < len(found):
        size = len(found)
        names = {it.rpartition(".")[2] for it in found}
        found |= {it.qualname for it in test.elements if names & set(_words([it]))}
    found |= {it.rpartition(".")[0] for it in found if "." in it}
    words: set[str] = set()
    size = -1
    while size < len(found):
        size = len(found)
        words |= set(_words(elements[it] for it in found if it in elements))
        words |= {
            it for name in words & set(aliases) for use in aliases[name] for it in use.split(".")
        }
        found |= {
            it for it in elements if it.rpartition(".")[2] in words or _sets_up(elements[it])
        }
    return [elements[it] for it in found if it in elements], words


def _sets_up(element: Element) -> bool:
    name = element.qualname.rpartition(".")[2].lower()
    return AUTOUSE in element.decorators or name.startswith("setup")


def _others_fixtures(elements: Iterable[Element], test: Shape) -> set[str]:
    """Give the fixtures that elements get and that neither the file nor pytest makes."""
    asked = {
        use[1:]
        for it in elements
        for use in it.uses
        if use[0] == "=" and f".{use[1:]}" not in it.head_uses
    }
    here = {it.qualname.rpartition(".")[2] for it in test.elements} | {
        it for it, _ in test.aliases
    }
    return asked - here - _FIXTURES


def _reads_all(element: Element) -> bool:
    """Tell whether an element gets at all that a module or a class has: `getattr(pkg, name)` of `pkg.__all__`."""
    if not _LOOKS.isdisjoint(element.dynamic):
        return True
    return "getattr" in element.dynamic and "__all__" in _words([element])


def _words(elements: Iterable[Element]) -> Iterator[str]:
    """Give every name in what elements use."""
    for element in elements:
        for use in (*element.uses, *element.head_uses):
            yield from use.lstrip("=").split(".")
