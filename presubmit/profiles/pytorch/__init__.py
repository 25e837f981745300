"""PyTorch: Python-only changes over an installed torch, every test file in a process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection

    from presubmit.profiles import Tree

NAME: Final = "pytorch"
_MARKS: Final = (
    *("torch/__init__.py", "test/run_test.py", "aten/src/ATen/native/native_functions.yaml"),
)
_PACKAGES: Final = ("torch", "torchgen", "functorch")
COMPILED: Final = (
    *("*.cpp", "*.cc", "*.cxx", "*.c", "*.h", "*.hpp", "*.cu", "*.cuh", "*.mm", "*.metal", "*.S"),
    *("*.cmake", "CMakeLists.txt", "setup.py", "*.pyi.in", "*.in", "build_variables.bzl"),
    *("third_party/**", "c10/**", "aten/**", "caffe2/**", "cmake/**", "torch/csrc/**"),
    *("torch/headeronly/**", "torchgen/**", "tools/autograd/**", "tools/pyi/**", "version.txt"),
    *("tools/setup_helpers/**", "tools/jit/**"),
    # Compiled by tests, or by nobody who tests in Python.
    *("!test/cpp_extensions/**", "!benchmarks/**", "!docs/**", "!android/**", "!ios/**"),
)
"""Files that torch is built from. torchgen and the generators under tools/ are Python that writes C++."""


def recognises(paths: Collection[str]) -> bool:
    """Tell a checkout of PyTorch."""
    return all(path in paths for path in _MARKS)


def options_of(tree: Tree) -> dict[str, tuple[Any, str]]:
    """Give how PyTorch is built and tested, by what the checkout says."""
    by = f"profile {NAME}"
    packages = tuple(name for name in _PACKAGES if f"{name}/__init__.py" in tree.blobs)
    return {
        "build.mode": ("overlay", f"{by}: a Python-only change needs no build"),
        "build.overlay": (packages, f"{by}: {', '.join(packages)}"),
        "build.compiled": (COMPILED, f"{by}: what torch is compiled from"),
        "build.packages": (_packages(tree), f"{by}: what the test files import"),
        "tests.command": (("pytest",), f"{by}: test/run_test.py runs each file by itself"),
        "tests.apart": (True, f"{by}: test/run_test.py runs each file by itself"),
        "tests.path": (("test",), f"{by}: test files import one another"),
        # The test files behave otherwise in CI: they pipe logs, fetch statistics and cut what runs long.
        "tests.env": (("CI=",), f"{by}: what CI alone turns on"),
        "tests.record": ("no", f"{by}: a recorded run of all takes a day"),
        "docs.doctests": ("no", f"{by}: they are a test of their own"),
    }


def _packages(tree: Tree) -> tuple[str, ...]:
    runner = tree.text("test/run_test.py") or ""
    # pkg_resources went with setuptools 81.
    setuptools = "setuptools<81" if "pkg_resources" in runner else "setuptools"
    return (setuptools, "pytest", "expecttest", "hypothesis")
