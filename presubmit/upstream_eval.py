"""`presubmit upstream eval`: what an expression gives for this change, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from presubmit.errors import UsageError
from presubmit.reading import RunOptions, read_all
from presubmit.report.escape import one_line
from presubmit.upstream.event import github_context
from presubmit.upstream.expressions import explain
from presubmit.upstream.secrets import EmptySecrets
from presubmit.upstream_reading import read_event

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_CONTEXTS: Final = (
    *("github", "env", "vars", "job", "steps", "runner"),
    *("secrets", "strategy", "matrix", "needs", "inputs"),
)


def cmd_eval(
    text: str, environ: Mapping[str, str], *, context: Path | None, event: str
) -> tuple[str, ...]:
    """Give the lines that show an expression's value and its parts'; raises ExpressionError, UsageError."""
    contexts = _contexts(environ, event)
    if context is not None:
        contexts |= read_context(context)
    inner = text.strip()
    if inner.startswith("${{") and inner.endswith("}}"):
        inner = inner[3:-2].strip()
    return render(explain(inner, contexts, _functions()))


def _contexts(environ: Mapping[str, str], event: str) -> dict[str, Any]:
    reading = read_all(RunOptions(start=Path.cwd()), environ)
    github = github_context(
        read_event(reading),
        workflow_path=".github/workflows/eval.yml",
        workflow_name="eval",
        job="eval",
        event=event,
    )
    return {
        **{name: {} for name in _CONTEXTS},
        "github": github,
        "vars": dict(reading.config.config.replay.vars),
        "job": {"status": "success"},
        "runner": {
            "os": "Linux",
            "arch": "X64",
            "name": "presubmit",
            "environment": "github-hosted",
        },
        "secrets": EmptySecrets(),
    }


def read_context(path: Path) -> dict[str, Any]:
    """Read contexts from a JSON file: an object with `matrix`, `needs` and so on. Raises UsageError."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{path} cannot be read as JSON: {error}",
            hint='write an object: {"matrix": {"os": "ubuntu-latest"}}',
        ) from error
    if not isinstance(found, dict) or not set(found) <= set(_CONTEXTS):
        strange = (
            sorted(set(found) - set(_CONTEXTS)) if isinstance(found, dict) else [str(found)[:40]]
        )
        raise UsageError(
            f"{path} holds {', '.join(strange)}, which is no context",
            hint=f"known: {', '.join(_CONTEXTS)}",
        )
    return found


def _functions() -> dict[str, Callable[..., Any]]:
    """Give the status functions as they are while all goes well."""
    return {
        "success": lambda: True,
        "failure": lambda: False,
        "cancelled": lambda: False,
        "always": lambda: True,
    }


def render(parts: Any) -> tuple[str, ...]:  # noqa: ANN401 - what explain gives
    """Give the whole first, then its parts, each with its value."""
    ordered = [*reversed(parts)] if parts else []
    width = min(60, max((len(p.text) + 2 * p.depth for p in ordered), default=0))
    lines = []
    for part in ordered:
        name = f"{'  ' * part.depth}{one_line(part.text, 200)}"
        value = (
            one_line(json.dumps(part.value, default=str), 200)
            if part.evaluated
            else "not looked at"
        )
        lines.append(f"{name:<{width}}  {value}")
    return tuple(lines)
