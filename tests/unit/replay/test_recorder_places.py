"""Files by their place in the tree."""

from __future__ import annotations

import sysconfig
from typing import TYPE_CHECKING

from presubmit.replay.inside.presubmit_recorder.places import Places

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_file_is_named_from_the_root(tmp_path: Path) -> None:
    places = Places(str(tmp_path))
    assert places.relative(f"{tmp_path}/a/../b/c.txt") == "b/c.txt"
    assert places.relative(str(tmp_path)) == "."
    assert places.relative("/elsewhere") is None
    assert places.relative(f"{tmp_path}x/y") is None


def test_what_is_installed_cached_or_gits_is_no_part_of_the_tree(tmp_path: Path) -> None:
    places = Places(str(tmp_path))
    for name in (".venv/lib/site-packages/x.py", "__pycache__/a.pyc", ".git/HEAD"):
        assert places.relative(f"{tmp_path}/{name}") is None


def test_a_link_names_both_ends(tmp_path: Path) -> None:
    (tmp_path / "real.txt").touch()
    (tmp_path / "link.txt").symlink_to("real.txt")
    assert Places(str(tmp_path)).both(f"{tmp_path}/link.txt") == {"link.txt", "real.txt"}


def test_a_root_behind_a_link_is_the_same_root(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert Places(f"{tmp_path}/link").relative(f"{tmp_path}/real/a.py") == "a.py"


def test_made_up_code_and_lost_files_are_not_traced(tmp_path: Path) -> None:
    places = Places(str(tmp_path))
    assert places.traced("<template>") is None
    assert places.traced(f"{tmp_path}/gone.py") is None


def test_an_installed_copy_counts_as_the_trees_own_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, site = tmp_path / "tree", tmp_path / "site"
    for folder in (tree / "src/pkg", site / "pkg"):
        folder.mkdir(parents=True)
        (folder / "same.py").write_text("x = 1\n")
    (tree / "src/pkg/other.py").write_text("x = 2\n")
    (site / "pkg/other.py").write_text("x = 3\n")
    paths = {"purelib": str(site), "platlib": str(site)}
    monkeypatch.setattr(sysconfig, "get_paths", lambda: paths)
    places = Places(str(tree))
    assert places.traced(f"{site}/pkg/same.py") == "src/pkg/same.py"
    assert places.traced(f"{site}/pkg/other.py") is None
    assert places.stale == {"src/pkg/other.py"}
