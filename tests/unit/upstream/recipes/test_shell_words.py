from __future__ import annotations

import pytest

from presubmit.upstream.recipes.shell_words import ShellSyntaxError, expand, expand_value

KNOWN = {"X": "a b", "EMPTY": "", "V": "3.12", "HOME": "/home/me", "PYTEST": "python -m pytest -v"}


def texts(raw: str) -> list[str]:
    return [word.text for word in expand(raw, KNOWN)]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("plain", ["plain"]),
        ("'$X'", ["$X"]),
        ('"$X"', ["a b"]),
        ("$X", ["a", "b"]),
        ("pre$X", ["prea", "b"]),
        ("${PYTEST}", ["python", "-m", "pytest", "-v"]),
        ("$EMPTY", []),
        ('"$EMPTY"', [""]),
        ("a\\ b", ["a b"]),
        ('"a\\"b\\n"', ['a"b\\n']),
        ("'it'\\''s'", ["it's"]),
        ("$'a\\tb'", ["a\tb"]),
        ("-Csetup-args='-Dx=y z'", ["-Csetup-args=-Dx=y z"]),
        ("~/bin", ["/home/me/bin"]),
        ("a~", ["a~"]),
        ("lo\\\nng", ["long"]),
        ("${V:-3.9}", ["3.12"]),
        ("${EMPTY:-3.9}", ["3.9"]),
        ("${EMPTY-3.9}", []),
        ("${V:+yes}", ["yes"]),
        ("${EMPTY:+yes}", []),
        ("py${V//./}", ["py312"]),
        ("py$(echo $V | tr -d .)", ["py312"]),
        ("py$(echo ${V} | tr -d '.')-tests", ["py312-tests"]),
        ("100%$", ["100%$"]),
    ],
)
def test_a_word_becomes_what_a_shell_makes_of_it(raw: str, words: list[str]) -> None:
    assert texts(raw) == words
    assert all(word.literal for word in expand(raw, KNOWN))


@pytest.mark.parametrize(
    "raw",
    [
        *("$UNKNOWN", "${UNKNOWN}", "${UNKNOWN:-x}", "$(date)", "`date`", "$1", "$@", "${V%.*}", "${A[@]}"),
        *("$((1 + 2))", "{a,b}", "x{1..3}", "$(echo $UNKNOWN)", "$(echo a | sed s/a/b/)", "${{ matrix.x }}"),
    ],
)  # fmt: skip
def test_what_is_not_known_is_shown_as_written_and_marked(raw: str) -> None:
    (word,) = expand(raw, KNOWN)
    assert (word.text, word.literal) == (raw, False)


def test_an_unquoted_star_is_a_pattern_and_a_quoted_one_is_none() -> None:
    assert [word.pattern for word in expand("dist/*.whl", {})] == [True]
    assert [word.pattern for word in expand("'numpy==2.*'", {})] == [False]


def test_an_assignment_is_not_split() -> None:
    assert expand_value("$X", KNOWN).text == "a b"


def test_a_quotation_without_end_is_an_error() -> None:
    with pytest.raises(ShellSyntaxError, match="not closed"):
        expand('"abc', {})
