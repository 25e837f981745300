from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

import pytest

from presubmit.selector import Cache, Imports, MemoryCache, Source, SqliteCache, read_tree
from presubmit.selector.cache import Kind
from presubmit.selector.graph import build_graph
from presubmit.selector.layout import make_layout

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from presubmit.selector import Tree
    from presubmit.selector.graph import Graph


class Git:
    """Files by content, and how often each content was read."""

    def __init__(self, files: dict[str, str], modes: dict[str, str] | None = None) -> None:
        self.files = files
        self.modes = dict.fromkeys(files, "100644") | (modes or {})
        self.read: list[str] = []

    def source(self) -> Source:
        blobs = {path: f"blob of {text}" for path, text in self.files.items()}
        return Source(blobs=blobs, modes=self.modes, read=self._read)

    def _read(self, blobs: Iterable[str]) -> dict[str, bytes]:
        wanted = list(blobs)
        self.read += wanted
        return {blob: blob.removeprefix("blob of ").encode() for blob in wanted}


def tree_of(files: dict[str, str], cache: Cache | None = None) -> Tree:
    return read_tree(Git(files).source(), cache=cache)


def test_a_tree_is_read_with_its_configuration() -> None:
    tree = tree_of({"a.py": "import b", "pyproject.toml": "x = 1", "sub/setup.cfg": ""})
    assert tree.imports["a.py"].names == ("b",)
    assert list(tree.configs) == ["pyproject.toml", "sub/setup.cfg"]


def test_links_are_followed_inside_the_tree_only() -> None:
    files = {
        "pkg/a.py": "",
        "near.py": "pkg/a.py",
        "pkg/up.py": "../pkg/a.py",
        "twice.py": "near.py",
        "folder": "pkg",
        "out.py": "../secret.py",
        "root.py": "/etc/passwd",
        "circle.py": "circle.py",
        "nowhere.py": "gone.py",
    }
    links = dict.fromkeys((path for path in files if path != "pkg/a.py"), "120000")
    tree = read_tree(Git(files, links).source())
    assert tree.links == {
        "near.py": "pkg/a.py",
        "pkg/up.py": "pkg/a.py",
        "twice.py": "pkg/a.py",
        "folder": "pkg",
        "out.py": "",
        "root.py": "",
        "circle.py": "",
        "nowhere.py": "",
    }
    assert list(tree.imports) == ["pkg/a.py"]


def test_a_changed_mode_is_noted() -> None:
    head = Git({"a.py": "", "b.py": ""}, {"a.py": "100755"})
    base = Git({"a.py": "", "b.py": ""})
    tree = read_tree(head.source(), base=base.source(), changed=["a.py", "b.py", "new.py"])
    assert tree.modes == {"a.py"}


def test_a_file_that_cannot_be_parsed_is_noted() -> None:
    assert set(tree_of({"a.py": "def (", "b.py": ""}).problems) == {"a.py"}


def test_a_name_that_is_no_utf8_survives(tmp_path: Path) -> None:
    name = os.fsdecode(b"m\xff.py")
    with SqliteCache(tmp_path / "cache.db") as cache:
        for _ in range(2):
            assert tree_of({name: "from . import x"}, cache).imports[name].names


