"""The smaller substitutes: alls-green, toolchains, linters, nox, stubs."""

from __future__ import annotations

import json
from email.parser import Parser
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.replay import actions
from presubmit.replay.actions import (
    alls_green,
    build_and_inspect,
    pip_tools,
    pre_commit,
    python_linters,
    setup_nox,
    stubs,
    toolchains,
    uv_pythons,
)
from presubmit.replay.job.action import ActionFailedError, LackingError, Support, Wanted
from presubmit.upstream.here import Here, Interpreter
from tests.unit.replay.actions.fake import HERE, FakeStep

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = Here(
    interpreters=(
        Interpreter(version="3.11.2", path="/usr/bin/python3"),
        Interpreter(version="3.9.18", path="/opt/39/bin/python3"),
        Interpreter(version="3.15.0rc1", path="/opt/315/bin/python3"),
        Interpreter(version="3.11.13", path="/opt/pypy", kind="pypy", release="7.3.20"),
    ),
    tools={
        "node": "/usr/bin/node",
        "go": "/usr/bin/go",
        "java": "/usr/bin/java",
        "uv": "/usr/bin/uv",
    },
    versions={"node": "18.19.0", "go": "1.22.1", "java": "17.0.11", "uv": "0.5.9"},
)


def support(uses: str, *, here: Here = TOOLS, **inputs: str | None) -> Support:
    named = {name.replace("_", "-"): value for name, value in inputs.items()}
    return actions.support(Wanted(uses=uses, inputs=named), here)


# --- alls-green ---


def jobs(**results: str) -> str:
    return json.dumps(
        {name: {"result": result, "outputs": {}} for name, result in results.items()}
    )


def judge(folder: Path, needs: str, **inputs: str) -> FakeStep:
    named = {"jobs": needs} | {name.replace("_", "-"): value for name, value in inputs.items()}
    step = FakeStep(folder, "re-actors/alls-green@release/v1", named)
    alls_green.run(step)
    return step


def test_all_green_is_green(tmp_path: Path) -> None:
    outputs = judge(tmp_path, jobs(a="success", b="success")).outputs
    assert outputs == {"failure": "false", "result": "success", "success": "true"}


@pytest.mark.parametrize("result", ["failure", "cancelled", "skipped"])
def test_any_other_result_fails(tmp_path: Path, result: str) -> None:
    with pytest.raises(ActionFailedError, match=rf"b \({result}\)"):
        judge(tmp_path, jobs(a="success", b=result))


def test_a_failing_judgement_sets_its_outputs_first(tmp_path: Path) -> None:
    step = FakeStep(tmp_path, "re-actors/alls-green@v1", {"jobs": jobs(a="failure")})
    with pytest.raises(ActionFailedError):
        alls_green.run(step)
    assert step.outputs == {"failure": "true", "result": "failure", "success": "false"}


def test_what_may_fail_or_be_skipped_is_let_pass(tmp_path: Path) -> None:
    needs = jobs(a="success", b="failure", c="skipped")
    judge(tmp_path, needs, allowed_failures='["b"]', allowed_skips="c, d")


def test_what_may_be_skipped_may_not_fail(tmp_path: Path) -> None:
    with pytest.raises(ActionFailedError, match=r"a \(failure\)"):
        judge(tmp_path, jobs(a="failure"), allowed_skips="a", allowed_failures="a")


@pytest.mark.parametrize("text", ["{}", "", "[]", "nonsense", '{"a": 1}'])
def test_needs_that_are_none_fail(tmp_path: Path, text: str) -> None:
    with pytest.raises(ActionFailedError):
        judge(tmp_path, text)


# --- toolchains ---


