"""From changed native files to the extension modules, the names in them and the Python files that import them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from presubmit.selector.native.values import NativeMap, NativeReach

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from presubmit.selector.imports import Imports
    from presubmit.selector.native.elements import Source


def native_reach(
    changed: Mapping[str, tuple[bytes | None, bytes | None]],
    found: NativeMap,
    texts: Callable[[str], bytes | None],
) -> dict[str, NativeReach]:
    """Say for each changed native file (base and head text; None: absent there) what it can touch.

    `texts` gives the head's files. A file that no module is built from is unsure: all tests.
    """
    known: dict[str, Source] = {}
    return {path: _reach_of(path, changed, found, texts, known) for path in changed}


def _reach_of(
    path: str,
    changed: Mapping[str, tuple[bytes | None, bytes | None]],
    found: NativeMap,
    texts: Callable[[str], bytes | None],
    known: dict[str, Source],
) -> NativeReach:
    # Reading C takes long to load, and `importers` is asked without it.
    from presubmit.selector.native.bound import bound_names, is_quiet  # noqa: PLC0415

    base, head = changed[path]
    if is_quiet(path, base, head):
        return NativeReach(modules=(), names=(), chain=(path,))
    chains = owners(path, found)
    if found.unsure:
        return NativeReach(modules=tuple(chains), chain=(path,), unsure=found.unsure[0])
    if not chains and not found.open:
        return NativeReach(
            modules=(),
            chain=(path,),
            unsure=f"no extension module is known to be built from {path}",
        )
    direct = list(dict.fromkeys([*chains, *found.open]))
    modules = dependents(direct, found)
    first = direct[0]
    chain = chains.get(first, (path, first))
    whole = ""
    if len(modules) > len(direct):
        whole = f"{modules[len(direct)]} uses {direct[0]} from native code"
    elif found.open:
        whole = f"not all sources of {found.open[0]} are known"
    names: dict[str, None] = {}
    for module in direct if not whole else ():
        edit = {path: changed[path]}
        bound = bound_names(edit, found.modules.get(module, ()), _head(changed, texts), known)
        if bound.names is None:
            whole = bound.why
            break
        if not bound.names:
            whole = f"{path} changed in a way that was not seen in {module}"
            break
        names |= dict.fromkeys(bound.names)
        if module == first:
            chain = (*chain, *bound.chain)
    return NativeReach(
        modules=modules,
        names=None if whole else tuple(names),
        chain=chain,
        why_whole=whole,
    )


def _head(
    changed: Mapping[str, tuple[bytes | None, bytes | None]],
    texts: Callable[[str], bytes | None],
) -> Callable[[str], bytes | None]:
    return lambda path: changed[path][1] if path in changed else texts(path)


def owners(path: str, found: NativeMap) -> dict[str, tuple[str, ...]]:
    """Give the modules that a file is built into, each with a shortest chain of includes."""
    before: dict[str, str] = {}
    queue = deque([path])
    seen = {path}
    modules: dict[str, tuple[str, ...]] = {}
    while queue:
        node = queue.popleft()
        for module in found.claims.get(node, ()):
            if module not in modules:
                modules[module] = (*_back(node, before), module)
        for user in found.included_by.get(node, ()):
            if user not in seen:
                seen.add(user)
                before[user] = node
                queue.append(user)
    return modules


def _back(node: str, before: Mapping[str, str]) -> tuple[str, ...]:
    chain = [node]
    while chain[-1] in before:
        chain.append(before[chain[-1]])
    return tuple(reversed(chain))


def dependents(modules: Iterable[str], found: NativeMap) -> tuple[str, ...]:
    """Give some modules and all that use them from native code, the given ones first."""
    seen = dict.fromkeys(modules)
    stack = list(seen)
    while stack:
        for user in found.used_by.get(stack.pop(), ()):
            if user not in seen:
                seen[user] = None
                stack.append(user)
    return tuple(seen)


def importers(module: str, imports: Mapping[str, Imports]) -> tuple[str, ...]:
    """Give the Python files that import (or may import) an extension module by its name."""
    return tuple(path for path, value in imports.items() if _imports(module, value))


def _imports(module: str, value: Imports) -> bool:
    if value.problem or value.dynamic:
        return True
    written = (*value.names, *value.stars, *value.strings, *value.plugins)
    if any(is_name_of(module, name) for name in written):
        return True
    parent, _, tail = module.rpartition(".")
    if tail in value.words:
        return True
    return any(
        not parent or is_name_of(parent, prefix.rstrip(".")) or module.startswith(prefix)
        for prefix in value.prefixes
    )


def is_name_of(module: str, name: str) -> bool:
    """Tell whether a dotted name means a module or something in it, whatever folder (`src.`) either starts at."""
    wanted = module.split(".")
    parts = name.split(".")
    for at, part in enumerate(parts):
        if part == wanted[-1]:
            before = zip(reversed(parts[:at]), reversed(wanted[:-1]), strict=False)
            if all(one == two for one, two in before):
                return True
    return False


def modules_importing(names: Collection[str], found: NativeMap) -> tuple[str, ...]:
    """Give the extension modules whose native code imports one of these dotted names (a Python file's)."""
    direct = [
        module
        for module, imported in found.imports.items()
        if any(is_name_of(name, it) for name in names for it in imported)
    ]
    return dependents(direct, found)
