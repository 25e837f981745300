from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from presubmit.container.dockerfile import CONTEXT_LABEL, build_image
from presubmit.errors import ImageError

if TYPE_CHECKING:
    from pathlib import Path

    from presubmit.container.engine import Engine
    from presubmit.container.model import ImageRef

pytestmark = pytest.mark.engine

TAG = "presubmit-test:built"


def test_an_image_is_built_labelled_and_streamed(
    engine: Engine, image: ImageRef, tmp_path: Path
) -> None:
    (tmp_path / "Dockerfile").write_text(
        f"FROM {image.name}\nARG WORD\nRUN echo $WORD >/word && echo said $WORD\n"
    )
    heard: list[str] = []
    try:
        built = build_image(
            engine,
            dockerfile=tmp_path / "Dockerfile",
            context=tmp_path,
            tag=TAG,
            log=tmp_path / "log",
            args={"WORD": "hunter2"},
            context_tree="abc",
            secrets=["hunter2"],
            on_output=heard.append,
        )
        assert engine.image_label(built, CONTEXT_LABEL) == "abc"
        assert "said ***" in "".join(heard)
        assert "hunter2" not in (tmp_path / "log").read_text()
    finally:
        engine._api.remove_image(TAG, force=True)


def test_a_failing_build_shows_its_last_lines(
    engine: Engine, image: ImageRef, tmp_path: Path
) -> None:
    (tmp_path / "Dockerfile").write_text(f"FROM {image.name}\nRUN echo the reason; exit 3\n")
    with pytest.raises(
        ImageError, match=r"(?s)could not be built.*non-zero code: 3.*the reason"
    ) as error:
        build_image(
            engine,
            dockerfile=tmp_path / "Dockerfile",
            context=tmp_path,
            tag=TAG,
            log=tmp_path / "log",
        )
    assert str(tmp_path / "log") in error.value.hint


def test_buildkit_without_a_docker_command_is_said(
    engine: Engine, image: ImageRef, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Dockerfile").write_text(
        f"FROM {image.name}\nRUN --mount=type=cache,target=/c true\n"
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        ImageError, match=r"needs BuildKit \(line 2: RUN --mount\), and there is no docker command"
    ):
        build_image(
            engine,
            dockerfile=tmp_path / "Dockerfile",
            context=tmp_path,
            tag=TAG,
            log=tmp_path / "log",
        )


def test_a_missing_base_image_is_not_pulled(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM no-such/image:1\n")
    with pytest.raises(
        ImageError, match=r"no-such/image:1 \(from Dockerfile FROM\) is not on this machine"
    ):
        build_image(
            engine,
            dockerfile=tmp_path / "Dockerfile",
            context=tmp_path,
            tag=TAG,
            log=tmp_path / "log",
        )
