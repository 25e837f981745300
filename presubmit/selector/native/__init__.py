"""Native code: from a changed C, C++ or Cython file to the extension modules and the names that can behave otherwise."""

from __future__ import annotations

from presubmit.selector.native.bound import Bound, bound_names, is_quiet
from presubmit.selector.native.built import (
    BuildFacts,
    built_modules,
    join_facts,
    read_build_log,
    read_build_ninja,
    read_compile_commands,
    read_depfile,
    read_ninja_deps,
    read_ninja_log,
    with_facts,
)
from presubmit.selector.native.includes import is_native_file
from presubmit.selector.native.reach import (
    dependents,
    importers,
    modules_importing,
    native_reach,
    owners,
)
from presubmit.selector.native.static import read_native
from presubmit.selector.native.twins import Twin, twins
from presubmit.selector.native.values import Extension, NativeMap, NativeReach

__all__ = [
    "Bound",
    "BuildFacts",
    "Extension",
    "NativeMap",
    "NativeReach",
    "Twin",
    "bound_names",
    "built_modules",
    "dependents",
    "importers",
    "is_native_file",
    "is_quiet",
    "join_facts",
    "modules_importing",
    "native_reach",
    "owners",
    "read_build_log",
    "read_build_ninja",
    "read_compile_commands",
    "read_depfile",
    "read_native",
    "read_ninja_deps",
    "read_ninja_log",
    "twins",
    "with_facts",
]
