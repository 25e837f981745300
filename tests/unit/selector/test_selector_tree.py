from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

import pytest

from presubmit.selector import ImportCache, Imports, MemoryCache, SqliteCache, read_tree
from presubmit.selector.tree import _blob_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def write(root: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return sorted(files)


def test_a_tree_is_read_with_its_configuration(tmp_path: Path) -> None:
    paths = write(tmp_path, {"a.py": "import b", "pyproject.toml": "x = 1", "sub/setup.cfg": ""})
    tree = read_tree(tmp_path, paths)
    assert tree.imports["a.py"].names == ("b",)
    assert set(tree.configs) == {"pyproject.toml", "sub/setup.cfg"}


def test_nothing_outside_the_tree_is_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, {"secret.py": "import secret"})
    root = tmp_path / "root"
    write(root, {"a.py": ""})
    (root / "link.py").symlink_to(outside / "secret.py")
    (root / "inner.py").symlink_to("a.py")
    (root / "folder").symlink_to(outside)
    paths = ["a.py", "link.py", "inner.py", "folder/secret.py", "../outside/secret.py", "gone.py"]
    tree = read_tree(root, paths)
    assert set(tree.imports) == {"a.py"}
    assert tree.links == {"link.py": "", "inner.py": "a.py"}
    assert set(tree.unread) == {"folder/secret.py", "../outside/secret.py", "gone.py"}


def test_what_is_no_plain_file_blocks_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "folder.py").mkdir()
    tree = read_tree(tmp_path, ["pipe.py", "folder.py"])
    assert set(tree.unread) == {"pipe.py", "folder.py"}


def test_a_name_that_is_no_utf8_survives(tmp_path: Path) -> None:
    name = os.fsdecode(b"m\xff.py")
    (tmp_path / name).write_text("from . import x")
    with SqliteCache(tmp_path / "cache.db") as cache:
        tree = read_tree(tmp_path, [name], cache=cache)
        assert read_tree(tmp_path, [name], cache=cache) == tree
    assert tree.imports[name].names


@pytest.fixture(params=["memory", "sqlite"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ImportCache]:
    if request.param == "memory":
        yield MemoryCache()
        return
    with SqliteCache(tmp_path / "folder" / "cache.db") as made:
        yield made


def test_a_second_reading_parses_nothing(
    cache: ImportCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = write(tmp_path, {"a.py": "import b", "c.py": "import d"})
    first = read_tree(tmp_path, paths, cache=cache)
    monkeypatch.setattr("presubmit.selector.tree.read_imports", None)
    assert read_tree(tmp_path, paths, cache=cache) == first


def test_a_changed_file_is_parsed_again(cache: ImportCache, tmp_path: Path) -> None:
    paths = write(tmp_path, {"a.py": "import b"})
    read_tree(tmp_path, paths, cache=cache)
    write(tmp_path, {"a.py": "import z"})
    assert read_tree(tmp_path, paths, cache=cache).imports["a.py"].names == ("z",)


def test_known_blobs_are_not_even_read(cache: ImportCache, tmp_path: Path) -> None:
    paths = write(tmp_path, {"a.py": "import b"})
    blobs = {"a.py": _blob_id(b"import b")}
    first = read_tree(tmp_path, paths, cache=cache, blobs=blobs)
    (tmp_path / "a.py").unlink()
    assert read_tree(tmp_path, paths, cache=cache, blobs=blobs).imports == first.imports


def test_the_same_text_elsewhere_resolves_its_own_relative_imports(
    cache: ImportCache, tmp_path: Path
) -> None:
    paths = write(tmp_path, {"p/a.py": "from . import x", "q/a.py": "from . import x"})
    tree = read_tree(tmp_path, paths, cache=cache)
    assert "p.x" in tree.imports["p/a.py"].names
    assert "q.x" in tree.imports["q/a.py"].names


@pytest.mark.parametrize(
    "junk", [b"no database at all" * 100, b"", b"SQLite format 3\x00" + b"x" * 99]
)
def test_a_broken_database_is_made_anew(tmp_path: Path, junk: bytes) -> None:
    path = tmp_path / "cache.db"
    path.write_bytes(junk)
    with SqliteCache(path) as cache:
        cache.store({"k": Imports(names=("x",))})
    with SqliteCache(path) as cache:
        assert cache.load(["k", "missing"]) == {"k": Imports(names=("x",))}


def test_a_table_of_another_form_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE imports (other TEXT)")
    connection.close()
    with SqliteCache(path) as cache:
        cache.store({"k": Imports()})
        assert cache.load(["k"]) == {"k": Imports()}


def test_a_broken_row_counts_as_absent(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    with SqliteCache(path) as cache:
        cache.store({"k": Imports()})
    connection = sqlite3.connect(path)
    connection.execute("UPDATE imports SET value = 'junk'")
    connection.commit()
    connection.close()
    with SqliteCache(path) as cache:
        assert cache.load(["k"]) == {}


def test_a_place_that_cannot_hold_a_database_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with SqliteCache(tmp_path / "file" / "cache.db") as cache:
        cache.store({"k": Imports()})
        assert cache.load(["k"]) == {}


def test_a_closed_cache_is_an_empty_one(tmp_path: Path) -> None:
    cache = SqliteCache(tmp_path / "cache.db")
    cache.close()
    cache.close()
    cache.store({"k": Imports()})
    assert cache.load(["k"]) == {}


def test_many_files_are_parsed_on_every_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = write(tmp_path, {f"m{number}.py": f"import x{number}" for number in range(5)})
    alone = read_tree(tmp_path, paths)
    monkeypatch.setattr("presubmit.selector.tree._MANY", 2)
    assert read_tree(tmp_path, paths) == alone


def test_without_room_for_processes_one_core_does_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr("presubmit.selector.tree._MANY", 1)
    monkeypatch.setattr("presubmit.selector.tree.ProcessPoolExecutor", refuse)
    paths = write(tmp_path, {"a.py": "import b"})
    assert read_tree(tmp_path, paths).imports["a.py"].names == ("b",)
