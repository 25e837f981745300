"""Artifacts go from cell to cell as they do by way of GitHub."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from presubmit.replay.actions import artifacts, download_artifact, upload_artifact
from presubmit.replay.job.action import ActionFailedError, LackingError, Wanted
from tests.unit.replay.actions.fake import HERE, FakeStep, tree

V4 = "actions/upload-artifact@v4"
MERGE = "actions/upload-artifact/merge@v4"
FILES = {"dist/a.whl": "A", "dist/sub/b.whl": "B", "dist/.hidden": "H", "log.txt": "L"}


def upload(folder: Path, uses: str = V4, **inputs: str) -> FakeStep:
    named = {name.replace("_", "-"): value for name, value in inputs.items()}
    step = FakeStep(folder, uses, named)
    step.write(FILES)
    upload_artifact.run(step)
    return step


def download(folder: Path, uses: str = "actions/download-artifact@v4", **inputs: Any) -> FakeStep:
    named = {name.replace("_", "-"): str(value) for name, value in inputs.items()}
    step = FakeStep(folder, uses, named)
    download_artifact.run(step)
    return step


def stored(folder: Path, name: str = "artifact") -> dict[str, str]:
    return tree(folder / "artifacts" / name)


def test_a_folder_becomes_the_root_of_the_artifact(tmp_path: Path) -> None:
    upload(tmp_path, path="dist")
    assert stored(tmp_path) == {"a.whl": "A", "sub/b.whl": "B"}


def test_a_single_file_loses_its_folders(tmp_path: Path) -> None:
    upload(tmp_path, path="dist/sub/b.whl")
    assert stored(tmp_path) == {"b.whl": "B"}


def test_the_folders_behind_a_wildcard_are_kept(tmp_path: Path) -> None:
    upload(tmp_path, path="dist/**/*.whl")
    assert stored(tmp_path) == {"a.whl": "A", "sub/b.whl": "B"}


def test_a_wildcard_that_meets_one_file_keeps_its_folders(tmp_path: Path) -> None:
    upload(tmp_path, path="dist/*/b.whl")
    assert stored(tmp_path) == {"sub/b.whl": "B"}


def test_several_paths_are_rooted_at_their_least_common_ancestor(tmp_path: Path) -> None:
    upload(tmp_path, path="dist/sub\nlog.txt")
    assert stored(tmp_path) == {"dist/sub/b.whl": "B", "log.txt": "L"}


def test_an_excluding_line_does_not_move_the_root(tmp_path: Path) -> None:
    upload(tmp_path, path="dist\n!dist/sub/**")
    assert stored(tmp_path) == {"a.whl": "A"}


def test_hidden_files_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    upload(tmp_path, path="dist", name="with", include_hidden_files="true")
    assert ".hidden" in stored(tmp_path, "with")


@pytest.mark.parametrize(
    ("ref", "taken"),
    [("v4", False), ("v4.3.6", True), ("v4.4.0", False), ("v3", False), ("v3.1.3", True)],
)
def test_releases_before_the_change_take_hidden_files(
    tmp_path: Path, ref: str, *, taken: bool
) -> None:
    upload(tmp_path, f"actions/upload-artifact@{ref}", path="dist")
    assert (".hidden" in stored(tmp_path)) is taken


def test_modes_and_links_are_lost(tmp_path: Path) -> None:
    step = FakeStep(tmp_path, V4, {"path": "bin"})
    step.write({"bin/tool": "#!/bin/sh", "real": "R"})
    (step.workspace / "bin/tool").chmod(0o755)
    (step.workspace / "bin/link").symlink_to("../real")
    upload_artifact.run(step)
    placed = tmp_path / "artifacts/artifact"
    assert stat.S_IMODE((placed / "tool").stat().st_mode) == 0o644
    assert not (placed / "link").is_symlink()
    assert (placed / "link").read_text() == "R"


def test_odd_names_survive(tmp_path: Path) -> None:
    step = FakeStep(tmp_path, V4, {"path": "d"})
    step.write({"d/-n 'x'": "1", "d/ü": "2"})
    upload_artifact.run(step)
    assert stored(tmp_path) == {"-n 'x'": "1", "ü": "2"}


def test_a_name_that_windows_cannot_have_is_refused(tmp_path: Path) -> None:
    step = FakeStep(tmp_path, V4, {"path": "d"})
    step.write({"d/a:b": "1"})
    with pytest.raises(ActionFailedError, match="path for one of the files"):
        upload_artifact.run(step)
    with pytest.raises(ActionFailedError, match="artifact name is not valid: a/b"):
        upload(tmp_path, path="dist", name="a/b")


def test_the_outputs_name_the_artifact(tmp_path: Path) -> None:
    outputs = upload(tmp_path, path="dist").outputs
    assert outputs["artifact-id"].isdecimal()
    assert outputs["artifact-url"].endswith(f"/runs/7/artifacts/{outputs['artifact-id']}")
    assert len(outputs["artifact-digest"]) == 64


@pytest.mark.parametrize(
    ("how", "level"), [("warn", ["warning"]), ("ignore", []), ("", ["warning"])]
)
def test_nothing_to_upload_is_a_warning_or_nothing(
    tmp_path: Path, how: str, level: list[str]
) -> None:
    step = upload(tmp_path, path="nowhere", if_no_files_found=how)
    assert [one for one, _ in step.annotations] == level
    assert step.outputs == {}
    assert tree(tmp_path / "artifacts") == {}


def test_nothing_to_upload_is_an_error_where_that_is_asked(tmp_path: Path) -> None:
    with pytest.raises(ActionFailedError, match="No files were found with the provided path"):
        upload(tmp_path, path="nowhere", if_no_files_found="error")


def test_an_unknown_behaviour_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ActionFailedError, match="Unrecognized if-no-files-found"):
        upload(tmp_path, path="dist", if_no_files_found="shout")


def test_a_second_upload_of_a_name_is_a_conflict_since_v4(tmp_path: Path) -> None:
    upload(tmp_path, path="dist")
    with pytest.raises(ActionFailedError, match=r"\(409\) Conflict"):
        upload(tmp_path, path="log.txt")
    assert stored(tmp_path) == {"a.whl": "A", "sub/b.whl": "B"}
    assert not list((tmp_path / "artifacts").glob(".[0-9a-f]*"))


def test_a_second_upload_may_overwrite(tmp_path: Path) -> None:
    first = upload(tmp_path, path="dist")
    second = upload(tmp_path, path="log.txt", overwrite="true")
    assert stored(tmp_path) == {"log.txt": "L"}
    assert first.outputs["artifact-id"] != second.outputs["artifact-id"]


def test_uploads_of_one_name_are_laid_over_each_other_before_v4(tmp_path: Path) -> None:
    upload(tmp_path, "actions/upload-artifact@v3", path="dist")
    upload(tmp_path, "actions/upload-artifact@v3", path="log.txt")
    assert stored(tmp_path) == {"a.whl": "A", "sub/b.whl": "B", "log.txt": "L"}
    wanted = Wanted(uses="actions/upload-artifact@v3")
    assert "refuses" in upload_artifact.support(wanted, HERE).note


def test_one_file_may_be_uploaded_without_an_archive(tmp_path: Path) -> None:
    upload(tmp_path, path="dist/sub", archive="false", name="ignored")
    assert stored(tmp_path, "b.whl") == {"b.whl": "B"}
    with pytest.raises(ActionFailedError, match="only a single file"):
        upload(tmp_path, path="dist", archive="false")


def test_a_compression_level_is_checked(tmp_path: Path) -> None:
    with pytest.raises(ActionFailedError, match="Invalid compression-level"):
        upload(tmp_path, path="dist", compression_level="10")


def test_a_named_artifact_comes_into_the_folder_itself(tmp_path: Path) -> None:
    upload(tmp_path, path="dist", name="one")
    step = download(tmp_path, name="one", path="got")
    assert tree(step.workspace / "got") == {"a.whl": "A", "sub/b.whl": "B"}
    assert step.outputs == {"download-path": f"{step.cell.workspace}/got"}


def test_without_a_name_each_artifact_comes_into_a_folder_of_its_own(tmp_path: Path) -> None:
    upload(tmp_path, path="log.txt", name="one")
    upload(tmp_path, path="dist/sub", name="two")
    step = download(tmp_path, path="~/got")
    got = tree(Path(step.env["HOME"]) / "got")
    assert got == {"one/log.txt": "L", "two/b.whl": "B"}


@pytest.mark.parametrize(
    ("ref", "place"),
    [
        ("v4", "got/one"),
        ("v5", "got"),
        ("v8.0.1", "got"),
        ("d3f86a106a0bac45b974a628896c90dbdf5c8093", "got/one"),
        ("634f93cb2916e3fdff6788551b99b062d0335ce0", "got"),
    ],
)
def test_a_lone_artifact_gets_no_folder_since_v5(tmp_path: Path, ref: str, place: str) -> None:
    upload(tmp_path, path="log.txt", name="one")
    step = download(tmp_path, f"actions/download-artifact@{ref}", path="got")
    assert tree(step.workspace / place) == {"log.txt": "L"}


def test_a_pattern_and_merging_gather_many_in_one_folder(tmp_path: Path) -> None:
    upload(tmp_path, path="log.txt", name="wheels-a")
    upload(tmp_path, path="dist/sub", name="wheels-b")
    upload(tmp_path, path="dist", name="docs")
    step = download(tmp_path, pattern="{wheels,sdist}-*", path="got", merge_multiple="true")
    assert tree(step.workspace / "got") == {"log.txt": "L", "b.whl": "B"}


def test_artifacts_are_found_by_their_ids(tmp_path: Path) -> None:
    one = upload(tmp_path, path="log.txt", name="one").outputs["artifact-id"]
    two = upload(tmp_path, path="dist/sub", name="two").outputs["artifact-id"]
    step = download(tmp_path, artifact_ids=f"{one}, {two}", path="got")
    assert tree(step.workspace / "got") == {"one/log.txt": "L", "two/b.whl": "B"}
    partly = download(tmp_path, artifact_ids=f"{one},5", path="part")
    assert partly.annotations == [("warning", "Could not find the following artifact IDs: 5")]
    with pytest.raises(ActionFailedError, match="None of the provided artifact IDs"):
        download(tmp_path, artifact_ids="5")
    with pytest.raises(ActionFailedError, match="Must be a number"):
        download(tmp_path, artifact_ids="one")


def test_name_and_ids_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(ActionFailedError, match="cannot be used together"):
        download(tmp_path, name="one", artifact_ids="1")


def test_an_artifact_that_nobody_uploaded_is_lacking(tmp_path: Path) -> None:
    with pytest.raises(LackingError, match="the artifact 'one'"):
        download(tmp_path, name="one")


def test_nothing_to_download_is_noted(tmp_path: Path) -> None:
    assert download(tmp_path).notes == ["no artifact was there to download"]


def test_another_runs_artifacts_are_lacking(tmp_path: Path) -> None:
    with pytest.raises(LackingError, match="another workflow run"):
        download(tmp_path, run_id="8", name="one", **{"github-token": "t"})
    wanted = Wanted(
        uses="actions/download-artifact@v4", inputs={"github-token": "t", "run-id": "8"}
    )
    assert download_artifact.support(wanted, HERE).lacks == "artifacts of another workflow run"


def test_merging_makes_one_of_many(tmp_path: Path) -> None:
    upload(tmp_path, path="log.txt", name="a")
    upload(tmp_path, path="dist/sub", name="b")
    upload(tmp_path, MERGE, name="all", delete_merged="true")
    assert stored(tmp_path, "all") == {"log.txt": "L", "b.whl": "B"}
    assert [one.name for one in artifacts.load_all(FakeStep(tmp_path))] == ["all"]


def test_merging_may_keep_them_apart(tmp_path: Path) -> None:
    upload(tmp_path, path="log.txt", name="a")
    upload(tmp_path, MERGE, name="all", separate_directories="true")
    assert stored(tmp_path, "all") == {"a/log.txt": "L"}


def test_merging_nothing_fails(tmp_path: Path) -> None:
    with pytest.raises(ActionFailedError, match="No artifacts found matching pattern"):
        upload(tmp_path, MERGE, pattern="x-*")


def test_a_name_of_dots_stays_inside_the_store(tmp_path: Path) -> None:
    upload(tmp_path, path="log.txt", name="..")
    assert not (tmp_path / "log.txt").exists()
    assert tree(download(tmp_path, name="..", path="got").workspace / "got") == {"log.txt": "L"}


def test_without_a_gnu_tar_files_are_copied_one_by_one(tmp_path: Path) -> None:
    stub = tmp_path / "bin/tar"
    stub.parent.mkdir()
    stub.write_text("#!/bin/sh\nexit 1\n")
    stub.chmod(0o755)
    step = FakeStep(tmp_path, V4, {"path": "dist"})
    step.env["PATH"] = f"{stub.parent}:{step.env['PATH']}"
    step.write(FILES)
    upload_artifact.run(step)
    assert stored(tmp_path) == {"a.whl": "A", "sub/b.whl": "B"}