@pytest.mark.parametrize(
    ("uses", "inputs", "lacks"),
    [
        ("actions/setup-node@v4", {"node_version": "18"}, ""),
        ("actions/setup-node@v4", {"node_version": "18.x"}, ""),
        ("actions/setup-node@v4", {"node_version": "lts/hydrogen"}, ""),
        ("actions/setup-node@v4", {"node_version": "20"}, "Node 20 (the image has 18.19.0)"),
        (
            "actions/setup-node@v4",
            {"node_version": "lts/iron"},
            "Node lts/iron (the image has 18.19.0)",
        ),
        ("actions/setup-go@v5", {"go_version": "1.22"}, ""),
        ("actions/setup-go@v5", {"go_version": ">=1.21"}, ""),
        ("actions/setup-go@v5", {"go_version": "1.23"}, "Go 1.23 (the image has 1.22.1)"),
        ("actions/setup-java@v4", {"java_version": "17"}, ""),
        ("actions/setup-java@v4", {"java_version": "21"}, "Java 21 (the image has 17.0.11)"),
        ("dtolnay/rust-toolchain@stable", {}, "Rust"),
    ],
)
def test_the_images_toolchain_is_taken_only_where_it_is_the_one_wanted(
    uses: str, inputs: dict[str, Any], lacks: str
) -> None:
    assert support(uses, **inputs).lacks == lacks


def test_a_moving_version_is_said() -> None:
    assert support("actions/setup-node@v4", node_version="lts/*").note == "lts/* is 18.19.0 here"
    assert support("actions/setup-go@v5", go_version="stable").note == "stable is 1.22.1 here"


def test_an_image_without_the_tool_lacks_it() -> None:
    assert support("actions/setup-node@v4", here=HERE, node_version="18").lacks == "Node"


@pytest.mark.parametrize(
    ("uses", "lacks"),
    [
        ("dtolnay/rust-toolchain@stable", ""),
        ("dtolnay/rust-toolchain@1.75", ""),
        ("dtolnay/rust-toolchain@1.80.0", "Rust 1.80.0 (the image has 1.75.0)"),
        ("dtolnay/rust-toolchain@nightly", "Rust nightly (the image has 1.75.0)"),
        ("dtolnay/rust-toolchain@master", ""),
    ],
)
def test_a_rust_toolchain_is_named_by_the_ref(uses: str, lacks: str) -> None:
    here = Here(tools={"cargo": "/usr/bin/cargo"}, versions={"rust": "1.75.0"})
    assert support(uses, here=here).lacks == lacks


@pytest.mark.parametrize(
    ("tool", "name", "text", "version"),
    [
        ("go", "go.mod", "module x\n\ngo 1.21\ntoolchain go1.22.1\n", "1.22.1"),
        ("go", "sub/go.mod", "module x\n\ngo 1.21\n", "1.21"),
        ("node", ".nvmrc", "v20.1\n", "20.1"),
        (
            "node",
            "package.json",
            '{"engines": {"node": ">=18"}, "volta": {"node": "20.1.0"}}',
            "20.1.0",
        ),
        ("node", "package.json", '{"engines": {"node": ">=18"}}', ">=18"),
        ("node", "package.json", "broken", ""),
        ("node", ".tool-versions", "python 3.1\nnodejs 20.2\n", "20.2"),
        ("java", ".java-version", "17\n", "17"),
    ],
)
def test_version_files_of_toolchains_are_read(
    tool: str, name: str, text: str, version: str
) -> None:
    assert toolchains.version_in(tool, name, text) == version


def test_a_toolchain_of_another_version_found_when_it_runs_is_lacking(tmp_path: Path) -> None:
    inputs = {"node-version-file": ".nvmrc"}
    step = FakeStep(tmp_path, "actions/setup-node@v4", inputs, here=TOOLS)
    step.write({".nvmrc": "v20\n"})
    with pytest.raises(LackingError, match="Node 20"):
        toolchains.run(step)


