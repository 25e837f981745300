"""RUNNER_TEMP belongs to the steps as well: they may take it away, or lay links to where they must not write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from presubmit.replay.job.own_folder import held, make_own, write_own
from tests.unit.replay.actions.fake import HERE

if TYPE_CHECKING:
    from tests.unit.replay.job.conftest import RunCell


def test_steps_after_one_that_empties_the_folder_run_all_the_same(cell: RunCell) -> None:
    ran = cell(
        """
      - {name: empties, run: 'rm -rf "$RUNNER_TEMP"/*; echo gone'}
      - {id: next, run: 'echo k=v >>"$GITHUB_OUTPUT"; echo "# s" >>"$GITHUB_STEP_SUMMARY"'}
      - {name: last, run: 'echo ${{ steps.next.outputs.k }}; sudo echo ${{ hashFiles(''a'') }}'}
    """,
        files={"a": "a"},
        here=msgspec.structs.replace(HERE, root=True),
    )
    assert ran.ok, ran.log
    assert ran.printed("last")[0] == "v"
    assert len(ran.printed("last")[1]) == 64
    assert ran.summary == "# s\n\n"


@pytest.mark.parametrize(
    ("name", "put"),
    [
        ("_presubmit", "ln -s {outside}"),
        ("_presubmit", "touch"),
        ("_runner_file_commands", "ln -s {outside}"),
    ],
)
def test_nothing_is_written_where_a_link_of_a_step_leads(
    cell: RunCell, tmp_path: Path, name: str, put: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    place = f"$RUNNER_TEMP/{name}"
    ran = cell(f"""
      - {{name: lays, run: 'rm -rf {place}; {put.format(outside=outside)} {place}'}}
      - {{id: next, run: 'echo k=v >>"$GITHUB_OUTPUT"'}}
      - {{name: last, run: 'echo ${{{{ steps.next.outputs.k }}}}'}}
    """)
    assert ran.ok, ran.log
    assert ran.printed("last") == ["v"]
    assert [*outside.iterdir()] == []


def test_a_folder_that_is_held_is_the_same_whatever_takes_its_place(tmp_path: Path) -> None:
    folder, outside = tmp_path / "temp", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    with held(folder) as place:
        folder.rename(tmp_path / "moved")
        folder.symlink_to(outside)
        write_own(Path(place) / "ours/file", b"x", mode=0o755)
    assert (tmp_path / "moved/ours/file").read_bytes() == b"x"
    assert (tmp_path / "moved/ours/file").stat().st_mode & 0o777 == 0o755
    assert [*outside.iterdir()] == []


def test_a_file_that_is_there_is_not_written_and_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours/link").symlink_to(tmp_path / "target")
    with pytest.raises(FileExistsError):
        write_own(tmp_path / "ours/link", b"x")
    assert not (tmp_path / "target").exists()


def test_only_a_folder_can_be_held_or_made(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(OSError, match="link"), held(tmp_path / "link"):
        pass
    make_own(tmp_path / "link")
    assert (tmp_path / "link").is_dir()
    assert not (tmp_path / "link").is_symlink()


def test_a_folder_that_cannot_be_written_to_is_an_error_of_ours(cell: RunCell) -> None:
    ran = cell("- run: rm -rf $RUNNER_TEMP\n- {name: next, run: echo never}")
    assert ran.result.error.startswith(
        "cannot write RUNNER_TEMP/_runner_file_commands: No such file"
    )
    assert "never" not in ran.log
