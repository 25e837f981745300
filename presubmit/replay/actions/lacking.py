"""Actions that a box cannot replay, each with what it would need; their cells are not replayed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from presubmit.replay.job.action import LackingError, Support

if TYPE_CHECKING:
    from presubmit.replay.job.action import ActionStep, Wanted
    from presubmit.upstream.here import Here

_PUBLISHING: Final = "publishing"
_REASONS: Final = {
    "pypa/cibuildwheel": "a container engine inside the box (cibuildwheel builds in images of its own)",
    "pyo3/maturin-action": "a container engine inside the box (maturin-action builds in images of its own)",
    "actions/github-script": "JavaScript against GitHub's API",
    "actions/dependency-review-action": "GitHub's dependency graph",
    "codspeedhq/action": "CodSpeed's measuring",
    "docker/setup-qemu-action": "a container engine inside the box",
    "docker/setup-buildx-action": "a container engine inside the box",
    "docker/build-push-action": "a container engine inside the box",
    "docker/login-action": "credentials of a container registry",
    "actions/configure-pages": "GitHub Pages",
    "actions/deploy-pages": "GitHub Pages",
    "actions/create-github-app-token": "a token of a GitHub app",
    "aws-actions/configure-aws-credentials": "credentials of AWS",
    "google-github-actions/auth": "credentials of Google Cloud",
    "azure/login": "credentials of Azure",
    "peter-evans/create-pull-request": "a token that may write",
    "ad-m/github-push-action": "a token that may write",
    "stefanzweifel/git-auto-commit-action": "a token that may write",
    # A step that publishes and does not is no green step.
    "pypa/gh-action-pypi-publish": _PUBLISHING,
    "softprops/action-gh-release": _PUBLISHING,
    "ncipollo/release-action": _PUBLISHING,
    "peaceiris/actions-gh-pages": _PUBLISHING,
    "jamesives/github-pages-deploy-action": _PUBLISHING,
    "sigstore/gh-action-sigstore-python": "an identity token (OIDC)",
}
NAMES: Final = tuple(_REASONS)


def support(wanted: Wanted, here: Here) -> Support:  # noqa: ARG001 - the protocol's
    """Say what is missing."""
    return Support(lacks=_lacks(wanted.uses))


def run(step: ActionStep) -> None:
    """Raise LackingError."""
    raise LackingError(_lacks(step.wanted.uses))


def _lacks(uses: str) -> str:
    name = uses.partition("@")[0]
    return f"{_REASONS[name.lower()]}: {name}"