def test_java_is_told_by_its_home(tmp_path: Path) -> None:
    place = tmp_path / "jdk/bin/java"
    place.parent.mkdir(parents=True)
    place.write_text("")
    here = Here(tools={"java": str(place)}, versions={"java": "17.0.11"})
    inputs = {"java-version": "17", "distribution": "temurin"}
    step = FakeStep(tmp_path, "actions/setup-java@v4", inputs, here=here)
    toolchains.run(step)
    assert step.exported == dict.fromkeys(("JAVA_HOME", "JAVA_HOME_17_X64"), str(tmp_path / "jdk"))
    assert step.notes == ["Java 17.0.11 is the image's own, not temurin's"]


# --- uv ---


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ({}, Support(note="uv is 0.5.9 here, the latest one upstream")),
        ({"version": "0.5.9"}, Support()),
        ({"version": "0.5.x"}, Support()),
        ({"version": ">=0.4,<0.6"}, Support()),
        ({"version": "0.6.0"}, Support(note="uv comes from the package index")),
        ({"python_version": "3.11"}, Support(note="uv is 0.5.9 here, the latest one upstream")),
    ],
)
def test_the_images_uv_is_taken_where_it_will_do(
    inputs: dict[str, Any], expected: Support
) -> None:
    assert support("astral-sh/setup-uv@v6", **inputs) == expected


@pytest.mark.parametrize(
    "request_", ["3.11", "3.11.2", ">=3.9", "cpython@3.9", "3.15", "pypy@3.11", "3"]
)
def test_a_python_of_uvs_that_is_here_is_found(request_: str) -> None:
    assert uv_pythons.lacking(request_, TOOLS) == ""


@pytest.mark.parametrize("request_", ["3.12", "3.11.4", ">=3.16", "pypy@3.10", "3.13t"])
def test_a_python_of_uvs_that_is_not_here_is_lacking(request_: str) -> None:
    assert "(the image has " in uv_pythons.lacking(request_, TOOLS)
    assert support("astral-sh/setup-uv@v6", python_version=request_).lacks != ""


def test_what_only_uv_can_read_is_left_to_it() -> None:
    assert uv_pythons.lacking("/opt/python/bin/python", TOOLS) == ""


def test_without_uv_and_python_nothing_can_be_had() -> None:
    lacks = support("astral-sh/setup-uv@v6", here=Here()).lacks
    assert lacks == "a Python with pip for uv"


# --- tools by pip ---


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("", "ruff"),
        ("latest", "ruff"),
        ("0.6.0", "ruff==0.6.0"),
        ("v0.6.0", "ruff==0.6.0"),
        (">=0.6,<0.7", "ruff>=0.6,<0.7"),
    ],
)
def test_a_version_input_becomes_a_requirement(version: str, expected: str) -> None:
    assert pip_tools.requirement("ruff", version) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[dependency-groups]\nlint = ["ruff==0.6.1", {include-group = "x"}]', "==0.6.1"),
        ('[project.optional-dependencies]\ndev = ["Ruff>=0.5"]', ">=0.5"),
        ('[project]\ndependencies = ["ruff"]', ""),
        ('[project]\ndependencies = ["ruff-lsp==1"]', None),
        ("broken = ", None),
        ('project = "x"', None),
    ],
)
def test_a_tools_version_is_found_in_pyproject(text: str, expected: str | None) -> None:
    assert pip_tools.pinned_in_pyproject(text, "ruff") == expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("requirements.txt", "mypy\nruff==0.6.1  # pinned\n", "==0.6.1"),
        ("uv.lock", '[[package]]\nname = "ruff"\nversion = "0.7.0"\n', "0.7.0"),
        ("requirements.txt", "mypy\n", None),
    ],
)
def test_ruffs_version_is_found_in_other_files(name: str, text: str, expected: str | None) -> None:
    assert python_linters.ruff_in(name, text) == expected


