"""The substitutes for actions: one file each, found by the action's name.

To add one: a module here with `NAMES`, `support` and `run` (and `post`, where the action has one), its names in
`ACTIONS`, and its tests. See `presubmit.replay.job.action`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from presubmit.replay.job.action import Support

if TYPE_CHECKING:
    from collections.abc import Mapping

    from presubmit.replay.job.action import Action, Wanted
    from presubmit.upstream.here import Here

_MODULES: Final = {
    "checkout": ("actions/checkout",),
    "setup_python": ("actions/setup-python",),
    "cache": ("actions/cache", "actions/cache/restore", "actions/cache/save"),
    "upload_artifact": ("actions/upload-artifact", "actions/upload-artifact/merge"),
    "download_artifact": ("actions/download-artifact",),
    "setup_uv": ("astral-sh/setup-uv", "hynek/setup-cached-uv"),
    "pre_commit": ("pre-commit/action",),
    "alls_green": ("re-actors/alls-green",),
    "paths_filter": ("dorny/paths-filter",),
    "build_and_inspect": ("hynek/build-and-inspect-python-package",),
    "setup_nox": ("wntrblm/nox", "excitedleigh/setup-nox"),
    "python_linters": (
        "astral-sh/ruff-action",
        "chartboost/ruff-action",
        "psf/black",
        "zizmorcore/zizmor-action",
    ),
    "toolchains": (
        "actions/setup-node",
        "actions/setup-go",
        "actions/setup-java",
        "dtolnay/rust-toolchain",
        "actions-rs/toolchain",
        "actions-rust-lang/setup-rust-toolchain",
        "moonrepo/setup-rust",
    ),
    "lacking": (
        "pypa/cibuildwheel",
        "pyo3/maturin-action",
        "actions/github-script",
        "actions/dependency-review-action",
        "codspeedhq/action",
        "docker/setup-qemu-action",
        "docker/setup-buildx-action",
        "docker/build-push-action",
        "docker/login-action",
        "actions/configure-pages",
        "actions/deploy-pages",
        "actions/create-github-app-token",
        "aws-actions/configure-aws-credentials",
        "google-github-actions/auth",
        "azure/login",
        "peter-evans/create-pull-request",
        "ad-m/github-push-action",
        "stefanzweifel/git-auto-commit-action",
        "pypa/gh-action-pypi-publish",
        "softprops/action-gh-release",
        "ncipollo/release-action",
        "peaceiris/actions-gh-pages",
        "jamesives/github-pages-deploy-action",
        "sigstore/gh-action-sigstore-python",
    ),
    "stubs": (
        "codecov/codecov-action",
        "codecov/test-results-action",
        "coverallsapp/github-action",
        "codacy/codacy-coverage-reporter-action",
        "py-cov-action/python-coverage-comment-action",
        "scientific-python/upload-nightly-action",
        "actions/labeler",
        "actions/stale",
        "actions/first-interaction",
        "actions/add-to-project",
        "actions/upload-pages-artifact",
        "github/codeql-action/init",
        "github/codeql-action/autobuild",
        "github/codeql-action/analyze",
        "github/codeql-action/upload-sarif",
        "actions/attest",
        "actions/attest-build-provenance",
        "actions/attest-sbom",
        "ossf/scorecard-action",
        "step-security/harden-runner",
        "enricomi/publish-unit-test-result-action",
        "dorny/test-reporter",
        "mikepenz/action-junit-report",
        "pmeier/pytest-results-action",
        "marocchino/sticky-pull-request-comment",
        "peter-evans/create-or-update-comment",
        "slackapi/slack-github-action",
        "8398a7/action-slack",
        "mxschmitt/action-tmate",
        "lhotari/action-upterm",
        "styfle/cancel-workflow-action",
        "jlumbroso/free-disk-space",
        "easimon/maximize-build-space",
        "swatinem/rust-cache",
        "mozilla-actions/sccache-action",
        "leafo/gh-actions-ccache",
    ),
}
ACTIONS: Final[Mapping[str, str]] = {
    name: f"presubmit.replay.actions.{module}"
    for module, names in _MODULES.items()
    for name in names
}
"""Lower-case `owner/name[/path]` to the module that stands for it."""


def find(uses: str) -> Action | None:
    """Give the substitute for a use, `owner/name[/path]@ref` in any letter case; None where there is none.

    A module is loaded only when it is asked for: a session needs few of them.
    """
    module = ACTIONS.get(name_of(uses))
    return None if module is None else cast("Action", import_module(module))


def support(wanted: Wanted, here: Here) -> Support:
    """Say whether a use of any action can be replayed here; a local one (`./…`) is not for us to say."""
    if wanted.uses.startswith("./"):
        return Support()
    if wanted.uses.lower().startswith("docker://"):
        return Support(lacks=f"action {wanted.uses}")
    action = find(wanted.uses)
    if action is None:
        return Support(lacks=f"action {wanted.uses.partition('@')[0]}")
    return action.support(wanted, here)


def name_of(uses: str) -> str:
    """Give an action's name without its reference, in lower case."""
    return uses.strip().partition("@")[0].rstrip("/").lower()