@pytest.fixture(params=["memory", "sqlite"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cache]:
    if request.param == "memory":
        yield MemoryCache()
        return
    with SqliteCache(tmp_path / "folder" / "cache.db") as made:
        yield made


def test_a_second_reading_reads_nothing(cache: Cache) -> None:
    files = {"a.py": "import b", "c.py": "import d"}
    first = dict(tree_of(files, cache).imports)
    git = Git(files)
    assert dict(read_tree(git.source(), cache=cache).imports) == first
    assert git.read == []


def test_a_changed_file_is_parsed_again(cache: Cache) -> None:
    tree_of({"a.py": "import b"}, cache)
    assert tree_of({"a.py": "import z"}, cache).imports["a.py"].names == ("z",)


def test_the_same_text_elsewhere_resolves_its_own_relative_imports(cache: Cache) -> None:
    tree = tree_of({"p/a.py": "from . import x", "q/a.py": "from . import x"}, cache)
    assert "p.x" in tree.imports["p/a.py"].names
    assert "q.x" in tree.imports["q/a.py"].names


def test_shapes_are_read_once_and_only_for_what_is_asked(cache: Cache) -> None:
    git = Git({"a.py": "def f(): return 1", "b.py": ""})
    for _ in range(2):
        shapes = git.source().shapes(["a.py", "gone.py"], cache)
        assert [it.qualname for it in shapes["a.py"].elements] == ["<module>", "f"]
    assert len(git.read) == 1


# --- many files -------------------------------------------------------------------------------------------------------


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat a handful of files as many."""
    for module in ("packed", "edges"):
        monkeypatch.setattr(f"presubmit.selector.{module}._WORTH", 3)
        monkeypatch.setattr(f"presubmit.selector.{module}._STALE", 0)


MANY = {
    "pkg/__init__.py": "",
    "pkg/a.py": "import pkg.b",
    "pkg/b.py": "",
    "tests/test_a.py": "import pkg.a",
    "tests/broken.py": "def (",
}


def graph_of(files: dict[str, str], cache: Cache | None) -> Graph:
    tree = tree_of(files, cache)
    layout = make_layout(tree.paths, tree.configs)
    return build_graph(layout, tree.imports, blobs=tree.blobs, cache=cache)


@pytest.mark.usefixtures("packed")
def test_many_files_are_kept_in_one_row(cache: Cache) -> None:
    first = tree_of(MANY, cache)
    if isinstance(cache, MemoryCache):
        cache.entries[Kind.IMPORTS].clear()
    git = Git(MANY)
    again = read_tree(git.source(), cache=cache)
    assert git.read == []
    assert dict(again.imports) == dict(first.imports)
    assert again.problems == first.problems


@pytest.mark.usefixtures("packed")
@pytest.mark.parametrize(
    "edit",
    [
        {},
        {"pkg/b.py": "import pkg.c"},
        {"pkg/a.py": ""},
        {"pkg/c.py": "", "pkg/b.py": "from pkg import c"},
        {"pyproject.toml": "[project.scripts]\ntool = 'pkg.b:main'\n", "pkg/b.py": "'tool'"},
    ],
)
def test_a_kept_graph_is_the_graph_that_would_be_made(edit: dict[str, str], cache: Cache) -> None:
    graph_of(MANY, cache)
    edited = MANY | edit
    assert graph_of(edited, cache).dependents == graph_of(edited, None).dependents


@pytest.mark.usefixtures("packed")
def test_what_is_kept_may_be_junk() -> None:
    cache = MemoryCache()
    wanted = graph_of(MANY, cache).dependents
    for key in cache.entries[Kind.PACKS]:
        cache.entries[Kind.PACKS][key] = b"junk"
    assert graph_of(MANY, cache).dependents == wanted


# --- the database -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "junk", [b"no database at all" * 100, b"", b"SQLite format 3\x00" + b"x" * 99]
)
def test_a_broken_database_is_made_anew(tmp_path: Path, junk: bytes) -> None:
    path = tmp_path / "cache.db"
    path.write_bytes(junk)
    with SqliteCache(path) as cache:
        cache.store(Kind.SHAPES, {"k": b"x"})
    with SqliteCache(path) as cache:
        assert cache.load(Kind.SHAPES, ["k", "missing"]) == {"k": b"x"}


def test_tables_of_another_form_are_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE imports (other TEXT)")
    connection.close()
    with SqliteCache(path) as cache:
        cache.store(Kind.IMPORTS, {"k": b"x"})
        assert cache.load(Kind.IMPORTS, ["k"]) == {"k": b"x"}


def test_a_broken_row_counts_as_absent(cache: Cache) -> None:
    files = {"a.py": "import b"}
    tree_of(files, cache)
    key = f"{next(iter(_keys(cache)))}"
    cache.store(Kind.IMPORTS, {key: b"junk"})
    assert tree_of(files, cache).imports["a.py"] == Imports(names=("b",))


def _keys(cache: Cache) -> list[str]:
    if isinstance(cache, MemoryCache):
        return list(cache.entries[Kind.IMPORTS])
    assert isinstance(cache, SqliteCache)
    connection = sqlite3.connect(cache.path)
    keys = [str(row[0]) for row in connection.execute("SELECT key FROM imports")]
    connection.close()
    return keys


def test_a_place_that_cannot_hold_a_database_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with SqliteCache(tmp_path / "file" / "cache.db") as cache:
        cache.store(Kind.PACKS, {"k": b"x"})
        assert cache.load(Kind.PACKS, ["k"]) == {}


def test_a_closed_cache_is_an_empty_one(tmp_path: Path) -> None:
    cache = SqliteCache(tmp_path / "cache.db")
    cache.close()
    cache.close()
    cache.store(Kind.PACKS, {"k": b"x"})
    assert cache.load(Kind.PACKS, ["k"]) == {}


def test_the_oldest_packs_are_forgotten(tmp_path: Path) -> None:
    with SqliteCache(tmp_path / "cache.db") as cache:
        for number in range(10):
            cache.store(Kind.PACKS, {str(number): b"x"})
        left = cache.load(Kind.PACKS, [str(number) for number in range(10)])
    assert "9" in left
    assert "0" not in left


# --- processes --------------------------------------------------------------------------------------------------------


def test_many_files_are_parsed_on_every_core(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"m{number}.py": f"import x{number}" for number in range(5)}
    alone = dict(tree_of(files).imports)
    monkeypatch.setattr("presubmit.selector.processes._MANY", 2)
    assert dict(tree_of(files).imports) == alone


def test_without_room_for_processes_one_core_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr("presubmit.selector.processes._MANY", 1)
    monkeypatch.setattr("concurrent.futures.ProcessPoolExecutor", refuse)
    assert tree_of({"a.py": "import b"}).imports["a.py"].names == ("b",)