def test_blacks_version_is_read_as_its_action_reads_it() -> None:
    assert python_linters.black_in('[tool.black]\nrequired-version = "24"') == "~=24.0"
    assert python_linters.black_in('[tool.black]\nrequired-version = "24.1.0"') == "==24.1.0"
    assert python_linters.black_in('[project]\ndependencies = ["black~=24.0"]') == "~=24.0"
    with pytest.raises(ActionFailedError, match="dependency missing"):
        python_linters.black_in("[project]")
    with pytest.raises(ActionFailedError, match="specifier missing"):
        python_linters.black_in('[project]\ndependencies = ["black"]')


def test_a_linter_needs_a_python() -> None:
    for name in python_linters.NAMES:
        assert support(f"{name}@v1", here=Here()).lacks.startswith("a Python with pip for ")


# --- nox ---


def test_nox_without_versions_takes_the_released_pythons_here() -> None:
    assert support("wntrblm/nox@2025.05.01").note == "the Pythons are 3.9.18, 3.11.2 here"


def test_nox_with_versions_needs_each() -> None:
    found = support("wntrblm/nox@2025.05.01", python_versions="3.9, 3.12, pypy-3.11")
    assert found.lacks.startswith("Python 3.12 (the image has ")
    assert setup_nox.NAMES[0] == "wntrblm/nox"


# --- pre-commit ---

CLONE = """\
[INFO] Initializing environment for https://github.com/psf/black.
[INFO] Initializing environment for https://github.com/pycqa/flake8.
An unexpected error has occurred: CalledProcessError: command: ('/usr/bin/git', 'fetch', 'origin', '--tags')
return code: 128
stderr:
    fatal: unable to access 'https://github.com/pycqa/flake8/': Could not resolve host: github.com
Check the log at /tmp/home/.cache/pre-commit/pre-commit.log
"""
SSH = """\
[INFO] Initializing environment for git@example.org:x/y.
An unexpected error has occurred: CalledProcessError: command: ('/usr/bin/git', 'fetch')
    ssh: Could not resolve hostname example.org: Temporary failure in name resolution
"""


def test_a_hook_repository_that_cannot_be_reached_is_named() -> None:
    assert pre_commit.unreached_in(CLONE) == "https://github.com/pycqa/flake8/"
    assert pre_commit.unreached_in(SSH) == "git@example.org:x/y"


def test_a_failing_hook_is_no_network_fault() -> None:
    hook = "check links...Failed\n- exit code: 1\nunable to access 'https://x/': Could not resolve host: x"
    assert pre_commit.unreached_in(hook) == ""
    broken = "An unexpected error has occurred: InvalidManifestError: no such file"
    assert pre_commit.unreached_in(broken) == ""


# --- building a package ---


def test_the_classifiers_name_the_supported_pythons() -> None:
    metadata = Parser().parsestr(
        "Name: x\n"
        "Classifier: Programming Language :: Python :: 3\n"
        "Classifier: Programming Language :: Python :: 3.13\n"
        "Classifier: Programming Language :: Python :: 3.14\n"
        "Classifier: Programming Language :: Python :: 3 :: Only\n"
    )
    found = build_and_inspect.supported_pythons(metadata, free_threaded=True)
    assert found == ("3.13", "3.14", "3.14t")
    assert build_and_inspect.supported_pythons(metadata, free_threaded=False) == ("3.13", "3.14")


def test_building_with_a_named_python_needs_that_one() -> None:
    uses = "hynek/build-and-inspect-python-package@v2"
    assert support(uses, python_version="3.12").lacks.startswith("Python 3.12 (the image has ")
    assert support(uses).note.startswith("built with Python 3.11.2")


# --- stubs ---


def test_a_stub_does_nothing_and_says_so(tmp_path: Path) -> None:
    step = FakeStep(tmp_path, "Swatinem/rust-cache@v2")
    stubs.run(step)
    assert step.outputs == {"cache-hit": "false"}
    assert step.notes == ["nothing is restored or saved, which costs time only"]
