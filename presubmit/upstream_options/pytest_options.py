"""Which options of an upstream pytest call a narrowed run can keep, and why it drops the others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

# Reports and shards of a whole suite: a narrowed run has no use for them.
_REPORTS: Final = re.compile(
    r"--(?:no-)?cov(?:-|$)|--benchmark-(?:json|save|autosave|compare|histogram|storage)|--(?:codspeed|memray)"
    r"|--(?:report-log|log-file|html|self-contained-html|md|splits?|group|durations|store-durations|resultlog|pastebin)"
    r"|--(?:alluredir|mpl-results-path|mpl-generate|github-|json-report|nunit-xml|ctrf)"
)
# Which plugin adds an option (the plugins' own references). pytest ends with exit 4 where it is not installed.
_PLUGINS: Final = tuple(
    (re.compile(pattern), distribution)
    for distribution, pattern in {
        "pytest-xdist": r"-n$|-d$|--(?:numprocesses|dist|maxprocesses|tx|px|max-worker-restart|maxschedchunk|loadscope-reorder|no-loadscope-reorder|testrunuid|rsyncdir|looponfail)$",
        "pytest-timeout": r"--(?:timeout|timeout-method|timeout-disable-debugger-detection|session-timeout)$",
        "pytest-rerunfailures": r"--(?:reruns|reruns-delay|only-rerun|rerun-except|fail-on-flaky)$",
        "pytest-randomly": r"--randomly-",
        "pytest-random-order": r"--random-order",
        "pytest-benchmark": r"--benchmark-",
        "pytest-asyncio": r"--asyncio-",
        "pytest-doctestplus": r"--doctest-(?:plus|rst|only|ufunc)|--text-file-format",
        "scipy-doctest": r"--doctest-(?:collect|only-doctests)",
        "pytest-cython": r"--(?:doctest-cython|cython-ignore)",
        "pytest-mpl": r"--mpl",
        "pytest-remotedata": r"--remote-data",
        "pytest-arraydiff": r"--arraydiff",
        "hypothesis": r"--hypothesis-",
        "pytest-mypy": r"--mypy(?!-testing)",
        "pytest-mypy-testing": r"--mypy-testing",
        "pytest-mypy-plugins": r"--mypy-(?:ini-file|only-local-stub|pyproject)",
        "pytest-ruff": r"--ruff",
        "pytest-flake8": r"--flake8$",
        "pytest-black": r"--black$",
        "pytest-forked": r"--(?:forked|boxed)$",
        "pytest-django": r"--(?:ds|dc|reuse-db|create-db|migrations|nomigrations|no-migrations|fail-on-template-vars)$",
        "pytest-run-parallel": r"--(?:parallel-threads|iterations|skip-thread-unsafe|mark-warnings-as-unsafe|mark-ctypes-as-unsafe|mark-hypothesis-as-unsafe|ignore-gil-enabled)$",
        "pytest-freethreaded": r"--(?:threads|require-gil-disabled)$",
        "pytest-socket": r"--(?:disable-socket|force-enable-socket|allow-hosts|allow-unix-socket)$",
        "pytest-repeat": r"--(?:count|repeat-scope)$",
        "pytest-order": r"--(?:order-scope|order-group-scope|sparse-ordering|indulgent-ordering)$",
        "pytest-qt": r"--(?:no-qt-log|qt-)",
        "pytest-trio": r"--trio-mode$",
        "pytest-instafail": r"--instafail$",
        "pytest-sugar": r"--(?:old-summary|force-sugar)$",
        "pytest-env": r"--envfile$",
        "pytest-import-check": r"--import-check$",
        "syrupy": r"--snapshot-",
        "pytest-regressions": r"--(?:force-regen|regen-all|with-test-class-names)$",
        "inline-snapshot": r"--inline-snapshot",
        "pytest-examples": r"--update-examples$",
        "pytest-pretty": r"--pretty$",
        "pytest-testmon": r"--testmon",
        "pytest-picked": r"--(?:picked|parent-branch)$",
        "pytest-accept": r"--accept",
        "pytest-subprocess": r"--fp-",
        "pytest-vcr": r"--(?:vcr-|disable-vcr)",
        "pytest-recording": r"--(?:record-mode|block-network|disable-recording|allowed-hosts)$",
    }.items()
)
# What comes with pytest itself, of what `-p` may name (pytest: _pytest/config/__init__.py, default_plugins).
_BUILT_IN: Final = frozenset(
    {
        *("assertion", "cacheprovider", "capture", "debugging", "doctest", "faulthandler", "fixtures"),
        *("junitxml", "legacypath", "logging", "monkeypatch", "nose", "pastebin", "pytester"),
        *("recwarn", "setuponly", "setupplan", "skipping", "stepwise", "subtests", "terminalreporter"),
        *("threadexception", "tmpdir", "unittest", "unraisableexception", "warnings"),
    }
)  # fmt: skip
# The module that `-p` names, where it is not called as its distribution is.
_MODULES: Final = {"xdist": "pytest-xdist", "hypothesispytest": "hypothesis"}
# Which of the interpreter's options keep the plugin from being found, or pytest itself.
_ISOLATING: Final = re.compile(r"-(?=[a-zA-Z]*[EISs])[bBdEIOPqRsSuvx]+")
_VALUED: Final = frozenset({"-n", "-k", "-m", "-p", "-c", "-o", "-W", "-r"})
_ALWAYS_VALUED: Final = frozenset({"-k", "-m"})


def grouped(options: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Give each option with its value: a word that does not begin with a dash belongs to the one before it."""
    position = 0
    while position < len(options):
        following = options[position + 1 : position + 2]
        valued = bool(following) and (
            not following[0].startswith("-") or options[position] in _ALWAYS_VALUED
        )
        yield tuple(options[position : position + 1 + valued])
        position += 1 + valued


