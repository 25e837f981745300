"""No secret reaches a draft: planted ones in messages, output, URLs and the environment."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import msgspec
import pytest

from presubmit.draft_reading import scrubbed
from presubmit.drafts.checklist import draft_checklist
from presubmit.drafts.pr import draft_pr, state_lines
from presubmit.drafts.rfc import draft_rfc
from presubmit.drafts.secrets import clean, secrets_of
from presubmit.drafts.values import Commit

if TYPE_CHECKING:
    from collections.abc import Callable

    from presubmit.drafts.values import DraftFacts

ROOTS = PurePosixPath("/", "root")
"""The home of the superuser."""

# Put together here, so that no scanner of secrets stumbles over this file.
PLANTED = {
    "github": "ghp_" + "Ab1" * 12,
    "fine-grained": "github_pat_" + "11ABC_" * 6,
    "gitlab": "glpat-" + "x7Kq" * 5,
    "pypi": "pypi-" + "AgEIcHlwaS5" * 3,
    "hugging face": "hf_" + "aBcD" * 6,
    "open ai": "sk-proj-" + "a1B2" * 6,
    "aws": "AKIA" + "ABCD" * 4,
    "slack": "xoxb-" + "123456-" * 3,
    "jwt": "eyJhbGciOiJI." + "eyJzdWIiOiIx" + ".c2lnbmF0dXJl",
}


@pytest.mark.parametrize("secret", PLANTED.values(), ids=PLANTED.keys())
def test_a_token_is_masked_by_its_form(secret: str) -> None:
    assert clean(f"asked with {secret}.") == "asked with ***."


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("https://me:hunter22@host/x", "https://***@host/x"),
        ("git+https://t0ken@host/x.git", "git+https://***@host/x.git"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic ***"),
        ("curl -H 'Authorization: Bearer abcdef123456'", "curl -H 'Authorization: Bearer ***'"),
        ("DB_PASSWORD=hunter22 make", "DB_PASSWORD=*** make"),
        ('{"api_key": "abcd1234"}', '{"api_key": "***"}'),
        ("tool --token abcd1234 run", "tool --token *** run"),
        ("at /home/jane/src/x.py", "at ~/src/x.py"),
        ("at /Users/jane/src/x.py", "at ~/src/x.py"),
        ("at C:\\Users\\jane\\x.py", "at ~\\x.py"),
        (f"at {ROOTS}/x.py", "at ~/x.py"),
    ],
)
def test_what_gives_a_person_away_is_masked(text: str, wanted: str) -> None:
    assert clean(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "The author of tokenize.py",
        "tests/test_token.py::test_secret failed",
        "https://github.com/a/b/pull/1#issuecomment-2",
        "Author: @jane",
        "a sketch of the risk-free-and-easy-way",
        "/rootless/x and src/home/y",
        "Signed-off-by: Jane <jane@example.org>",
    ],
)
def test_plain_words_stay(text: str) -> None:
    assert clean(text) == text


def test_a_private_key_is_masked_whole() -> None:
    begin, end = "-----BEGIN " + "RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
    assert clean(f"a\n{begin}\nMIIE\nabc\n{end}\nb") == "a\n***\nb"


def test_values_of_secret_variables_are_known_by_their_names() -> None:
    environ = {
        "MY_TOKEN": "correct horse",
        "PATH": "/usr/bin",
        "X_SECRET": "short",
        "TOKENIZERS": "parallel",
    }
    assert secrets_of(environ) == ("correct horse",)


def planted(facts: DraftFacts) -> DraftFacts:
    """Plant secrets in every place that others write."""
    token, home = PLANTED["github"], "/home/jane"
    commit = Commit(
        subject=f"Use {token} for uploads",
        body=f"From https://me:hunter22@host/x\nSeen in {home}/notes, with correct horse.",
    )
    run = facts.run
    failure = msgspec.structs.replace(
        run.failures[0], label="new", message=f"401 for {token} in {home}/x"
    )
    step = msgspec.structs.replace(
        run.steps[1],
        command=("tool", "--token", "abcd1234", f"https://{token}@host"),
        reason=f"DB_PASSWORD=hunter22 {token}",
    )
    changed = msgspec.structs.replace(
        run,
        failures=(failure,),
        steps=(step,),
        environment={"kind": "host", "python": f"3.11 {home} correct horse"},
        incomplete=(f"lost {token}",),
    )
    return msgspec.structs.replace(
        facts, commits=(commit, commit), run=changed, branch=f"x-{token}"
    )


def test_no_draft_holds_a_planted_secret(facts: Callable[..., DraftFacts]) -> None:
    def shown(text: str) -> str:
        return clean(text, known=("correct horse",))

    found = scrubbed(planted(facts("api-break")), shown)
    state = "\n".join(state_lines(found))
    text = draft_pr(found, None, "", shown) + draft_rfc(found, None, "", shown)
    text += draft_checklist(found, state, "", shown)
    assert "***" in text
    for secret in (
        PLANTED["github"],
        "hunter22",
        "abcd1234",
        "/home/jane",
        "correct horse",
        "jane",
    ):
        assert secret not in text
