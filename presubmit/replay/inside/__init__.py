"""Small scripts that run inside a box, by the project's own interpreter: standard library only, Python 3.8 and later."""

from __future__ import annotations

from importlib import resources


def script(name: str) -> str:
    """Give the source of one of the scripts beside this file, for `python -I -c`."""
    return resources.files("presubmit.replay.inside").joinpath(f"{name}.py").read_text("utf-8")
