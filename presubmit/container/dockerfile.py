"""Builds a devel image from a Dockerfile; never pulls by itself."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from presubmit.container.faults import engine_faults, explain
from presubmit.container.host import HostBox
from presubmit.container.output import STDOUT, Output
from presubmit.errors import ImageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from presubmit.container.engine import Engine
    from presubmit.container.model import ImageRef

CONTEXT_LABEL: Final = "dev.presubmit.context"
"""The git tree of the build context: an image with another one is from an older Dockerfile."""
_LAST_LINES: Final = 15
_SYNTAX: Final = re.compile(r"#\s*syntax\s*=", re.IGNORECASE)
_HEREDOC: Final = re.compile(r"^\s*(RUN|COPY|ADD)\b.*<<-?[\"']?[A-Za-z_]", re.IGNORECASE)
_FLAGS: Final = re.compile(
    r"^\s*(RUN\s+(?:--\w+\S*\s+)*--(?:mount|network|security)|(?:COPY|ADD)\s+(?:--\w+\S*\s+)*--(?:link|parents|exclude|checksum))\b",
    re.IGNORECASE,
)
_REFERENCE: Final = re.compile(r"\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))")
# The engine's command line needs these to find the same engine.
_CLI_VARIABLES: Final = (
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "DOCKER_CONFIG",
    "DOCKER_CERT_PATH",
    "DOCKER_TLS_VERIFY",
)


def buildkit_features(text: str) -> tuple[str, ...]:
    """Name what in a Dockerfile only BuildKit understands, with its line; pure."""
    return tuple(f"line {number}: {what}" for number, what in _features(text))


def _features(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if _SYNTAX.match(line):
            yield number, "# syntax="
        elif match := _FLAGS.match(line):
            yield number, " ".join(match[1].split())
        elif _HEREDOC.match(line):
            yield number, "a here-document"


def base_images(text: str, args: Mapping[str, str]) -> tuple[str, ...]:
    """Give the images that a Dockerfile starts from or copies from; pure.

    The engine would pull a missing one by itself, whatever it is told.
    """
    values: dict[str, str] = {}
    stages: set[str] = {"scratch"}
    found: list[str] = []
    for words in _instructions(text):
        match words:
            case ["ARG", declared] if not found:
                name, _, default = declared.partition("=")
                values[name] = args.get(name, default.strip("\"'"))
            case ["FROM", *rest]:
                plain = [word for word in rest if not word.startswith("--")]
                name = _filled(plain[0], values) if plain else ""
                if name.lower() not in stages:
                    found.append(name)
                if len(plain) > 2:  # noqa: PLR2004 - name AS stage
                    stages.add(plain[2].lower())
            case ["COPY", *rest]:
                for word in rest:
                    name = word.removeprefix("--from=")
                    if name != word and not name.isdecimal() and name.lower() not in stages:
                        found.append(name)
            case _:
                pass
    return tuple(dict.fromkeys(found))


def _instructions(text: str) -> Iterator[list[str]]:
    """Give each instruction's words, its name in capitals; comments go, continued lines are joined."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for line in re.sub(r"\\[ \t]*\n", " ", lines).splitlines():
        words = line.split()
        if words:
            yield [words[0].upper(), *words[1:]]


def _filled(text: str, values: Mapping[str, str]) -> str:
    """Fill in `$NAME`, `${NAME}` and `${NAME:-default}`."""
    return _REFERENCE.sub(
        lambda match: values.get(match[1] or match[3], "") or match[2] or "", text
    )


