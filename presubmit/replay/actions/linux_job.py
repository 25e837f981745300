"""pytorch/test-infra's reusable workflows `linux_job*.yml`: the caller's script, in the devel box instead of their image.

https://github.com/pytorch/test-infra: .github/workflows/linux_job.yml, linux_job_v2.yml, linux_job_v3.yml,
.github/actions/setup-linux, .github/scripts/run_with_env_secrets.py.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from presubmit.upstream.here import Here

_FOLDER: Final = "pytorch/test-infra/.github/workflows/"
NAMES: Final = tuple(f"{_FOLDER}linux_job{suffix}.yml" for suffix in ("", "_v2", "_v3"))

_DEFAULTS: Final[Mapping[str, Any]] = {
    "script": "python setup.py bdist_wheel",
    "timeout": 30,
    "fetch-depth": 1,
    "gpu-arch-type": "cpu",
    "job-name": "linux-job",
    "run-with-docker": True,
}
_OLD_TIMEOUT: Final = 120
_GPU_RUNNER: Final = re.compile(
    r"gpu|rocm|xpu|linux\.(g\d|p\d|dgx|idc|aws\.[ah]100)", re.IGNORECASE
)
_ARM_RUNNER: Final = re.compile(r"arm64|aarch64|\bm\d+g\b|graviton", re.IGNORECASE)
_FOLDERS: Final = {
    "RUNNER_ARTIFACT_DIR": "artifacts",
    "RUNNER_TEST_RESULTS_DIR": "test-results",
    "RUNNER_DOCS_DIR": "docs",
}
_MAKE_FOLDERS: Final = (
    'for folder in "$RUNNER_ARTIFACT_DIR" "$RUNNER_TEST_RESULTS_DIR" "$RUNNER_DOCS_DIR"; do\n'
    '  rm -rf "$folder" && mkdir -p "$folder"\n'
    "done\n"
)
_GATHER: Final = (
    'for wheel in dist/*.whl; do [ -f "$wheel" ] && mv -v "$wheel" "$RUNNER_ARTIFACT_DIR/"; done\n'
    'for place in artifacts-to-be-uploaded "$RUNNER_TEMP/artifacts-to-be-uploaded"; do\n'
    '  [ -d "$place" ] && mv -v "$place"/* "$RUNNER_ARTIFACT_DIR/"\n'
    "done\n"
    "true\n"
)


class LinuxStep(Value, frozen=True, kw_only=True):
    """One step of such a job: `run` (by `bash -e`) or `uses`; everything is evaluated already."""

    name: str
    run: str = ""
    uses: str = ""
    inputs: dict[str, str] = {}
    env: dict[str, str] = {}
    working_directory: str = ""
    """Relative to the workspace."""
    always: bool = False
    """Also after a step that failed."""
    continue_on_error: bool = False


class LinuxJob(Value, frozen=True, kw_only=True):
    """What a call of the workflow comes to."""

    name: str
    steps: tuple[LinuxStep, ...]
    env: dict[str, str]
    """Of the whole job."""
    timeout_minutes: float
    notes: tuple[str, ...] = ()


def lacking(
    inputs: Mapping[str, Any], here: Here, *, repository: str, own_refs: Collection[str] = ()
) -> str:
    """Say why a call cannot be replayed here; empty where it can.

    `own_refs` are the names and commits that mean the change itself (github.sha, the head's, refs/pull/N/merge).
    """
    return next(_missing(inputs, here, repository, own_refs), "")


def _missing(
    inputs: Mapping[str, Any], here: Here, repository: str, own_refs: Collection[str]
) -> Iterator[str]:
    arch, runner = str(_of(inputs, "gpu-arch-type")), str(inputs.get("runner") or "")
    script = str(_of(inputs, "script"))
    other, ref = str(inputs.get("repository") or ""), str(inputs.get("ref") or "")
    if arch not in {"cpu", "cpu-aarch64"}:
        yield f"a GPU ({arch})"
    if _GPU_RUNNER.search(runner):
        yield f"a GPU (runner {runner})"
    if (arch == "cpu-aarch64" or _ARM_RUNNER.search(runner)) and here.arch != "ARM64":
        yield f"an ARM64 runner ({runner or arch})"
    if other and other.lower() != repository.lower():
        yield f"the repository {other}"
    if ref and ref not in own_refs:
        yield f"the ref {ref}"
    if inputs.get("binary-matrix"):
        yield "the matrix of a binary build"
    if re.search(r"\bconda\b", script) and "conda" not in here.tools:
        yield "conda"
    if re.search(r"(?<![\w.-])/test-infra/", script):
        yield "the repository pytorch/test-infra"
    if "bash" not in here.tools:
        yield "bash"


def job_of(
    uses: str, inputs: Mapping[str, Any], *, repository: str, pull_request: str, temp: str
) -> LinuxJob:
    """Give the steps of a call; `temp` is RUNNER_TEMP inside the box, `pull_request` the number or empty."""
    folders = {name: f"{temp}/{folder}" for name, folder in _FOLDERS.items()}
    env = {"REPOSITORY": repository, "PR_NUMBER": pull_request, **folders}
    old = "linux_job.yml" in uses.lower()
    minutes = float(inputs.get("timeout") or (_OLD_TIMEOUT if old else _DEFAULTS["timeout"]))
    notes = [
        f"runs in the devel image, not in {image}"
        for image in [inputs.get("docker-image")]
        if image
    ]
    upload = str(inputs.get("upload-artifact") or "")
    if upload and _is_true(inputs.get("upload-artifact-to-s3")):
        notes.append("nothing is uploaded to S3")
        upload = ""
    return LinuxJob(
        name=str(_of(inputs, "job-name")),
        steps=tuple(_steps(inputs, repository=repository, temp=temp, upload=upload)),
        env=env | dict.fromkeys(_secrets(inputs), ""),
        timeout_minutes=minutes,
        notes=tuple(notes),
    )


def script_of(inputs: Mapping[str, Any]) -> str:
    """Give the bash script that the workflow makes of its `script`."""
    lines = ["set -eou pipefail"]
    if _is_true(_of(inputs, "run-with-docker")):
        # Their images have conda; one without it has nothing to activate.
        hook = 'if command -v conda >/dev/null; then eval "$(conda shell.bash hook)"; fi'
        lines += [hook, "set -x"]
    return "\n".join((*lines, str(_of(inputs, "script")))) + "\n"


def _steps(
    inputs: Mapping[str, Any], *, repository: str, temp: str, upload: str
) -> list[LinuxStep]:
    checkout = {
        "path": repository,
        "fetch-depth": str(_of(inputs, "fetch-depth")),
        "submodules": str(inputs.get("submodules") or "false"),
    }
    steps = [
        LinuxStep(name="Set up", run=_MAKE_FOLDERS),
        LinuxStep(name="Check out", uses="actions/checkout@v4", inputs=checkout),
    ]
    if download := str(inputs.get("download-artifact") or ""):
        where = {"name": download, "path": f"{temp}/artifacts/"}
        steps.append(LinuxStep(name="Download", uses="actions/download-artifact@v4", inputs=where))
    steps.append(
        LinuxStep(
            name="Run script",
            run=script_of(inputs),
            working_directory=repository,
            continue_on_error=_is_true(inputs.get("continue-on-error")),
        )
    )
    if upload:
        where = {"name": upload, "path": f"{temp}/artifacts/"}
        steps += [
            LinuxStep(name="Gather", run=_GATHER, working_directory=repository, always=True),
            LinuxStep(name="Upload", uses="actions/upload-artifact@v4", inputs=where, always=True),
        ]
    return steps


def _secrets(inputs: Mapping[str, Any]) -> list[str]:
    """Name the variables that secrets come in; a change's CI has none, so they are empty."""
    names = str(inputs.get("secrets-env") or "").split(" ")
    upper = (f"SECRET_{name.upper()}".replace("-", "_") for name in names if name)
    return [re.sub(r"[^a-zA-Z0-9_]", "", name) for name in upper]


def _of(inputs: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - text, number or boolean
    value = inputs.get(name)
    return _DEFAULTS.get(name) if value is None or value == "" else value


def _is_true(value: object) -> bool:
    return value is True or value == "true"
