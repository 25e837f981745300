from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from presubmit.container.devcontainer import parse_devcontainer, strip_jsonc
from presubmit.container.dockerfile import base_images, buildkit_features
from presubmit.container.facts import ImageFacts, parse_facts
from presubmit.container.image import ImageChoice, find_image, workflow_images
from presubmit.container.options import Options
from presubmit.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

CI = """\
name: ci
on: [push]
jobs:
  lint:
    runs-on: ubuntu-latest
  build:
    container: debian:12
  gpu:
    container:
      image: docker://example.test/cuda:12
      options: --gpus all --shm-size=2g --privileged -v /:/host
  moving:
    container:
      image: ${{ inputs.image }}
"""
DEVCONTAINER = """\
// PyTorch's has comments
{
  "name": "x", /* and more */
  "build": {
    "context": "../..", // up
    "dockerfile": "./Dockerfile",
    "target": "dev",
    "args": {"A": "1", "B": "${localEnv:B}",},
  },
  "containerEnv": {"URL": "http://x//y", "HOSTS": "${localEnv:HOME}"},
  "remoteUser": "vscode",
  "initializeCommand": "rm -rf /",
  "features": {"ghcr.io/x/y": {}},
  "runArgs": ["--gpus", "all", "--cap-add=SYS_PTRACE",],
}
"""


def choose(
    files: Mapping[str, str] | None = None,
    *,
    cli: str | None = None,
    image: str | None = None,
    dockerfile: str | None = None,
    gpu: bool = False,
) -> ImageChoice:
    held = files or {}
    return find_image(
        cli=cli,
        config_image=image,
        config_dockerfile=dockerfile,
        read_file=held.get,
        list_workflows=lambda: [path for path in held if path.startswith(".github/workflows/")],
        gpu=gpu,
    )


ALL = {".github/workflows/ci.yml": CI, ".devcontainer.json": '{"image": "dev:1"}'}


def test_the_command_line_comes_first() -> None:
    found = choose(ALL, cli="a:1", image="b:1", dockerfile="D")
    assert (found.image, found.origin, found.notes) == ("a:1", "--image", ())
    assert found.others[0] == "b:1 (config container.image)"


def test_then_the_config() -> None:
    assert choose(ALL, image="b:1", dockerfile="D").image == "b:1"
    assert choose(ALL, dockerfile="D").dockerfile == "D"


def test_then_a_workflow() -> None:
    found = choose(ALL)
    assert (found.image, found.origin) == (
        "debian:12",
        ".github/workflows/ci.yml:7 jobs.build.container",
    )
    assert "dev:1 (.devcontainer.json:1)" in found.others


def test_then_the_devcontainer() -> None:
    assert choose({".devcontainer.json": '{\n "image": "dev:1"}'}).origin == ".devcontainer.json:2"


def test_nothing_found_says_where_it_was_looked_for() -> None:
    found = choose({".github/workflows/ci.yml": "jobs: {}"})
    assert not found.found
    assert found.looked[:4] == (
        "--image",
        "config container.image",
        "config container.dockerfile",
        ".github/workflows/ci.yml jobs.*.container",
    )
    assert ".devcontainer/devcontainer.json" in found.looked


def test_an_expression_is_reported_as_not_static() -> None:
    _, notes = workflow_images(CI, path="ci.yml")
    assert notes == (
        "ci.yml:14 jobs.moving.container: the image ${{ inputs.image }} is not static; name it in the config",
    )


def test_a_workflows_options_are_taken_from_the_allow_list() -> None:
    choices, _ = workflow_images(CI, path="ci.yml")
    assert choices[1].image == "example.test/cuda:12"
    assert choices[1].options == Options(gpus="all", shm=2 << 30)
    assert [note.split("'")[1] for note in choices[1].notes] == ["--privileged", "-v"]


@pytest.mark.parametrize(
    "text", ["", "[", "jobs: 1", "a: &a [*a]", "jobs: {x: 1}", "jobs:\n  x: {container: }", "\0"]
)
def test_a_workflow_without_containers_gives_none(text: str) -> None:
    assert workflow_images(text, path="ci.yml") == ((), ())


def test_a_devcontainer_is_read_with_comments_and_trailing_commas() -> None:
    found = parse_devcontainer(DEVCONTAINER, path=".devcontainer/cuda/devcontainer.json")
    assert (found.dockerfile, found.context, found.target) == (
        ".devcontainer/cuda/Dockerfile",
        ".",
        "dev",
    )
    assert (found.args, found.env, found.remote_user) == (
        {"A": "1"},
        {"URL": "http://x//y"},
        "vscode",
    )
    assert found.options == Options(gpus="all")
    assert found.line == 6


def test_what_a_devcontainer_asks_in_vain_is_named() -> None:
    notes = "\n".join(parse_devcontainer(DEVCONTAINER, path=".devcontainer/a/d.json").notes)
    for word in (
        "initializeCommand: would run on the host",
        "features",
        "--cap-add",
        "args.B",
        "containerEnv.HOSTS",
    ):
        assert word in notes


def test_jsonc_keeps_what_only_looks_like_a_comment_or_comma() -> None:
    text = '{"a": "// no, /* no */ ,}", "b": "\\"//,]",}'
    assert strip_jsonc(text) == '{"a": "// no, /* no */ ,}", "b": "\\"//,]" }'


