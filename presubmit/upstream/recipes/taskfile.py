"""What a project's own files say that a target or a script runs: Makefile, pyproject.toml, pixi.toml.

Sources: the GNU make manual, and the references of hatch, pdm, pixi, poe, taskipy and uv.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from presubmit.upstream.recipes.tables import quoted, read_toml, strings, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Read = Callable[[str], str | None]


def task(runner: str, name: str, read: Read) -> tuple[str, ...]:
    """Give the commands of a script that a manager's table names; empty where it is not there."""
    pyproject = table(read_toml(read("pyproject.toml")), "tool")
    environment, colon, script = name.partition(":")
    tables: list[dict[str, Any]] = []
    if runner == "hatch":
        named = table(pyproject, "hatch", "envs", environment if colon else "default", "scripts")
        return _task(named, script if colon else name)
    if runner == "pixi":
        pixi = read_toml(read("pixi.toml")) or table(pyproject, "pixi")
        features = [table(f, "tasks") for f in table(pixi, "feature").values()]
        tables = [table(pixi, "tasks"), *features]
    elif runner in {"pdm", "rye", "uv"}:
        tables = [table(pyproject, runner, "scripts")]
    elif runner == "poe":
        tables = [table(pyproject, "poe", "tasks")]
    elif runner == "task":
        tables = [table(pyproject, "taskipy", "tasks")]
    return next((found for scripts in tables if (found := _task(scripts, name))), ())


def named_groups(read: Read) -> tuple[str, ...]:
    """Give the names of the project's dependency groups."""
    return tuple(table(read_toml(read("pyproject.toml")), "dependency-groups"))


def default_groups(read: Read) -> tuple[str, ...]:
    """Give the groups that uv installs unasked: `[tool.uv] default-groups`, else `dev` where there is one."""
    pyproject = read_toml(read("pyproject.toml"))
    named = table(pyproject, "tool", "uv").get("default-groups", ["dev"])
    known = named_groups(read)
    return known if named == "all" else tuple(name for name in strings(named) if name in known)


def named_extras(read: Read) -> tuple[str, ...]:
    """Give the names of the project's extras."""
    return tuple(table(read_toml(read("pyproject.toml")), "project", "optional-dependencies"))


def _task(scripts: Mapping[str, Any], name: str, depth: int = 0) -> tuple[str, ...]:
    """Read `"cmd"`, `["cmd", "other"]`, `{cmd = …}`, `{shell = …}`, `{composite = […]}`, `{depends-on = […]}`."""
    value = scripts.get(name)
    lines: list[str] = []
    if isinstance(value, dict):
        command = value.get(
            "cmd",
            value.get("shell", value.get("composite", value.get("chain", value.get("sequence")))),
        )
        lines = list(strings(command)) if not isinstance(command, str) else [command]
        if isinstance(value.get("cmd"), list):
            lines = [" ".join(quoted(word) for word in strings(value["cmd"]))]
        before = [
            d if isinstance(d, str) else str(table(d).get("task", ""))
            for d in value.get("depends-on", ())
        ]
        lines = [*(before if isinstance(value.get("depends-on"), list) else ()), *lines]
    elif isinstance(value, str):
        lines = [value]
    else:
        lines = list(strings(value))
    found: list[str] = []
    for line in lines:
        first, _, rest = line.partition(" ")
        if first in scripts and first != name and depth < 5 and not rest.startswith("-"):  # noqa: PLR2004 - circles
            found += _task(scripts, first, depth + 1)
        else:
            found.append(line)
    return tuple(found)


def make_recipe(
    target: str, folder: str, read: Read, given: Mapping[str, str] = MappingProxyType({})
) -> tuple[str, ...]:
    """Give the recipe lines of a target, those of its prerequisites first; empty where it is not there.

    `given` are the variables that the command line sets.
    """
    for name in ("GNUmakefile", "makefile", "Makefile"):
        text = read(f"{folder}/{name}" if folder else name)
        if text is not None:
            rules, variables = _makefile(text)
            variables |= given
            target = target or next(
                (t for t in rules if not t.startswith(".") and "%" not in t), ""
            )
            return tuple(_made(line, variables) for line in _recipe(target, rules, set()))
    return ()


_RULE: Final = re.compile(r"([^\s#=:][^=:#]*?)\s*::?(?!=)\s*([^#=;]*)(?:;(.*))?$")
_SETS: Final = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)\s*(\?|:{0,3}|\+|!)=\s*(.*)$")


def _makefile(text: str) -> tuple[dict[str, tuple[list[str], list[str]]], dict[str, str]]:
    rules: dict[str, tuple[list[str], list[str]]] = {}
    variables: dict[str, str] = {"MAKE": "make"}
    current: list[str] = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("\t"):
            for target in current:
                rules[target][1].append(line.strip())
            continue
        assigned = _SETS.match(line)
        if assigned:
            name, how, value = assigned.groups()
            if how == "+":
                variables[name] = f"{variables.get(name, '')} {value}".strip()
            elif how != "!":
                variables.setdefault(name, value.strip()) if how == "?" else variables.update(
                    {name: value.strip()}
                )
            continue
        rule = _RULE.match(re.sub(r"\s*(?<!\\)#.*$", "", line))
        if rule:
            current = rule.group(1).split()
            for target in current:
                needs, recipe = rules.setdefault(target, ([], []))
                needs += rule.group(2).split()
                recipe += [rule.group(3).strip()] if rule.group(3) else []
    return rules, variables


def _recipe(
    target: str, rules: Mapping[str, tuple[list[str], list[str]]], seen: set[str]
) -> Iterator[str]:
    if target in seen or target not in rules:
        return
    seen.add(target)
    needs, recipe = rules[target]
    for need in needs:
        yield from _recipe(need, rules, seen)
    yield from recipe


def _made(line: str, variables: Mapping[str, str]) -> str:
    line = re.sub(r"^[@+-]+\s*", "", line)
    for _ in range(5):
        found = re.sub(r"\$[({](\w+)[)}]", lambda m: variables.get(m[1], "\0" + m[1]), line)
        if found == line:
            break
        line = found
    # What is not set here may come from the environment.
    return re.sub(r"\0(\w+)", r"${\1}", line).replace("$$", "$")
