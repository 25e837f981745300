"""Reads `devcontainer.json`: which image it names, and what of it presubmit does not do; pure."""

from __future__ import annotations

import json
import posixpath
import re
from typing import TYPE_CHECKING, Any, Final

from presubmit.container.options import Options, split_options
from presubmit.errors import ConfigError
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TOKENS: Final = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA: Final = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')
# What presubmit leaves undone, and says so. initializeCommand would run on the host: never.
_UNSUPPORTED: Final = {
    "features": "features are not installed",
    "dockerComposeFile": "docker compose is not supported",
    "initializeCommand": "would run on the host, and is never run",
    "onCreateCommand": "lifecycle commands are not run",
    "updateContentCommand": "lifecycle commands are not run",
    "postCreateCommand": "lifecycle commands are not run",
    "postStartCommand": "lifecycle commands are not run",
    "postAttachCommand": "lifecycle commands are not run",
    "mounts": "extra mounts are refused",
    "workspaceMount": "the project is mounted by presubmit",
    "privileged": "is refused",
    "capAdd": "is refused",
    "securityOpt": "is refused",
    "runServices": "docker compose is not supported",
    "secrets": "secrets are never passed",
}


class Devcontainer(Value, frozen=True):
    """What a devcontainer.json says of its image; either `image` or `dockerfile` is set, or neither."""

    path: str
    line: int
    image: str = ""
    dockerfile: str = ""
    """Relative to the repository, as is `context`."""
    context: str = "."
    target: str = ""
    args: dict[str, str] = {}
    env: dict[str, str] = {}
    remote_user: str = ""
    options: Options = Options()
    notes: tuple[str, ...] = ()
    """What of it is not done, each a sentence."""


def parse_devcontainer(text: str, *, path: str) -> Devcontainer:
    """Read one devcontainer.json; ConfigError where it is not JSON with comments."""
    data = _parse_jsonc(text, path=path)
    build = data.get("build") if isinstance(data.get("build"), dict) else {}
    assert isinstance(build, dict)  # noqa: S101 - tells mypy what the line above made sure of
    dockerfile = _word(build.get("dockerfile") or data.get("dockerFile"))
    context = _word(build.get("context") or data.get("context")) or "."
    env, env_notes = _static_variables(data.get("containerEnv"), path=path, key="containerEnv")
    args, arg_notes = _static_variables(build.get("args"), path=path, key="build.args")
    run_args = [str(word) for word in data.get("runArgs") or () if isinstance(word, str)]
    options, refused = split_options(run_args, origin=f"{path}:{line_of(text, 'runArgs')} runArgs")
    return Devcontainer(
        path=path,
        line=line_of(
            text, "image" if "image" in data else "dockerfile" if dockerfile else "build"
        ),
        image=_word(data.get("image")),
        dockerfile=_inside(path, dockerfile) if dockerfile else "",
        context=_inside(path, context) if dockerfile else ".",
        target=_word(build.get("target")),
        args=args,
        env=env,
        remote_user=_word(data.get("remoteUser") or data.get("containerUser")),
        options=options,
        notes=(*_unsupported(data, text, path=path), *env_notes, *arg_notes, *refused),
    )


def strip_jsonc(text: str) -> str:
    """Give plain JSON: comments become blanks (lines keep their numbers), trailing commas go."""

    def blank(match: re.Match[str]) -> str:
        found = match[0]
        return found if found.startswith('"') else re.sub(r"[^\n]", " ", found)

    return _TRAILING_COMMA.sub(lambda match: match[1] or " ", _TOKENS.sub(blank, text))


def line_of(text: str, key: str) -> int:
    """Give the line on which a key stands, 1 where it does not."""
    found = re.search(rf'"{re.escape(key)}"\s*:', strip_jsonc(text), re.IGNORECASE)
    return 1 if found is None else text.count("\n", 0, found.start()) + 1


def _parse_jsonc(text: str, *, path: str) -> dict[str, Any]:
    try:
        data = json.loads(strip_jsonc(text.removeprefix("\ufeff")))
    except ValueError as error:
        raise ConfigError(f"{path} is not JSON with comments: {error}") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{path} does not hold a JSON object")
    return data


def _unsupported(data: Mapping[str, Any], text: str, *, path: str) -> Iterator[str]:
    for key, why in _UNSUPPORTED.items():
        if data.get(key):
            yield f"{path}:{line_of(text, key)} {key}: {why}"


def _static_variables(
    value: object, *, path: str, key: str
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Give the variables with a fixed value; one that reads the host's environment is left out, and named."""
    given = (
        {str(name): str(held) for name, held in value.items()} if isinstance(value, dict) else {}
    )
    moving = [name for name, held in given.items() if "${" in held]
    notes = tuple(
        f"{path} {key}.{name}: variables such as {given[name]} are not filled in"
        for name in moving
    )
    return {name: held for name, held in given.items() if name not in moving}, notes


def _inside(path: str, relative: str) -> str:
    """Give a path of the repository for one that is relative to devcontainer.json."""
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(path), relative))
    if joined.startswith(("../", "/")) or joined == ".." or "${" in relative:
        raise ConfigError(f"{path}: {relative!r} leads out of the repository")
    return joined


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""
