"""dorny/paths-filter: which sets of paths the change touches, computed by git instead of GitHub's API.

https://github.com/dorny/paths-filter: action.yml, src/main.ts, src/filter.ts, src/list-format/.
"""

from __future__ import annotations

import json
import posixpath
import re
from typing import TYPE_CHECKING, Any, Final

import msgspec
import yaml

from presubmit.replay.actions import globs
from presubmit.replay.actions.changed import ChangedPath, changed_paths
from presubmit.replay.job.action import ActionFailedError, Support

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from presubmit.replay.job.action import ActionStep, Wanted
    from presubmit.upstream.here import Here

NAMES: Final = ("dorny/paths-filter",)

_FORMATS: Final = ("none", "csv", "json", "shell", "escape")
_MOST_RULES: Final = 10_000
_LOADER: Final = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class Rule(msgspec.Struct, frozen=True):
    """One pattern; `statuses` is None where any will do."""

    statuses: frozenset[str] | None
    matches: Callable[[str], bool]


def support(wanted: Wanted, here: Here) -> Support:  # noqa: ARG001 - the protocol's
    """Git is needed."""
    return Support(lacks="" if "git" in here.tools else "git")


def run(step: ActionStep) -> None:
    """Set an output for each filter."""
    text = step.input("filters")
    if not text:
        raise ActionFailedError("Input required and not supplied: filters")
    style = step.input("list-files", "none").lower()
    if style not in _FORMATS:
        raise ActionFailedError(f"Input parameter 'list-files' is set to invalid value '{style}'")
    quantifier = step.input("predicate-quantifier", "some")
    if quantifier not in {"some", "every"}:
        raise ActionFailedError(
            f"Input parameter 'predicate-quantifier' is set to invalid value '{quantifier}'. "
            "Valid values: every, some"
        )
    folder = posixpath.join(step.cell.workspace, step.input("working-directory"))
    if "\n" not in text and ":" not in text:
        text = _file(step, text, folder)
    filters = parse_filters(text)
    files = changed_paths(step, base=step.input("base"), ref=step.input("ref"), folder=folder)
    step.say(f"Detected {len(files)} changed files")
    changes = []
    for name, rules in filters.items():
        found = tuple(one for one in files if is_meant(one, rules, quantifier))
        step.say(f"Filter {name} = {'true' if found else 'false'}")
        if found:
            changes.append(name)
        step.set_output(name, "true" if found else "false")
        step.set_output(f"{name}_count", str(len(found)))
        if style != "none":
            step.set_output(f"{name}_files", listed([one.path for one in found], style))
    if "changes" not in filters:
        step.set_output("changes", json.dumps(changes, separators=(",", ":"), ensure_ascii=False))


def parse_filters(text: str) -> dict[str, tuple[Rule, ...]]:
    """Read the filters' YAML; raises ActionFailedError for what the action refuses."""
    try:
        # Every scalar as text: a filter may well be called `on` or `yes`.
        document = yaml.load(text, Loader=_LOADER)  # noqa: S506 - it makes texts, lists and mappings only
    except yaml.YAMLError as error:
        raise ActionFailedError(f"Invalid filter YAML format: {error}") from error
    if not isinstance(document, dict):
        raise ActionFailedError("Invalid filter YAML format: Root element is not an object.")
    return {str(name): _rules(item) for name, item in document.items()}


def is_meant(one: ChangedPath, rules: Sequence[Rule], quantifier: str) -> bool:
    """Whether a changed path meets some rule, or with `every` all of them."""
    met = (
        (rule.statuses is None or one.status in rule.statuses) and rule.matches(one.path)
        for rule in rules
    )
    return all(met) if quantifier == "every" else any(met)


def listed(paths: Sequence[str], style: str) -> str:
    """Write a list of paths in one of the action's formats."""
    match style:
        case "csv":
            return ",".join(_csv(path) for path in paths)
        case "json":
            return json.dumps(list(paths), separators=(",", ":"), ensure_ascii=False)
        case "escape":
            return " ".join(re.sub(r"([^a-zA-Z0-9,._+:@%/-])", r"\\\1", path) for path in paths)
        case "shell":
            return " ".join(_shell(path) for path in paths)
        case _:
            return ""


def _rules(item: Any) -> tuple[Rule, ...]:  # noqa: ANN401 - what YAML gives
    rules = []
    for rule in _flat(item):
        rules.append(rule)
        if len(rules) > _MOST_RULES:
            raise ActionFailedError("Invalid filter YAML format: too many patterns.")
    return tuple(rules)


def _flat(item: Any) -> Iterator[Rule]:  # noqa: ANN401 - as above
    match item:
        case str():
            yield Rule(None, _any_of([item]))
        case list():
            for one in item:
                yield from _flat(one)
        case dict():
            for key, pattern in item.items():
                patterns = [pattern] if isinstance(pattern, str) else pattern
                if not isinstance(patterns, list) or not all(
                    isinstance(one, str) for one in patterns
                ):
                    raise ActionFailedError(
                        "Invalid filter YAML format: Expected "
                        f"[key:string]= pattern:string | string[], but [{key}] is another."
                    )
                words = (word.strip().lower() for word in str(key).split("|"))
                yield Rule(frozenset(word for word in words if word), _any_of(patterns))
        case _:
            raise ActionFailedError("Invalid filter YAML format: Unexpected element type.")


def _any_of(patterns: Sequence[str]) -> Callable[[str], bool]:
    try:
        tests = [globs.matcher(pattern, dot=True) for pattern in patterns]
    except ValueError as error:
        raise ActionFailedError(f"Invalid filter YAML format: {error}") from error
    return lambda path: any(test(path) for test in tests)


def _file(step: ActionStep, name: str, folder: str) -> str:
    said = step.ask('cat -- "$1" 2>/dev/null', posixpath.join(folder, name))
    if said.exit_code != 0:
        raise ActionFailedError(f"Configuration file '{name}' not found")
    return said.text


def _csv(path: str) -> str:
    if re.fullmatch(r"[a-zA-Z0-9._+:@%/-]*", path):
        return path
    return '"' + path.replace('"', '""') + '"'


def _shell(path: str) -> str:
    if re.fullmatch(r"[a-zA-Z0-9,._+:@%/-]*", path):
        return path
    if "'" not in path:
        return f"'{path}'"
    if re.fullmatch(r"[a-zA-Z0-9,._+:@%/'\s-]+", path):
        return f'"{path}"'
    return "\\'".join(_shell(part) for part in path.split("'"))