@pytest.mark.parametrize(
    "path", ["../../../etc/Dockerfile", "/etc/Dockerfile", "${localEnv:X}/Dockerfile"]
)
def test_a_dockerfile_outside_the_repository_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match="leads out of the repository"):
        parse_devcontainer(
            f'{{"build": {{"dockerfile": "{path}"}}}}', path=".devcontainer/devcontainer.json"
        )


@pytest.mark.parametrize("text", ["{", "[]", "nonsense", '{"build": {"dockerfile": "../../x"}}'])
def test_a_broken_devcontainer_is_a_note_and_the_search_goes_on(text: str) -> None:
    found = choose(
        {".devcontainer/devcontainer.json": text, ".devcontainer.json": '{"image": "dev:1"}'}
    )
    assert found.image == "dev:1"
    assert any(note.startswith(".devcontainer/devcontainer.json") for note in found.notes)


def test_variants_are_chosen_by_the_gpu() -> None:
    files = {
        f".devcontainer/{kind}/devcontainer.json": f'{{"image": "{kind}"}}'
        for kind in ("cpu", "cuda")
    }
    assert choose(files).image == "cpu"
    assert choose(files, gpu=True).image == "cuda"


def test_without_a_gpu_a_devcontainers_gpus_are_left_out_aloud() -> None:
    files = {".devcontainer.json": '{"image": "x", "runArgs": ["--gpus", "all"]}'}
    assert choose(files).options == Options()
    assert any("asks for GPUs" in note for note in choose(files).notes)
    assert choose(files, gpu=True).options == Options(gpus="all")


@pytest.mark.parametrize(
    ("line", "feature"),
    [
        ("# syntax=docker/dockerfile:1", "line 1: # syntax="),
        ("RUN --mount=type=cache,target=/x make", "line 1: RUN --mount"),
        ("run --network=none make", "line 1: run --network"),
        ("RUN <<EOF", "line 1: a here-document"),
        ("COPY <<'EOF' /x", "line 1: a here-document"),
        ("COPY --link a b", "line 1: COPY --link"),
        ("COPY --chown=1:1 --link a b", "line 1: COPY --chown=1:1 --link"),
    ],
)
def test_what_needs_buildkit_is_seen(line: str, feature: str) -> None:
    assert buildkit_features(line) == (feature,)


@pytest.mark.parametrize(
    "line",
    ["FROM x", "RUN make", "RUN a << 2", "COPY --chown=1:1 a b", "# a syntax", "RUN echo --mount"],
)
def test_what_needs_no_buildkit_is_left_alone(line: str) -> None:
    assert buildkit_features(line) == ()


@pytest.mark.parametrize(
    ("text", "args", "images"),
    [
        ("FROM a:1", {}, ("a:1",)),
        ("ARG BASE=a:1\nFROM ${BASE}", {}, ("a:1",)),
        ("ARG BASE=a:1\nFROM $BASE AS x\nFROM x\nCOPY --from=x /a /a", {"BASE": "b"}, ("b",)),
        (
            "ARG TAG\nFROM --platform=linux/amd64 a:${TAG:-9} as Y\nFROM scratch\nCOPY --from=y a b",
            {},
            ("a:9",),
        ),
        ("FROM a\nCOPY --from=tool:2 /a /a\nCOPY --from=0 /b /b\nFROM a", {}, ("a", "tool:2")),
        ("# FROM no\nfrom \\\n  a:1 \\\n  AS b\nRUN echo FROM c", {}, ("a:1",)),
        ("", {}, ()),
    ],
)
def test_the_images_a_build_would_pull_are_known(
    text: str, args: dict[str, str], images: tuple[str, ...]
) -> None:
    assert base_images(text, args) == images


def test_facts_tell_a_devel_image_from_a_runtime_image() -> None:
    text = "noise\nfact python=3.11.2\nfact venv=yes\nfact git=git version 2\nfact cuda=12.4\nfact cuda=9\nfact end=yes\n"
    found = parse_facts(text)
    assert found == ImageFacts(python="3.11.2", venv=True, git="git version 2", cuda="12.4")
    assert found.usable
    assert not found.is_devel
    assert "a C compiler" in found.missing
    assert "nvcc (this is a CUDA runtime image)" in found.missing


def test_facts_that_were_cut_short_are_none() -> None:
    assert parse_facts("fact python=3.11.2\n") is None


def test_options_that_are_not_static_or_not_readable_are_notes() -> None:
    text = "jobs:\n  a:\n    container:\n      image: x\n      options: {}\n"
    for options in ("${{ matrix.o }}", '"-e \'A"', '"--memory"'):
        choices, _ = workflow_images(text.format(options), path="ci.yml")
        assert choices[0].options == Options()
        assert choices[0].notes[0].startswith("ci.yml:4 jobs.a.container")


@pytest.mark.parametrize(
    "text", ['{"dockerComposeFile": "c.yml"}', '{"image": "${localEnv:IMAGE}"}']
)
def test_a_devcontainer_without_a_usable_image_is_a_note(text: str) -> None:
    found = choose({".devcontainer.json": text})
    assert not found.found
    assert found.notes


def test_the_user_of_a_devcontainer_is_named_as_not_used() -> None:
    found = choose({".devcontainer.json": '{"image": "x", "remoteUser": "vscode"}'})
    assert found.remote_user == "vscode"
    assert any("remoteUser vscode is not used" in note for note in found.notes)


def test_the_same_image_named_twice_is_no_other() -> None:
    found = choose({".devcontainer.json": '{"image": "a:1"}'}, cli="a:1", image="b:1")
    assert found.others == ("b:1 (config container.image)",)