def build_image(
    engine: Engine,
    *,
    dockerfile: Path,
    context: Path,
    tag: str,
    log: Path,
    args: Mapping[str, str] | None = None,
    target: str = "",
    context_tree: str = "",
    on_output: Callable[[str], None] | None = None,
    secrets: Sequence[str] = (),
    timeout: float = 7200.0,
    origin: str = "image build",
) -> ImageRef:
    """Build `dockerfile` and give the image; ImageError shows the last lines and where the rest is.

    Through the engine's own builder; where the file needs BuildKit, through the docker command line.
    """
    text = dockerfile.read_text(encoding="utf-8", errors="replace")
    features = buildkit_features(text)
    for base in base_images(text, args or {}):
        engine.image(base, origin=f"{dockerfile.name} FROM")
    labels = {CONTEXT_LABEL: context_tree} if context_tree else {}
    if features:
        command = _buildkit_command(features, dockerfile=dockerfile)
        for name, value in labels.items():
            command += ["--label", f"{name}={value}"]
        for name, value in (args or {}).items():
            command += ["--build-arg", f"{name}={value}"]
        command += ["--target", target] if target else []
        command += ["--tag", tag, "--file", str(dockerfile), str(context)]
        _build_with_cli(command, log=log, on_output=on_output, secrets=secrets, timeout=timeout)
    else:
        with Output(log, on_output=on_output, secrets=secrets) as output:
            problem = _build_with_engine(
                engine,
                output,
                {
                    "path": str(context),
                    "dockerfile": str(dockerfile),
                    "tag": tag,
                    "target": target or None,
                    "buildargs": dict(args or {}),
                    "labels": labels,
                    "timeout": int(timeout),
                },
            )
            output.finish()
        if problem:
            raise _build_error(output.mask(problem), output.tail, log=log)
    return engine.image(tag, origin=origin)


def build_devel_image(
    engine: Engine,
    *,
    tag: str,
    log: Path,
    base: str = "",
    on_output: Callable[[str], None] | None = None,
    args: Mapping[str, str] | None = None,
    secrets: Sequence[str] = (),
) -> ImageRef:
    """Build presubmit's own devel image, for a project that has none; `base` replaces its base image."""
    shipped = files("presubmit.container") / "devel.Dockerfile"
    with as_file(shipped) as dockerfile, tempfile.TemporaryDirectory(prefix="presubmit-") as empty:
        return build_image(
            engine,
            dockerfile=dockerfile,
            context=Path(empty),
            tag=tag,
            log=log,
            args={**(args or {}), **({"BASE": base} if base else {})},
            on_output=on_output,
            secrets=secrets,
            origin="presubmit's devel.Dockerfile",
        )


def _build_with_engine(engine: Engine, output: Output, options: Mapping[str, object]) -> str:
    """Build through the API, handing on what it prints; gives what went wrong, empty if nothing."""
    try:
        for event in engine.build(options):
            if error := event.get("error"):
                return str(error)
            if text := event.get("stream"):
                output.feed(STDOUT, str(text).encode())
    except engine_faults() as error:
        return explain(error)
    except TypeError as error:  # docker-py's word on a context that is no folder
        return str(error)
    return ""


def _buildkit_command(features: Sequence[str], *, dockerfile: Path) -> list[str]:
    docker = shutil.which("docker")
    if docker is None:
        raise ImageError(
            f"{dockerfile.name} needs BuildKit ({features[0]}), and there is no docker command to build it with",
            hint="Install docker's command line with buildx, or build the image yourself and name it with --image.",
        )
    return [docker, "build", "--progress=plain"]


def _build_with_cli(
    command: Sequence[str],
    *,
    log: Path,
    on_output: Callable[[str], None] | None,
    secrets: Sequence[str],
    timeout: float,
) -> None:
    passed = {name: os.environ[name] for name in _CLI_VARIABLES if name in os.environ}
    box = HostBox(workdir=str(Path.cwd()), env={**passed, "DOCKER_BUILDKIT": "1"})
    result = box.exec(command, log=log, timeout=timeout, on_output=on_output, secrets=secrets)
    if not result.ok:
        raise _build_error(
            result.reason or f"docker build gave {result.exit_code}", result.tail, log=log
        )


def _build_error(problem: str, tail: str, *, log: Path) -> ImageError:
    last = "\n".join(tail.rstrip().splitlines()[-_LAST_LINES:])
    text = f"the image could not be built: {problem}" + (f"\n{last}" if last else "")
    return ImageError(text, hint=f"The whole log: {log}")
