"""What there is here to replay jobs with: the container's interpreters and tools, or the host's."""

from __future__ import annotations

from presubmit.values import Value


class Interpreter(Value, frozen=True, kw_only=True):
    """A Python inside the box; `version` is whole (`3.11.2`, `3.15.0rc1`), `kind` is `cpython`, `pypy`, …."""

    version: str
    path: str
    kind: str = "cpython"
    free_threaded: bool = False
    release: str = ""
    """The implementation's own version: `7.3.17` of PyPy, `25.0.1` of GraalPy."""
    pip: bool = True
    """A pip can be had without a network: from ensurepip, or because it is installed."""


class Here(Value, frozen=True, kw_only=True):
    """What a box made from the devel image has."""

    interpreters: tuple[Interpreter, ...] = ()
    """The image's own default (`python3` on PATH) comes first."""
    tools: dict[str, str] = {}
    """Names (`bash`, `git`, `node`, `npm`, `java`, `uv`, `sudo`, `docker`, `pre-commit`, …) to their paths."""
    versions: dict[str, str] = {}
    """What a tool says of its version: `node` -> `18.19.0`, `java` -> `17.0.11`."""
    arch: str = "X64"
    """GitHub's word: `X64`, `ARM64`, `X86`, `ARM`."""
    system: str = "Linux"
    """GitHub's word: `Linux`, `macOS`, `Windows`."""
    root: bool = False
    """Steps run as root with a root's rights, so that apt-get and sudo work."""
    on_host: bool = False
