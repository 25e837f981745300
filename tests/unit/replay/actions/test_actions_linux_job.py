"""pytorch/test-infra's linux_job workflows."""

from __future__ import annotations

from typing import Any

import pytest

from presubmit.replay.actions import linux_job
from presubmit.upstream.here import Here

HERE = Here(tools={"bash": "/bin/bash"})
V2 = "pytorch/test-infra/.github/workflows/linux_job_v2.yml@main"


def lacking(here: Here = HERE, **inputs: Any) -> str:
    named = {name.replace("_", "-"): value for name, value in inputs.items()}
    own = ("abc", "refs/pull/7/merge")
    return linux_job.lacking(named, here, repository="pytorch/ao", own_refs=own)


def job(uses: str = V2, **inputs: Any) -> linux_job.LinuxJob:
    named = {name.replace("_", "-"): value for name, value in inputs.items()}
    return linux_job.job_of(uses, named, repository="pytorch/ao", pull_request="7", temp="/temp")


@pytest.mark.parametrize(
    ("inputs", "lacks"),
    [
        ({"runner": "linux.2xlarge", "script": "pytest"}, ""),
        ({}, ""),
        ({"gpu_arch_type": "cuda"}, "a GPU (cuda)"),
        ({"gpu_arch_type": "rocm"}, "a GPU (rocm)"),
        (
            {"runner": "linux.g5.12xlarge.nvidia.gpu"},
            "a GPU (runner linux.g5.12xlarge.nvidia.gpu)",
        ),
        ({"runner": "linux.arm64.2xlarge"}, "an ARM64 runner (linux.arm64.2xlarge)"),
        ({"gpu_arch_type": "cpu-aarch64"}, "an ARM64 runner (cpu-aarch64)"),
        ({"repository": "pytorch/AO"}, ""),
        ({"repository": "pytorch/pytorch"}, "the repository pytorch/pytorch"),
        ({"ref": "abc"}, ""),
        ({"ref": "nightly"}, "the ref nightly"),
        ({"binary_matrix": "{}"}, "the matrix of a binary build"),
        ({"script": "conda create -n x"}, "conda"),
        ({"script": "bash /test-infra/x.sh"}, "the repository pytorch/test-infra"),
        ({"script": "echo secondary"}, ""),
    ],
)
def test_what_a_call_would_need_is_said(inputs: dict[str, Any], lacks: str) -> None:
    assert lacking(**inputs) == lacks


def test_what_the_image_has_is_not_lacking() -> None:
    arm = Here(tools={"bash": "/bin/bash", "conda": "/opt/conda/bin/conda"}, arch="ARM64")
    assert lacking(arm, runner="linux.arm64.2xlarge", script="conda info") == ""
    assert lacking(arm, runner="linux.arm64.2xlarge", ref="nightly") == "the ref nightly"


def test_the_script_runs_in_the_repositorys_folder_as_upstream_makes_it() -> None:
    script = next(step for step in job(script="pytest -q").steps if step.name == "Run script")
    lines = script.run.splitlines()
    assert (lines[0], lines[-2:]) == ("set -eou pipefail", ["set -x", "pytest -q"])
    assert script.working_directory == "pytorch/ao"


def test_without_docker_nothing_is_traced() -> None:
    assert linux_job.script_of({"script": "make", "run-with-docker": False}) == (
        "set -eou pipefail\nmake\n"
    )


def test_the_job_sees_the_variables_that_the_workflow_sets() -> None:
    assert job(secrets_env="HF_TOKEN my-key").env == {
        "REPOSITORY": "pytorch/ao",
        "PR_NUMBER": "7",
        "RUNNER_ARTIFACT_DIR": "/temp/artifacts",
        "RUNNER_TEST_RESULTS_DIR": "/temp/test-results",
        "RUNNER_DOCS_DIR": "/temp/docs",
        "SECRET_HF_TOKEN": "",
        "SECRET_MY_KEY": "",
    }


def test_the_checkout_is_the_workflows() -> None:
    checkout = next(step for step in job(submodules="recursive", fetch_depth=0).steps if step.uses)
    assert checkout.inputs == {"path": "pytorch/ao", "fetch-depth": "0", "submodules": "recursive"}


def test_artifacts_are_fetched_before_and_kept_after_even_a_failing_script() -> None:
    steps = job(download_artifact="in", upload_artifact="out").steps
    used = [(step.uses.partition("@")[0], step.always) for step in steps if step.uses]
    assert used == [
        ("actions/checkout", False),
        ("actions/download-artifact", False),
        ("actions/upload-artifact", True),
    ]
    assert steps[-1].inputs == {"name": "out", "path": "/temp/artifacts/"}


def test_nothing_goes_to_s3() -> None:
    found = job(upload_artifact="out", upload_artifact_to_s3=True, docker_image="x/y")
    assert not any("upload-artifact" in step.uses for step in found.steps)
    assert found.notes == ("runs in the devel image, not in x/y", "nothing is uploaded to S3")


@pytest.mark.parametrize(
    ("uses", "inputs", "minutes"),
    [
        (V2, {}, 30.0),
        (V2, {"timeout": 90}, 90.0),
        (V2.replace("_v2", ""), {}, 120.0),
    ],
)
def test_the_time_limit_is_the_workflows(
    uses: str, inputs: dict[str, Any], minutes: float
) -> None:
    assert job(uses, **inputs).timeout_minutes == minutes


def test_every_workflow_of_the_family_is_named() -> None:
    names = {name.rpartition("/")[2] for name in linux_job.NAMES}
    assert names == {"linux_job.yml", "linux_job_v2.yml", "linux_job_v3.yml"}
