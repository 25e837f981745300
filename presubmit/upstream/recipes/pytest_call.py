"""Reads the arguments of a pytest call: what it is pointed at, and what else it is told.

Which options take a value: pytest's own reference, and those of pytest-cov, pytest-xdist, pytest-timeout, pytest-benchmark.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from presubmit.upstream.recipes.shell_words import Word


class PytestCall(Value, frozen=True, kw_only=True):
    """A call of pytest, taken apart."""

    python_options: tuple[str, ...] = ()
    """Of the interpreter that it is started with: `-X dev`, `-W error`, `-I`; empty where `pytest` itself was called."""
    module: bool = True
    """`python -m pytest` (the working directory is importable), not `pytest`."""
    paths: tuple[str, ...] = ()
    """Files, folders and node ids, as they are written: relative to the working directory."""
    packages: tuple[str, ...] = ()
    """Importable names, after `--pyargs`: the installed package is tested, not the tree."""
    options: tuple[str, ...] = ()
    """Everything else, in order; a value stays its own word where it was one."""
    unknown: tuple[str, ...] = ()
    """Words left out of all others: they depend on what is not known."""

    def value(self, *names: str) -> str | None:
        """Give the last value of an option."""
        found = None
        for number, option in enumerate(self.options):
            name, equals, value = option.partition("=")
            if option in names:
                found = self.options[number + 1] if number + 1 < len(self.options) else ""
            elif equals and name in names:
                found = value
            elif option[:2] in names and not option.startswith("--"):
                found = option[2:]
        return found

    def has(self, *names: str) -> bool:
        """Whether one of these options is given, with a value or without."""
        return any(o.partition("=")[0] in names for o in self.options)


_VALUED: Final = frozenset({
    *("-k", "-m", "-n", "-c", "-p", "-o", "-W", "-r"),
    *("--config-file", "--maxfail", "--tb", "--durations", "--durations-min", "--rootdir", "--confcutdir", "--ignore"),
    *("--ignore-glob", "--deselect", "--basetemp", "--import-mode", "--log-level", "--log-cli-level", "--log-file"),
    *("--color", "--capture", "--junitxml", "--junit-xml", "--junitprefix", "--pdbcls", "--override-ini"),
    *("--pythonwarnings", "--verbosity", "--show-capture", "--code-highlight", "--pastebin", "--doctest-glob"),
    *("--doctest-report", "--lsof-fds", "--cov-report", "--cov-config", "--cov-fail-under", "--cov-context"),
    *("--numprocesses", "--dist", "--tx", "--maxprocesses", "--max-worker-restart", "--maxschedchunk", "--px"),
    *("--timeout", "--timeout-method", "--session-timeout", "--count", "--reruns", "--reruns-delay", "--rsyncdir"),
    *("--benchmark-json", "--benchmark-sort", "--benchmark-columns", "--benchmark-group-by", "--splits", "--group"),
    *("--hypothesis-profile", "--hypothesis-seed", "--html", "--randomly-seed", "--random-order-seed", "--shard-id"),
    *("--num-shards", "--parallel-threads", "--iterations", "--memray-bin-path", "--report-log", "--ds", "--env"),
    *("--doctest-continue-on-failure-max", "--mpl-results-path", "--remote-data-source", "--backend", "--splitting-algorithm"),
})  # fmt: skip
_MAY_BE_VALUED: Final = frozenset({"--cov", "--remote-data", "--mypy-ini-file"})
_FLAGS: Final = frozenset({
    *("--pyargs", "--verbose", "--quiet", "--exitfirst", "--last-failed", "--lf", "--failed-first", "--ff", "--nf"),
    *("--new-first", "--showlocals", "--strict", "--strict-markers", "--strict-config", "--doctest-modules", "--pdb"),
    *("--doctest-plus", "--doctest-rst", "--no-cov", "--no-cov-on-fail", "--cov-append", "--cov-branch", "--cov-reset"),
    *("--no-header", "--no-summary", "--no-showlocals", "--full-trace", "--trace-config", "--setup-show", "--stepwise"),
    *("--collect-only", "--co", "--keep-duplicates", "--runxfail", "--noconftest", "--cache-clear", "--sw", "--force-short-summary"),
    *("--disable-warnings", "--disable-pytest-warnings", "--benchmark-only", "--benchmark-disable", "--benchmark-skip"),
    *("--benchmark-enable", "--codspeed", "--memray", "--forked", "--flake-finder", "--mypy", "--mpl", "--import-time"),
    *("--continue-on-collection-errors", "--doctest-continue-on-failure", "--doctest-ignore-import-errors", "--boxed"),
    *("--doctest-cython", "--doctest-only", "--ruff", "--ruff-format", "--flake8", "--black", "--xfail-tb", "--open-files"),
})  # fmt: skip
_LIKE_A_PATH: Final = re.compile(r"/|\.py$|\.rst$|::|^\.$|^tests?$|^[Tt]est|_tests?$|^src$")
_WANTS_A_VALUE: Final = re.compile(
    r"-(?:file|dir|path|url|size|count|level|seed|name|config|examples|format)s?$"
)


def read_pytest(
    words: Sequence[Word],
    *,
    python_options: tuple[str, ...] = (),
    module: bool = True,
    exists: Callable[[str], bool] = lambda _: False,
) -> PytestCall:
    """Take the arguments of a pytest call apart; `exists` tells what is a path where that is in doubt."""
    options: list[str] = []
    others: list[Word] = []
    unknown: list[str] = []
    position = 0
    only_words = False
    while position < len(words):
        word = words[position]
        following = words[position + 1] if position + 1 < len(words) else None
        position += 1
        if not word.literal:
            unknown.append(word.text)
        elif only_words or not word.text.startswith("-") or word.text == "-":
            others.append(word)
        elif word.text == "--":
            only_words = True
        elif following is not None and _takes(word.text, following, exists):
            position += 1
            if following.literal:
                options += [word.text, following.text]
            else:
                unknown.append(f"{word.text} {following.text}")
        else:
            options.append(word.text)
    packages = "--pyargs" in options
    texts = tuple(dict.fromkeys(word.text for word in others))
    named = tuple(
        t for t in texts if packages and not ("/" in t or t.endswith(".py") or exists(t))
    )
    return PytestCall(
        python_options=python_options,
        module=module,
        paths=tuple(t for t in texts if t not in named),
        packages=named,
        options=tuple(options),
        unknown=tuple(unknown),
    )


def _takes(option: str, following: Word, exists: Callable[[str], bool]) -> bool:
    """Whether an option takes the following word as its value."""
    if "=" in option or option in _FLAGS or following.text.startswith("-"):
        return (
            option in _VALUED
            and "=" not in option
            and following.text.startswith("-")
            and option in {"-m", "-k"}
        )
    if option in _VALUED:
        return True
    if not option.startswith("--"):
        # A cluster: `-vk expression`, `-rA` (the value is attached), `-sv`.
        first = next((at for at in range(1, len(option)) if f"-{option[at]}" in _VALUED), 0)
        return first == len(option) - 1 and first > 0
    if option in _MAY_BE_VALUED:
        # argparse takes the next word as the value of `--cov`, whatever it looks like.
        return True
    if exists(following.text.partition("::")[0]):
        return False
    return bool(_WANTS_A_VALUE.search(option)) or not _LIKE_A_PATH.search(following.text)
