from __future__ import annotations

import pytest

from presubmit.upstream.here import Here
from presubmit.upstream.runners import RunnerVerdict, judge_runner

LINUX = Here()
ARM = Here(arch="ARM64")
MACOS = Here(system="macOS", arch="ARM64", on_host=True)
DEVEL = RunnerVerdict("")


@pytest.mark.parametrize("label", ["ubuntu-latest", "Ubuntu-Latest", "ubuntu-slim"])
def test_a_floating_ubuntu_is_the_devel_image(label: str) -> None:
    assert judge_runner([label], LINUX, {}) == DEVEL


@pytest.mark.parametrize("label", ["ubuntu-24.04", "ubuntu-22.04", "ubuntu-latest-16-cores"])
def test_a_pinned_or_larger_ubuntu_is_the_devel_image_and_said_to_be(label: str) -> None:
    expected = RunnerVerdict("", note=f"the devel image stands for {label}")
    assert judge_runner([label], LINUX, {}) == expected


def test_on_the_host_the_machine_itself_stands_for_a_pinned_ubuntu() -> None:
    verdict = judge_runner(["ubuntu-24.04"], Here(on_host=True), {})
    assert verdict == RunnerVerdict("", note="this machine stands for ubuntu-24.04")


def test_the_same_label_twice_is_one() -> None:
    assert judge_runner(["ubuntu-latest", "ubuntu-latest"], LINUX, {}) == DEVEL


@pytest.mark.parametrize("label", ["ubuntu-24.04-arm", "ubuntu-22.04-arm"])
def test_arm_wants_arm(label: str) -> None:
    assert judge_runner([label], LINUX, {}).lacks == f"runs-on {label} (this is X64)"
    assert judge_runner([label], ARM, {}).image == ""


def test_a_job_for_x64_runs_on_arm_and_that_is_said() -> None:
    verdict = judge_runner(["ubuntu-latest"], ARM, {})
    assert verdict == RunnerVerdict("", note="ubuntu-latest is X64, this is ARM64")


@pytest.mark.parametrize(
    "label",
    [
        "windows-latest",
        "windows-2022",
        "windows-11-arm",
        "macos-latest",
        "macos-15-intel",
        "macos-14-xlarge",
        "ubuntu-24.04-s390x",
        "ubuntu-24.04-ppc64le",
        # the project's own machines
        "linux.2xlarge",
        "linux.arm64.2xlarge",
        "linux.g5.4xlarge.nvidia.gpu",
        "linux.rocm.gpu.mi300.2",
        "macos-m1-stable",
        "ubuntu-latest-gpu",
        "self-hosted",
        "ubuntu",
        "linux",
    ],
)
def test_another_machine_is_lacking(label: str) -> None:
    assert judge_runner([label], LINUX, {}) == RunnerVerdict(None, f"runs-on {label}")


@pytest.mark.parametrize("label", ["linux.idc.xpu", "self-hosted-cuda", "runner-h100", "a10"])
def test_a_gpu_is_named_as_one(label: str) -> None:
    assert judge_runner([label], LINUX, {}).lacks == f"runs-on {label} (gpu)"


def test_several_labels_are_a_machine_of_the_project() -> None:
    verdict = judge_runner(["self-hosted", "linux", "x64"], LINUX, {})
    assert verdict == RunnerVerdict(None, "runs-on self-hosted, linux, x64")


def test_a_runner_group_is_lacking() -> None:
    assert judge_runner(["group:big"], LINUX, {}).lacks == "runs-on group big"
    verdict = judge_runner(["ubuntu-latest", "group:big"], LINUX, {})
    assert verdict.lacks == "runs-on ubuntu-latest, group big"


def test_no_label_is_lacking_with_its_reason() -> None:
    assert judge_runner([], LINUX, {}) == RunnerVerdict(None, "runs-on, which gives no label")


def test_on_another_system_linux_is_lacking_and_its_own_is_there() -> None:
    assert judge_runner(["ubuntu-latest"], MACOS, {}).lacks == (
        "runs-on ubuntu-latest (this is macOS)"
    )
    assert judge_runner(["macos-latest"], MACOS, {}) == DEVEL
    assert judge_runner(["macos-15"], MACOS, {}).note == "this machine stands for macos-15"


def test_where_nothing_is_known_the_labels_alone_decide() -> None:
    assert judge_runner(["ubuntu-latest"], None, {}) == DEVEL
    assert (
        judge_runner(["ubuntu-24.04"], None, {}).note == "the devel image stands for ubuntu-24.04"
    )
    assert judge_runner(["windows-latest"], None, {}).lacks == "runs-on windows-latest"
    assert judge_runner(["ubuntu-24.04-arm"], None, {}).image is None


# --- configured ---


def test_a_configured_label_wins() -> None:
    configured = {"linux.2xlarge": "pytorch-devel", "windows-latest": "", "group:big": "big"}
    assert judge_runner(["linux.2xlarge"], LINUX, configured) == RunnerVerdict("pytorch-devel")
    assert judge_runner(["Windows-Latest"], LINUX, configured) == DEVEL
    assert judge_runner(["group:big"], LINUX, configured) == RunnerVerdict("big")
    assert judge_runner(["self-hosted", "linux.2xlarge"], LINUX, configured).image is not None


def test_a_configured_star_stands_for_any_text() -> None:
    configured = {"linux.*": "", "linux.*.gpu": "cuda", "linux.large": "small"}
    assert judge_runner(["linux.4xlarge"], LINUX, configured) == DEVEL
    assert judge_runner(["linux.large"], LINUX, configured) == RunnerVerdict("small")
    assert judge_runner(["xlinux.large"], LINUX, configured).image is None
    assert judge_runner(["linuxxlarge"], LINUX, configured).image is None
