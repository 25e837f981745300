"""The order of the house: a module imports only what stands above it (DESIGN, section 2)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# From top to bottom. Names of one line stand side by side and know nothing of each other, unless it is one package.
ORDER: tuple[tuple[str, ...], ...] = (
    ("presubmit",),
    ("presubmit.errors",),
    ("presubmit.process",),
    ("presubmit.values",),
    # Read by a push before anything else: the standard library alone.
    ("presubmit.evidence_key", "presubmit.push"),
    ("presubmit.hook_entry",),
    ("presubmit.runners",),
    ("presubmit.config",),
    ("presubmit.history",),
    ("presubmit.change",),
    ("presubmit.profiles",),
    ("presubmit.upstream",),
    ("presubmit.upstream_options",),
    ("presubmit.selector",),
    ("presubmit.trees",),
    ("presubmit.convention",),
    ("presubmit.bench",),
    ("presubmit.review",),
    ("presubmit.review_tools",),
    ("presubmit.plan_bench", "presubmit.plan_built", "presubmit.overlay"),
    ("presubmit.plan",),
    ("presubmit.facts",),
    ("presubmit.results",),
    ("presubmit.container",),
    ("presubmit.replay",),
    ("presubmit.report",),
    ("presubmit.drafts",),
    ("presubmit.verdict",),
    ("presubmit.evidence",),
    ("presubmit.bench_reading",),
    ("presubmit.reading",),
    ("presubmit.review_reading",),
    ("presubmit.images",),
    ("presubmit.where",),
    ("presubmit.proof",),
    ("presubmit.upstream_reading",),
    ("presubmit.upstream_taking",),
    ("presubmit.recording",),
    ("presubmit.out_of_time",),
    ("presubmit.run",),
    ("presubmit.upstream_run",),
    ("presubmit.run_matrix",),
    ("presubmit.upstream_plan", "presubmit.upstream_eval"),
    ("presubmit.draft_reading",),
    # What the other commands do.
    (
        "presubmit.imagebuild",
        "presubmit.record",
        "presubmit.record_files",
        "presubmit.shell",
        "presubmit.fix",
        "presubmit.clean",
        "presubmit.doctor",
        "presubmit.hooks",
        "presubmit.pushing",
        "presubmit.drafting",
    ),
    ("presubmit.demo",),
    ("presubmit.cli",),
    ("presubmit.__main__",),
)
RANKS = {name: rank for rank, names in enumerate(ORDER) for name in names}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def house_of(module: str) -> str:
    """Give the top-level module or package of presubmit that a module belongs to."""
    return ".".join(module.split(".")[:2])


def imports_of(path: Path) -> set[str]:
    """Give the modules of ours that a file imports when it runs; TYPE_CHECKING imports are none."""
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(path.read_bytes())]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                waiting += node.orelse
            case ast.Import():
                found |= {alias.name for alias in node.names}
            case ast.ImportFrom(module=str(module)):
                names = {f"{module}.{alias.name}" for alias in node.names}
                # `from presubmit import convention` imports a module, `from presubmit import __version__` none.
                found |= names if module == "presubmit" else {module}
            case _:
                waiting += ast.iter_child_nodes(node)
    houses = {house_of(name) for name in found if name.split(".")[0] in {"presubmit", "sessions"}}
    return {name if exists(name) else name.split(".")[0] for name in houses}


def exists(module: str) -> bool:
    path = ROOT / Path(*module.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()


MODULES = sorted((ROOT / "presubmit").rglob("*.py"))


def test_every_module_has_its_place_in_the_order() -> None:
    assert {house_of(module_name(path)) for path in MODULES} == set(RANKS)


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_a_module_imports_only_what_stands_above_it(path: Path) -> None:
    own = house_of(module_name(path))
    below = {name for name in imports_of(path) - {own} if RANKS[name] >= RANKS[own]}
    assert below == set()


def test_presubmit_never_imports_the_sessions() -> None:
    assert not [path for path in MODULES if "sessions" in imports_of(path)]


def test_the_sessions_import_the_replay_of_presubmit_only() -> None:
    paths = [*(ROOT / "sessions").glob("*.py")]
    found = {name for path in paths for name in imports_of(path) if name.startswith("presubmit")}
    assert found == {"presubmit.replay", "presubmit.values"}


def test_the_noxfile_imports_the_sessions_only() -> None:
    assert {name.split(".")[0] for name in imports_of(ROOT / "noxfile.py")} == {"sessions"}


def test_the_scripts_that_run_inside_a_box_import_nothing_of_ours() -> None:
    inside = [*(ROOT / "presubmit/replay/inside").glob("*.py")]
    inside.append(ROOT / "presubmit/replay/pytest_plugin.py")
    assert [imports_of(path) for path in inside] == [set()] * len(inside)