def name_of(option: str) -> str:
    """Give an option's name: `-n` of `-n4`, `--dist` of `--dist=load`."""
    return option.partition("=")[0] if option.startswith("--") else option[:2]


def keep_options(
    options: Sequence[str],
    *,
    installed: Callable[[str], bool],
    in_tree: Callable[[str], bool],
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Give the options that can be kept, and those that cannot, each with the reason.

    `installed` is asked of distributions, `in_tree` of paths.
    """
    kept: list[str] = []
    dropped: dict[str, str] = {}
    for words in grouped(options):
        why = _why_not(words, installed, in_tree)
        if why:
            dropped[" ".join(words)] = why
        else:
            kept += words
    return tuple(kept), dropped


def keep_python_options(options: Iterable[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Do the same for the interpreter's own options, `-X dev -W error`."""
    given = tuple(options)
    kept = tuple(o for o in given if not _ISOLATING.fullmatch(o))
    return kept, {o: "it would hide presubmit's plugin" for o in given if _ISOLATING.fullmatch(o)}


def _why_not(
    words: Sequence[str], installed: Callable[[str], bool], in_tree: Callable[[str], bool]
) -> str:
    name = name_of(words[0])
    value = words[0].partition("=")[2] if "=" in words[0] else " ".join(words[1:])
    value = (value or words[0][2:]).strip()
    if name in _VALUED and not value:
        return "its value is not known"
    if _REPORTS.match(name):
        return "a report of the whole suite"
    if name in {"--rootdir", "--confcutdir"}:
        return "the tree's own root counts"
    if name in {"-c", "--config-file"}:
        return "" if in_tree(value) or value == "/dev/null" else "the tree has no such file"
    if name == "-p":
        return _plugin_missing(value, installed, in_tree)
    adding = [distribution for pattern, distribution in _PLUGINS if pattern.match(name)]
    return f"{adding[0]} is not installed" if adding and not any(map(installed, adding)) else ""


def _plugin_missing(
    name: str, installed: Callable[[str], bool], in_tree: Callable[[str], bool]
) -> str:
    """Say why `-p NAME` cannot be followed: pytest ends at once where the module cannot be imported."""
    if name.startswith("no:") or name in _BUILT_IN:
        return ""
    path = name.replace(".", "/")
    if any(in_tree(f"{folder}{path}{end}") for folder in ("", "src/") for end in _MODULE_ENDS):
        return ""
    top = name.partition(".")[0].replace("_", "-")
    distribution = _MODULES.get(top, top)
    return (
        "" if installed(distribution) or installed(f"pytest-{top}") else f"{name} is not installed"
    )


_MODULE_ENDS: Final = (".py", "/__init__.py")
