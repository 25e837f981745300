"""Actions that do nothing here, and say so: reports to services, and caches of things that are kept anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from presubmit.replay.job.action import Support

if TYPE_CHECKING:
    from presubmit.replay.job.action import ActionStep, Wanted
    from presubmit.upstream.here import Here

_CACHES: Final = {
    # Cargo, sccache and ccache find their files again, or build anew: only time is lost.
    "swatinem/rust-cache": {"cache-hit": "false"},
    "mozilla-actions/sccache-action": {},
    "leafo/gh-actions-ccache": {},
}
_STUBS: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "codecov/codecov-action": ("coverage is not uploaded", {}),
    "codecov/test-results-action": ("test results are not uploaded", {}),
    "coverallsapp/github-action": ("coverage is not uploaded", {}),
    "codacy/codacy-coverage-reporter-action": ("coverage is not uploaded", {}),
    "py-cov-action/python-coverage-comment-action": ("coverage is not commented", {}),
    "scientific-python/upload-nightly-action": ("nightly wheels are not uploaded", {}),
    "actions/labeler": ("labels are not set", {}),
    "actions/stale": ("stale issues are left alone", {}),
    "actions/first-interaction": ("nobody is greeted", {}),
    "actions/add-to-project": ("nothing is added to a project", {}),
    "actions/upload-pages-artifact": ("pages are not uploaded", {}),
    "github/codeql-action/init": ("CodeQL analyses nothing", {}),
    "github/codeql-action/autobuild": ("CodeQL analyses nothing", {}),
    "github/codeql-action/analyze": ("CodeQL analyses nothing", {}),
    "github/codeql-action/upload-sarif": ("SARIF is not uploaded", {}),
    "actions/attest": ("nothing is attested", {}),
    "actions/attest-build-provenance": ("nothing is attested", {}),
    "actions/attest-sbom": ("nothing is attested", {}),
    "ossf/scorecard-action": ("no scorecard is made", {}),
    "step-security/harden-runner": ("the runner is not hardened, it is a container", {}),
    "enricomi/publish-unit-test-result-action": ("test results are not published", {}),
    "dorny/test-reporter": ("test results are not published", {}),
    "mikepenz/action-junit-report": ("test results are not published", {}),
    "pmeier/pytest-results-action": ("test results are not published", {}),
    "marocchino/sticky-pull-request-comment": ("nothing is commented", {}),
    "peter-evans/create-or-update-comment": ("nothing is commented", {}),
    "slackapi/slack-github-action": ("nobody is told", {}),
    "8398a7/action-slack": ("nobody is told", {}),
    "mxschmitt/action-tmate": ("no session is opened", {}),
    "lhotari/action-upterm": ("no session is opened", {}),
    "styfle/cancel-workflow-action": ("no other run is cancelled", {}),
    "jlumbroso/free-disk-space": ("the disk stays as it is", {}),
    "easimon/maximize-build-space": ("the disk stays as it is", {}),
} | {
    name: ("nothing is restored or saved, which costs time only", outputs)
    for name, outputs in _CACHES.items()
}
NAMES: Final = tuple(_STUBS)


def support(wanted: Wanted, here: Here) -> Support:  # noqa: ARG001 - the protocol's
    """Nothing is done."""
    note, _ = _STUBS[_name(wanted)]
    return Support(stub=True, note=note)


def run(step: ActionStep) -> None:
    """Say that nothing is done."""
    note, outputs = _STUBS[_name(step.wanted)]
    step.say(note)
    step.note(note)
    for name, value in outputs.items():
        step.set_output(name, value)


def _name(wanted: Wanted) -> str:
    return wanted.uses.partition("@")[0].lower()
