"""What kind of work a tool does, and what a name (`py312-lint`, `docs`, `test_all`) says of it."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Kind(StrEnum):
    """What a command is for."""

    INSTALL = "install"
    BUILD = "build"
    TEST = "test"
    LINT = "lint"
    DOCS = "docs"
    BENCH = "bench"
    SETUP = "setup"
    """Prepares the machine: system packages, git, folders, environments."""
    SILENT = "silent"
    """Prints or looks, and changes nothing."""
    RELEASE = "release"
    OTHER = "other"


_TOOLS: Final[Mapping[Kind, str]] = {
    Kind.TEST: "pytest py.test unittest nose nose2 ctest stestr trial green ward behave runtests",
    Kind.LINT: "ruff flake8 mypy dmypy pyright basedpyright ty pyrefly pytype pylint black isort pre-commit prek "
    "lintrunner codespell bandit pydocstyle pycodestyle pyflakes pyupgrade vulture zizmor actionlint yamllint "
    "clang-format clang-tidy cpplint cppcheck shellcheck check-manifest interrogate validate-pyproject typos taplo "
    "djlint cython-lint mdformat rstcheck doc8 reuse deptry tach xenon radon prospector yapf autopep8 blue "
    "cmake-format cmake-lint gersemi stubtest pip-audit safety semgrep pymarkdown proselint import-linter "
    "lint-imports fixit pyroma numpydoc eslint prettier abi3audit tox-ini-fmt pyproject-fmt towncrier-check",
    Kind.DOCS: "sphinx-build sphinx sphinx-autobuild mkdocs pdoc pdoc3 doctest xdoctest jupyter-book myst jb "
    "doxygen zensical lychee towncrier",
    Kind.BENCH: "asv pyperf codspeed airspeed-velocity",
    Kind.BUILD: "build cibuildwheel maturin meson ninja auditwheel cython cythonize gcc g++ clang clang++ cc c++ "
    "scikit-build cargo flit delocate-wheel twine check-wheel-contents pyodide pyodide-build check-sdist",
    Kind.SETUP: "apt apt-get aptitude dnf yum apk pacman zypper brew choco snap dpkg git conda mamba micromamba "
    "rustup npm yarn pnpm mkdir rm cp mv ln chmod chown touch tar unzip curl wget tee sed awk patch source . "
    "locale-gen update-alternatives systemctl service sysctl venv virtualenv ensurepip Xvfb xvfb sway sleep ccache sccache "
    "docker docker-compose psql mysql add-apt-repository apt-key ldconfig hash modprobe kill pkill swapon fallocate "
    "dbus-launch playwright vcpkg conan corepack sphinx-apidoc find xargs install",
    Kind.SILENT: "echo printf ls cat pwd env which type true false : df free lscpu nproc uname date head tail grep "
    "ulimit whoami id python-version hostname du wc file md5sum sha256sum basename dirname sort diff test [ [[ "
    "command printenv read coverage gcov lcov gcovr coveralls codecov jq site getconf ldd time tree cut tr",
    Kind.RELEASE: "gh gpg cosign semantic-release bump2version",
}
_KIND_OF_TOOL: Final = {name: kind for kind, names in _TOOLS.items() for name in names.split()}

# In this order: `docs-lint` is a lint, `test-docs` is about the docs, `build-tests` tests.
_NAMES: Final = (
    (
        Kind.RELEASE,
        r"release|publish|upload|deploy|changelog|notes|bump|tag|announce|stale|labell?er|labels?|update|generate",
    ),
    (
        Kind.LINT,
        (
            r"lint\w*|linters?|style|mypy|typing|types?|typecheck\w*|precommit|flake8|pep8|ruff|black|isort|pylint|fmt|format\w*"
            r"|check|checks|codestyle|pyright|ty|stubtest|spelling|codespell|security|bandit|manifest|tidy|quality|zizmor"
        ),
    ),
    (
        Kind.DOCS,
        r"docs?|sphinx|documentation|html|doctests?|doctesting|linkcheck|checklinks|mkdocs|rtd|docset|website",
    ),
    (Kind.BENCH, r"bench\w*|asv|codspeed|perf|performance|profil\w+"),
    (
        Kind.TEST,
        (
            r"tests?|testing|tested|unit|unittests?|pytest|py|py\d+t?|pypy\d*|cpython|coverage|cov|nightly|nightlies|smoke|spec"
            r"|integration|fuzz\w*|sanitizers?|valgrind|memleaks?|leaks?"
        ),
    ),
    (
        Kind.BUILD,
        r"build\w*|wheels?|sdist|dist|dists|packages?|packaging|pkg|compile|ext|cython|inplace|install|all|cibuildwheel",
    ),
)
_PREPARES: Final = frozenset(
    {"install", "setup", "deps", "bootstrap", "clean", "init", "configure", "develop"}
)
_PATTERNS: Final = tuple((kind, re.compile(pattern)) for kind, pattern in _NAMES)
_STRONGEST: Final = (Kind.TEST, Kind.BENCH, Kind.DOCS, Kind.LINT, Kind.BUILD, Kind.RELEASE)


def kind_of_tool(name: str) -> Kind | None:
    """Give the kind of a program by its name, None where it is not known."""
    bare = name.rpartition("/")[2].removesuffix(".exe").replace("_", "-")
    return _KIND_OF_TOOL.get(bare) or _KIND_OF_TOOL.get(re.sub(r"-?\d+(\.\d+)*$", "", bare))


def kind_of_name(name: str) -> Kind | None:
    """Say what a job, an environment, a session or a target is for by its name; None where it says nothing."""
    name = re.sub(r"pre[-_]commit", "precommit", name.lower())
    words = [word for word in re.split(r"[^a-z0-9]+", name) if word]
    if words and words[0] in _PREPARES:
        return Kind.SETUP
    for kind, pattern in _PATTERNS:
        if any(pattern.fullmatch(word) for word in words):
            return kind
    return None


def kinds_of_name(name: str) -> frozenset[Kind]:
    """Give everything that a name speaks of: `lint-and-test` of two."""
    words = re.split(r"[^a-z0-9]+", re.sub(r"pre[-_]commit", "precommit", name.lower()))
    return frozenset(
        kind for kind, pattern in _PATTERNS if any(pattern.fullmatch(word) for word in words)
    )


def strongest(kinds: Iterable[Kind]) -> Kind:
    """Give what several kinds amount to: a job that tests and lints is there for its tests."""
    present = set(kinds)
    return next((kind for kind in _STRONGEST if kind in present), Kind.OTHER)
