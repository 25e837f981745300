"""Where names occur in the files of a tree, and what a name in one file stands for in the others."""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from presubmit.selector.element import MODULE, Element, ElementKind, Shape
from presubmit.selector.known import believes, is_plain_base, is_pure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from presubmit.selector.imports import Imports
    from presubmit.selector.layout import Layout

Node = tuple[str, str]
"""A path and a qualified name there: of an element, an alias or a name that an import binds."""

EXAMPLES: Final = "<examples>"
"""The qualified name of what the doctests of a file run."""
_DEEPEST: Final = 12


class Use(NamedTuple):
    """One place where a name occurs."""

    user: str
    """The element (or alias) that uses it."""
    head: bool
    """It is used where the user is defined, not where it runs."""
    text: str
    """The use as `Element` writes it."""


class NameIndex:
    """Looks names up in the shapes of files; what it needs of a file is worked out when it is asked for."""

    def __init__(
        self, shapes: Mapping[str, Shape], layout: Layout, imports: Mapping[str, Imports]
    ) -> None:
        self.shapes = shapes
        self.layout = layout
        self.imports = imports
        self._elements: dict[str, dict[str, Element]] = {}
        self._uses: dict[str, dict[str, list[Use]]] = {}
        self._bindings: dict[str, dict[str, list[str]]] = {}
        self._aliases: dict[str, dict[str, tuple[str, ...]]] = {}
        self._resolved: dict[tuple[str, str], tuple[frozenset[str], bool]] = {}
        self._by_module: dict[str, list[str]] = defaultdict(list)
        self._parts: set[str] = set()
        self._believed: dict[tuple[str, str], bool] = {}
        self._importers: dict[str, list[Node]] | None = None
        for path, names in layout.names.items():
            for name in names:
                self._by_module[name].append(path)
                self._parts.update(name.split("."))
        self.files: dict[str, list[str]] = defaultdict(list)
        """For each name, the files in which it occurs."""
        self.patterns: dict[str, list[str]] = {}
        """The same for names of which only a part is known."""
        for path, shape in shapes.items():
            for name in shape.names or _names(shape):
                self.files[name].append(path)
        for name in self.files:
            if "*" in name:
                self.patterns[name] = self.files[name]
        self.stars = [path for path, shape in shapes.items() if shape.stars]

    # --- one file -------------------------------------------------------------------------------------------------

    def elements(self, path: str) -> dict[str, Element]:
        """Give the elements of a file by qualified name."""
        found = self._elements.get(path)
        if found is None:
            shape = self.shapes.get(path)
            found = {} if shape is None else {it.qualname: it for it in shape.elements}
            self._elements[path] = found
        return found

    def aliases(self, path: str) -> dict[str, tuple[str, ...]]:
        """Give the names that a file assigns, and what their values use."""
        found = self._aliases.get(path)
        if found is None:
            shape = self.shapes.get(path)
            found = {} if shape is None else dict(shape.aliases)
            self._aliases[path] = found
        return found

    def bindings(self, path: str) -> dict[str, list[str]]:
        """Give what the imports of a file bind: `pkg.mod:f` or `pkg.mod`."""
        found = self._bindings.get(path)
        if found is None:
            found = {}
            shape = self.shapes.get(path)
            for alias, target in shape.imports if shape is not None else ():
                found.setdefault(alias, []).append(target)
            self._bindings[path] = found
        return found

    def uses(self, path: str, name: str) -> list[Use]:
        """Give the places in a file where a name occurs."""
        found = self._uses.get(path)
        if found is None:
            found = self._uses[path] = defaultdict(list)
            for use in _all_uses(self.shapes[path]):
                for part in use.text.split("."):
                    if part:
                        found[part].append(use)
        return found.get(name, [])

    def defines(self, path: str, name: str) -> bool:
        """Tell whether a module-level name is bound in a file by anything but a star."""
        return (
            name in self.elements(path)
            or name in self.bindings(path)
            or name in self.aliases(path)
        )

    def executes(self, path: str) -> bool:
        """Tell whether a file runs code that it builds."""
        return any("exec" in it.dynamic for it in self.shapes[path].elements)

    # --- modules --------------------------------------------------------------------------------------------------

    def resolve(self, path: str, module: str) -> tuple[frozenset[str], bool]:
        """Give the files that a module name in a file stands for, and whether it may be the project's at all."""
        key = (path, module) if module.startswith(".") else ("", module)
        found = self._resolved.get(key)
        if found is None:
            names = self._absolute(path, module)
            paths = frozenset(it for name in names for it in self._by_module.get(name, ()))
            own = bool(paths) or any(self._may_be_own(name) for name in names)
            found = self._resolved[key] = (paths, own)
        return found

    def _may_be_own(self, name: str) -> bool:
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names:
            return top in self._by_module
        return not top or top in self._parts

    def _absolute(self, path: str, module: str) -> list[str]:
        level = len(module) - len(module.lstrip("."))
        if not level:
            return [module]
        rest = module[level:]
        found = []
        for name in self.layout.names.get(path, ()):
            parts = name.split(".")
            if not path.endswith("/__init__.py"):
                parts = parts[:-1]
            parts = parts[: max(0, len(parts) - level + 1)]
            found.append(".".join([*parts, rest] if rest else parts))
        return found

    def modules(self, path: str, target: str) -> frozenset[str]:
        """Give the files that a binding stands for, where it binds a module."""
        module, _, name = target.partition(":")
        if not name:
            return self.resolve(path, module)[0]
        joined = f"{module}{name}" if module.endswith(".") else f"{module}.{name}"
        return self.resolve(path, joined)[0]

    def below(self, prefix: str) -> Iterator[str]:
        """Give the files of the modules whose names start with a text."""
        for name, paths in self._by_module.items():
            if name.startswith(prefix):
                yield from paths

    def importers_of(self, path: str) -> list[Node]:
        """Give the names in all files that imports bind to the module of a file."""
        if self._importers is None:
            self._importers = defaultdict(list)
            for user_path, shape in self.shapes.items():
                for alias, target in shape.imports:
                    for module in self.modules(user_path, target):
                        self._importers[module].append((user_path, alias))
        return self._importers.get(path, [])

    def is_external(self, path: str, name: str) -> bool:
        """Tell whether a name of a file is bound, and only to what is not of the project."""
        if name in self.elements(path) or name in self.aliases(path):
            return False
        targets = self.bindings(path).get(name)
        return bool(targets) and not any(
            self.resolve(path, target.partition(":")[0])[1] for target in targets or ()
        )

    def is_stdlib(self, path: str, dotted: str) -> bool:
        """Tell whether a name of a file is bound, and only to what the standard library has."""
        root = dotted.partition(".")[0]
        if not self.is_external(path, root):
            return False
        tops = {it.partition(":")[0].partition(".")[0] for it in self.bindings(path)[root]}
        return tops <= sys.stdlib_module_names

    def is_pure(self, path: str, decorator: str) -> bool:
        """Tell whether a decorator neither calls nor keeps for others what it decorates."""
        return is_pure(decorator) and self.is_believed(path, decorator)

    def is_plain_base(self, path: str, base: str) -> bool:
        """Tell whether a base is one whose code calls only a subclass's dunders."""
        return is_plain_base(base) and self.is_believed(path, base.rpartition("=")[2])

    def is_believed(self, path: str, dotted: str) -> bool:
        """Tell whether a known name is what it is known for: no file of the project made it."""
        key = (path, dotted)
        if key not in self._believed:
            self._believed[key] = False
            self._believed[key] = self._is_believed(path, dotted)
        return self._believed[key]

    def _is_believed(self, path: str, dotted: str) -> bool:
        root, _, rest = dotted.partition(".")
        if rest in {"setter", "getter", "deleter"}:
            return True
        for here, name in self.origins(path, root):
            if name in self.elements(here):
                return False
            used = self.aliases(here).get(name, ())
            if not all(self.is_believed(here, it) for it in used if it[0] not in ".="):
                return False
            for target in self.bindings(here).get(name, ()):
                if rest and here == path and self.modules(here, target):
                    return False
                module = target.partition(":")[0]
                if self.resolve(here, module)[1]:
                    continue
                if rest and not believes(module):
                    return False
        return True

    def is_module(self, path: str, name: str) -> bool:
        """Tell whether a name of a file is bound to modules only."""
        if name in self.elements(path) or name in self.aliases(path):
            return False
        targets = self.bindings(path).get(name, [])
        return bool(targets) and all(":" not in it or self.modules(path, it) for it in targets)

    # --- definitions ----------------------------------------------------------------------------------------------

    def lookup(self, path: str, dotted: str) -> set[Node]:
        """Find the elements that a dotted name in a file stands for; none where that is not known."""
        return set(self._lookup(path, dotted, set()))

    def _lookup(  # noqa: C901 - one kind of binding after the other
        self, path: str, dotted: str, seen: set[Node]
    ) -> Iterator[Node]:
        if (path, dotted) in seen or len(seen) > _DEEPEST * _DEEPEST:
            return
        seen.add((path, dotted))
        if dotted in self.elements(path):
            yield path, dotted
            return
        root, _, rest = dotted.partition(".")
        used = self.aliases(path).get(root)
        if used is not None and len(used) == 1 and used[0][:1] not in {".", "="}:
            yield from self._lookup(path, f"{used[0]}.{rest}".rstrip("."), seen)
        for target in self.bindings(path).get(root, ()):
            module, _, name = target.partition(":")
            if rest:
                for it in self.modules(path, target):
                    yield from self._lookup(it, rest, seen)
            if name:
                for it in self.resolve(path, module)[0]:
                    yield from self._lookup(it, f"{name}.{rest}".rstrip("."), seen)
        shape = self.shapes.get(path)
        for star in shape.stars if shape is not None else ():
            for it in self.resolve(path, star)[0]:
                yield from self._lookup(it, dotted, seen)

    def origins(self, path: str, name: str) -> set[Node]:
        """Follow a module-level name through imports: every name that it has on the way, the first included."""
        found: set[Node] = set()
        stack = [(path, name)]
        while stack:
            node = stack.pop()
            if node in found:
                continue
            found.add(node)
            here, known = node
            for target in self.bindings(here).get(known, ()):
                module, _, source = target.partition(":")
                stack.extend((it, source) for it in self.resolve(here, module)[0] if source)
            shape = self.shapes.get(here)
            if shape is not None and not self.defines(here, known):
                for star in shape.stars:
                    stack.extend((it, known) for it in self.resolve(here, star)[0])
        return found

    def members(self, path: str, qualname: str) -> Iterator[Element]:
        """Give what a class defines itself, at any depth."""
        for name, element in self.elements(path).items():
            if name.startswith(f"{qualname}."):
                yield element

    def classes(self, path: str) -> Iterator[Element]:
        """Give the classes of a file."""
        return (it for it in self.elements(path).values() if it.kind is ElementKind.CLASS)


def _all_uses(shape: Shape) -> Iterator[Use]:
    for element in shape.elements:
        user = EXAMPLES if element.qualname == MODULE else element.qualname
        for text in element.uses:
            yield Use(user, head=False, text=text)
        for text in element.head_uses:
            yield Use(element.qualname, head=True, text=text)
    for alias, used in shape.aliases:
        for text in used:
            yield Use(alias, head=False, text=text)


def _names(shape: Shape) -> set[str]:
    """Give the names of a shape that was not read from a source."""
    found = {alias for alias, _ in shape.imports}
    found.update(target.rpartition(":")[2] for _, target in shape.imports)
    for used in (
        *((*it.uses, *it.head_uses) for it in shape.elements),
        *(used for _, used in shape.aliases),
    ):
        for text in used:
            found.update(text.split("."))
    return found - {""}
