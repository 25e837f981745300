"""What it takes to narrow an upstream test command to the chosen tests, and which of its arguments are in the way.

Measured with pytest 9, tox 4, nox and uv: a plugin that is named in the environment reaches every runner but tox,
which passes variables on only where its configuration says so.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.upstream.recipes import toxfile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from presubmit.upstream.recipes.pytest_call import PytestCall

    Read = Callable[[str], str | None]


class Needs(StrEnum):
    """What the plugin's variables need in order to reach pytest."""

    NOTHING = "nothing"
    """They are inherited: plain pytest, make, nox, uv run, a script."""
    TOX_OVERRIDE = "TOX_OVERRIDE"
    """tox must be told to pass them on: `tox_override`."""
    SITE_PACKAGES = "site-packages"
    """The interpreter reads no PYTHONPATH (`-I`, `-E`): the plugin must lie in the environment itself."""
    UNKNOWN = "unknown"
    """The plugin's own record must prove it."""


_NAMES: Final = ("PYTHONPATH", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PRESUBMIT_*")
_WITH_VALUE: Final = frozenset({
    *("--junitxml", "--junit-xml", "--junitprefix", "--color", "--code-highlight", "--splits", "--group", "--shard-id"),
    *("--num-shards", "--splitting-algorithm", "--cov-fail-under", "--report-log", "--html"),
    "--basetemp",
})  # fmt: skip
_ALONE: Final = frozenset({
    *("-x", "--exitfirst", "--lf", "--last-failed", "--ff", "--failed-first", "--nf", "--new-first", "--sw"),
    *("--stepwise", "--collect-only", "--co", "--pdb", "--trace", "--flake-finder", "--memray"),
})  # fmt: skip


def for_narrowing(call: PytestCall) -> tuple[PytestCall, tuple[str, ...]]:
    """Give the call without what would spoil a narrowed run, and what was taken out.

    Reports that land elsewhere (`--junitxml` wins over ours), colours, shards of the whole suite, early ends, coverage
    floors. Coverage itself stays: a project may name it in its own settings as well. `-n` stays.
    """
    kept: list[str] = []
    dropped: list[str] = []
    position = 0
    while position < len(call.options):
        option = call.options[position]
        following = call.options[position + 1] if position + 1 < len(call.options) else ""
        name, equals, _ = option.partition("=")
        size = 1
        if (
            name in _WITH_VALUE and not equals and following and not following.startswith("-")
        ) or option in {"-p", "--maxfail", "-c", "-k", "-m", "-o", "-n", "-W"}:
            size = 2
        words = call.options[position : position + size]
        position += size
        gone = (
            name in _WITH_VALUE
            or option in _ALONE
            or name == "--maxfail"
            or words[:2] == ("-p", "no:junitxml")
        )
        if (
            not gone
            and option.startswith("-")
            and not option.startswith("--")
            and set(option[1:]) <= set("qvxsl")
        ):
            # `-xvs`: a cluster of flags.
            words = ("-" + option[1:].replace("x", ""),) if option[1:].strip("x") else ()
            gone = not words
            dropped += ["-x"] if "x" in option and words else []
        if gone:
            dropped.append(" ".join(words) or option)
        else:
            kept += words
    return msgspec.structs.replace(call, options=tuple(kept)), tuple(dropped)


def tox_override(
    environment: str, settings: Mapping[str, str], read: Read = lambda _: None
) -> str:
    """Give the value of TOX_OVERRIDE that lets our variables through; `settings` are those the run sets.

    tox applies an override to the table that it names and to no other, so it has to name the one that decides:
    the environment's own where that sets the same key, else the base (tox: config/loader/api.py, Override). A plain
    `=` would replace the project's list. Where the project itself sets PYTEST_ADDOPTS, that value wins over a passed
    one, so ours goes in by `set_env`; its own should be part of ours.
    """
    place = _Place(environment, read)
    parts = [f"{place.table('pass_env')}.pass_env+={','.join(_NAMES)}"]
    found = toxfile.tox_environment(environment, read)
    own = {name for name, _ in found.env} if found is not None else set()
    for name, value in settings.items():
        if name in own:
            if ";" in value or "\n" in value:
                raise ValueError(f"TOX_OVERRIDE cannot carry `{value}`")
            parts.append(f"{place.table('set_env')}.set_env+={name}={value}")
    return ";".join(parts)


class _Place:
    """Knows in which table of the project's tox configuration a key is decided."""

    def __init__(self, environment: str, read: Read) -> None:
        self.environment = environment
        self.read = read

    def table(self, key: str) -> str:
        source, own = toxfile.tox_source(self.environment, key, self.read)
        prefix = "tool.tox." if source == "pyproject.toml" else ""
        if source in {"pyproject.toml", "tox.toml"}:
            return f"{prefix}env.{_escaped(self.environment)}" if own else f"{prefix}env_run_base"
        return f"testenv:{_escaped(self.environment)}" if own else "testenv"


def _escaped(name: str) -> str:
    return name.replace(".", "\\.")
