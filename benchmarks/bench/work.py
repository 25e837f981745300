"""The work that is compared: a package with three functions, each slower on head by so many percent."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

BENCHMARKS: Final = ("python", "native", "allocate")
"""Pure Python, a call into a C extension module, allocation."""

_SETUP = """\
from setuptools import Extension, setup

setup(
    name="toil", version="1", packages=["toil"], package_dir={"": "src"},
    ext_modules=[Extension("toil._native", ["src/toil/_native.c"])],
)
"""
_NATIVE = """\
#include <Python.h>

static PyObject *spin(PyObject *self, PyObject *arg)
{
    long n = PyLong_AsLong(arg);
    volatile double x = 0.0;
    for (long i = 0; i < n; i++) x += 1.0 / (double)(i + 1);
    return PyFloat_FromDouble(x);
}

static PyMethodDef methods[] = {{"spin", spin, METH_O, "Spin."}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native", NULL, -1, methods};
PyMODINIT_FUNC PyInit__native(void) { return PyModule_Create(&module); }
"""
_WORK = '''\
"""Three kinds of work."""

from toil._native import spin


def python():
    """Count in Python."""
    total = 0
    for number in range({python}):
        total += number & 3
    return total


def native():
    """Count in C."""
    return spin({native})


def allocate():
    """Make many small lists."""
    return [[number] for number in range({allocate})]
'''
_COUNTS: Final = {"python": 20_000, "native": 200_000, "allocate": 8_000}
_ASV_BENCH = "import toil\n\n\n" + "\n\n".join(
    f"def time_{name}():\n    toil.{name}()\n" for name in BENCHMARKS
)
_PYTEST_BENCH = "import toil\n\n\n" + "\n\n".join(
    f"def test_{name}(benchmark):\n    benchmark(toil.{name})\n" for name in BENCHMARKS
)
_PYPERF_BENCH = "import pyperf\n\nimport toil\n\nrunner = pyperf.Runner()\n" + "".join(
    f'runner.bench_func("{name}", toil.{name})\n' for name in BENCHMARKS
)
_ASV = """\
{{"version": 1, "project": "toil", "repo": "{repo}", "branches": ["main"], "benchmark_dir": "benchmarks",
 "environment_type": "virtualenv", "env_dir": "{env}", "results_dir": "{results}", "pythons": ["{python}"],
 "matrix": {{}}, "build_cache_size": 10, "install_timeout": 600,
 "build_command": ["python -m pip wheel --no-deps --no-build-isolation -w {{build_cache_dir}} {{build_dir}}"]}}
"""


def module_text(percent: int, *, same: bool = False) -> str:
    """Give the package's source, every function slower by so many percent; `same`: other text, the same work."""
    counts = {name: f"{count * (100 + percent) // 100}" for name, count in _COUNTS.items()}
    if same:
        counts = {name: f"{count} + 0" for name, count in counts.items()}
    return _WORK.format(**counts)


def make_work(folder: Path, percents: tuple[int, ...]) -> Path:
    """Make the repository: `base` on `main`, and a branch `slower-N` for each percentage; give its checkout."""
    top = folder / "work"
    if (top / ".git").exists():
        return top
    files = {
        "setup.py": _SETUP,
        "pyproject.toml": '[build-system]\nrequires = ["setuptools>=70"]\nbuild-backend = "setuptools.build_meta"\n',
        "src/toil/_native.c": _NATIVE,
        "src/toil/__init__.py": module_text(0),
        "benchmarks/__init__.py": "",
        "benchmarks/bench_work.py": _ASV_BENCH,
        "asv.conf.json": '{"version": 1, "project": "toil", "repo": ".", "benchmark_dir": "benchmarks"}\n',
        ".gitignore": "build/\n*.so\n*.egg-info/\n__pycache__/\n.presubmit/\n.benchmarks/\n",
    }
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    git(top, "init", "-q", "-b", "main")
    git(top, "config", "user.name", "a")
    git(top, "config", "user.email", "a@example.org")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "Base")
    git(top, "remote", "add", "upstream", str(top))
    git(top, "update-ref", "refs/remotes/upstream/main", "main")
    for percent in percents:
        git(top, "checkout", "-q", "-b", f"slower-{percent}", "main")
        (top / "src/toil/__init__.py").write_text(module_text(percent, same=percent == 0))
        git(top, "commit", "-q", "-a", "-m", f"Slower by {percent} %")
    git(top, "checkout", "-q", "main")
    return top


def make_asv(folder: Path, top: Path) -> Path:
    """Write asv's configuration outside of the repository."""
    path = folder / "asv" / "asv.conf.json"
    path.parent.mkdir(exist_ok=True)
    (path.parent / "benchmarks").mkdir(exist_ok=True)
    (path.parent / "benchmarks/__init__.py").write_text("")
    (path.parent / "benchmarks/bench_work.py").write_text(_ASV_BENCH)
    path.write_text(
        _ASV.format(
            repo=top,
            env=path.parent / "env",
            results=path.parent / "results",
            python=f"{sys.version_info[0]}.{sys.version_info[1]}",
        )
    )
    return path


def make_sides(folder: Path, top: Path, python: str, percents: tuple[int, ...]) -> dict[str, Path]:
    """Build a checkout in place for the base and each head, for the tools that know of no commits."""
    sides = {}
    for name in ("main", *(f"slower-{percent}" for percent in percents)):
        side = sides[name] = folder / "sides" / name
        if not side.exists():
            git(top, "worktree", "add", "-q", "--detach", str(side), name)
            build = [python, "setup.py", "-q", "build_ext", "--inplace"]
            subprocess.run(build, cwd=side, check=True, capture_output=True)
            (side / "test_work.py").write_text(_PYTEST_BENCH)
            (side / "pyperf_work.py").write_text(_PYPERF_BENCH)
    return sides


def git(top: Path, *arguments: str) -> str:
    """Run git in the checkout."""
    done = subprocess.run(["git", *arguments], cwd=top, capture_output=True, text=True, check=True)
    return done.stdout.strip()
