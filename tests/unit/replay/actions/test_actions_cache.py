"""actions/cache keeps what a job built for the next run."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from presubmit.replay.actions import cache
from presubmit.replay.job.action import ActionFailedError
from tests.unit.replay.actions.fake import FakeStep, tree

if TYPE_CHECKING:
    from pathlib import Path


def step_of(folder: Path, part: str = "", **inputs: str) -> FakeStep:
    named = {name.replace("_", "-"): value for name, value in inputs.items()}
    return FakeStep(folder, f"actions/cache{part}@v4", named)


def whole(folder: Path, files: dict[str, str], **inputs: str) -> FakeStep:
    """Run a job with the action: its main part, what the job builds, and its post part."""
    step = step_of(folder, **inputs)
    shutil.rmtree(step.workspace)
    step.workspace.mkdir()
    cache.run(step)
    step.write(files)
    cache.post(step)
    return step


def test_a_miss_leaves_cache_hit_empty_and_saves(tmp_path: Path) -> None:
    step = whole(tmp_path, {"built/x": "1"}, path="built", key="k-1")
    assert "cache-hit" not in step.outputs
    assert "Cache saved with key: k-1" in step.log


def test_the_very_key_is_a_hit_and_brings_the_files_back(tmp_path: Path) -> None:
    whole(tmp_path, {"built/x": "1"}, path="built", key="k-1")
    step = step_of(tmp_path, path="built", key="k-1")
    shutil.rmtree(step.workspace)
    step.workspace.mkdir()
    cache.run(step)
    assert step.outputs == {"cache-hit": "true"}
    assert tree(step.workspace) == {"built/x": "1"}
    cache.post(step)
    assert "Cache hit occurred on the primary key k-1, not saving cache." in step.log


def test_a_restore_key_is_a_prefix_and_no_hit(tmp_path: Path) -> None:
    whole(tmp_path, {"built/x": "1"}, path="built", key="k-1")
    whole(tmp_path, {"built/x": "2"}, path="built", key="k-2")
    step = whole(tmp_path, {}, path="built", key="k-3", restore_keys="other-\nk-")
    assert step.outputs == {"cache-hit": "false"}
    assert tree(step.workspace) == {"built/x": "2"}
    assert "Cache saved with key: k-3" in step.log


def test_the_key_itself_is_tried_as_a_prefix_before_the_restore_keys(tmp_path: Path) -> None:
    whole(tmp_path, {"built/x": "1"}, path="built", key="k-1-long")
    whole(tmp_path, {"built/x": "2"}, path="built", key="other")
    step = whole(tmp_path, {}, path="built", key="k-1", restore_keys="o")
    assert (step.outputs, tree(step.workspace)) == ({"cache-hit": "false"}, {"built/x": "1"})


def test_other_paths_are_another_cache(tmp_path: Path) -> None:
    whole(tmp_path, {"built/x": "1"}, path="built", key="k-1")
    assert whole(tmp_path, {}, path="built\nmore", key="k-1").outputs == {}


def test_an_entry_is_never_written_twice(tmp_path: Path) -> None:
    whole(tmp_path, {"built/x": "1"}, path="built", key="k-1")
    step = step_of(tmp_path, "/save", path="built", key="k-1")
    step.write({"built/x": "2"})
    cache.run(step)
    assert any("exists already" in line for line in step.log)
    again = whole(tmp_path, {}, path="built", key="k-1")
    assert tree(again.workspace) == {"built/x": "1"}


def test_restoring_alone_tells_the_keys_and_saves_nothing(tmp_path: Path) -> None:
    whole(tmp_path, {"built/x": "1"}, path="built", key="k-1")
    step = step_of(tmp_path, "/restore", path="built", key="k-2", restore_keys="k-")
    cache.run(step)
    cache.post(step)
    assert step.outputs == {
        "cache-primary-key": "k-2",
        "cache-matched-key": "k-1",
        "cache-hit": "false",
    }
    assert not any("saved" in line for line in step.log)


def test_looking_up_lays_nothing_down(tmp_path: Path) -> None:
    whole(tmp_path, {"built/x": "1"}, path="built", key="k-1")
    step = step_of(tmp_path, "/restore", path="built", key="k-1", lookup_only="true")
    shutil.rmtree(step.workspace / "built")
    cache.run(step)
    assert (step.outputs["cache-hit"], tree(step.workspace)) == ("true", {})


def test_a_miss_fails_where_that_is_asked(tmp_path: Path) -> None:
    step = step_of(tmp_path, path="built", key="k", fail_on_cache_miss="true")
    with pytest.raises(ActionFailedError, match=r"fail-on-cache-miss is set\. Input key: k"):
        cache.run(step)


def test_paths_outside_the_workspace_wildcards_and_exclusions_are_kept(tmp_path: Path) -> None:
    inputs = {"path": "~/.cache/x\n*.o\n! b.o", "key": "k"}
    step = step_of(tmp_path, **inputs)
    kept = tmp_path / "home/.cache/x/y"
    kept.parent.mkdir(parents=True)
    kept.write_text("Y")
    cache.run(step)
    step.write({"a.o": "A", "b.o": "B"})
    cache.post(step)
    shutil.rmtree(kept.parent)
    for name in ("a.o", "b.o"):
        (step.workspace / name).unlink()
    cache.run(step_of(tmp_path, **inputs))
    assert (kept.read_text(), tree(step.workspace)) == ("Y", {"a.o": "A"})


def test_modes_and_links_survive_a_cache(tmp_path: Path) -> None:
    step = step_of(tmp_path, "/save", path="built", key="k")
    step.write({"built/tool": "x"})
    (step.workspace / "built/tool").chmod(0o755)
    (step.workspace / "built/link").symlink_to("tool")
    cache.run(step)
    shutil.rmtree(step.workspace / "built")
    cache.run(step_of(tmp_path, "/restore", path="built", key="k"))
    assert (step.workspace / "built/link").is_symlink()
    assert (step.workspace / "built/tool").stat().st_mode & 0o111


def test_nothing_to_save_is_a_warning(tmp_path: Path) -> None:
    step = step_of(tmp_path, "/save", path="nowhere", key="k")
    cache.run(step)
    assert step.annotations[0][0] == "warning"
    assert "do(es) not exist" in step.annotations[0][1]


@pytest.mark.parametrize("key", ["a,b", "x" * 513])
def test_a_key_that_github_refuses_fails(tmp_path: Path, key: str) -> None:
    with pytest.raises(ActionFailedError, match="Key Validation Error"):
        cache.run(step_of(tmp_path, path="built", key=key))


def test_more_than_ten_keys_fail(tmp_path: Path) -> None:
    keys = "\n".join(f"k{number}" for number in range(10))
    with pytest.raises(ActionFailedError, match="maximum of 10"):
        cache.run(step_of(tmp_path, path="built", key="k", restore_keys=keys))


@pytest.mark.parametrize("missing", ["key", "path"])
def test_what_is_required_is_required(tmp_path: Path, missing: str) -> None:
    inputs = {"key": "k", "path": "p"} | {missing: ""}
    with pytest.raises(ActionFailedError, match=f"not supplied: {missing}"):
        cache.run(step_of(tmp_path, **inputs))


def test_letter_case_does_not_make_another_key_a_miss(tmp_path: Path) -> None:
    step = step_of(tmp_path, path="built", key="K-1")
    step.state.update({"key": "K-1", "matched": "k-1"})
    step.write({"built/x": "1"})
    cache.post(step)
    assert step.log == ["Cache hit occurred on the primary key K-1, not saving cache."]


def test_damaged_entries_are_passed_over(tmp_path: Path) -> None:
    whole(tmp_path, {"built/x": "1"}, path="built", key="k-1")
    for file in (tmp_path / "caches").rglob("*.json"):
        file.with_name("broken.json").write_text('{"key": "k-0"}\nnonsense\n')
    assert whole(tmp_path, {}, path="built", key="k-1").outputs == {"cache-hit": "true"}


def test_a_damaged_archive_is_a_miss_with_a_warning(tmp_path: Path) -> None:
    whole(tmp_path, {"built/x": "1"}, path="built", key="k-1")
    for file in (tmp_path / "caches").rglob("*.tar"):
        file.write_text("nonsense")
    step = whole(tmp_path, {}, path="built", key="k-1")
    assert step.outputs == {}
    assert step.annotations[0][1].startswith("Failed to restore")


def test_without_a_folder_for_caches_nothing_is_kept(tmp_path: Path) -> None:
    step = step_of(tmp_path, path="built", key="k")
    step.cell.env.clear()
    step.write({"built/x": "1"})
    cache.run(step)
    cache.post(step)
    assert tree(tmp_path / "caches") == {}
