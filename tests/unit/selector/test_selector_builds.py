"""Builds are kept by the build files that decide what is compiled into what."""

from __future__ import annotations

import pytest

from presubmit.selector.builds import build_key, load_built, store_built
from presubmit.selector.cache import Kind, MemoryCache
from presubmit.selector.native.exact import Built

FILES = {
    "setup.py": "1",
    "meson.build": "1",
    "cmake/x.cmake": "1",
    "version.py": "1",
    "tools/gen.py": "1",
    "pkg/a.py": "1",
    "src/a.c": "1",
}
SETUP = b"import os\nfrom tools import gen\n"


def key(**changed: str) -> str:
    files = FILES | {
        name.replace("__", "/").replace("_DOT_", "."): it for name, it in changed.items()
    }
    return build_key(files, lambda _: SETUP)


@pytest.mark.parametrize(
    "name",
    [
        "setup_DOT_py",
        "meson_DOT_build",
        "cmake__x_DOT_cmake",
        "version_DOT_py",
        "tools__gen_DOT_py",
    ],
)
def test_a_changed_build_file_or_helper_of_setup_is_another_build(name: str) -> None:
    assert key(**{name: "2"}) != key()


@pytest.mark.parametrize("name", ["pkg__a_DOT_py", "src__a_DOT_c"])
def test_a_changed_source_is_the_same_build(name: str) -> None:
    assert key(**{name: "2"}) == key()


def test_a_kept_build_comes_back_and_a_damaged_one_is_none() -> None:
    cache = MemoryCache()
    built = Built(modules={"pkg._x": ("a.c",)}, whole=True, files={"a.c": "1"})
    store_built(cache, "k", built)
    assert load_built(cache, "k") == built
    assert load_built(cache, "other") is None
    cache.entries[Kind.BUILT]["k"] = b"\xc1junk"
    assert load_built(cache, "k") is None


def test_a_name_that_is_not_utf8_is_not_kept() -> None:
    cache = MemoryCache()
    store_built(cache, "k", Built(files={"\udcff.c": "1"}))
    assert load_built(cache, "k") is None
