"""npm's ranges, as the setup actions read them."""

from __future__ import annotations

import pytest

from presubmit.replay.actions import semver


def is_in(version: str, text: str) -> bool | None:
    wanted, found = semver.parse_range(text), semver.parse_version(version)
    assert found is not None
    return None if wanted is None else semver.satisfies(found, wanted)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("3.12", ("3.12.0", "3.12.9"), ("3.11.9", "3.13.0", "3.12.0rc1")),
        ("3.12.4", ("3.12.4",), ("3.12.5",)),
        ("3", ("3.0.0", "3.99.1"), ("2.7.18", "4.0.0")),
        ("3.x", ("3.14.0",), ("4.0.0", "3.15.0a1")),
        ("*", ("1.0.0",), ("1.0.0rc1",)),
        ("", ("1.0.0",), ()),
        (">=3.9 <3.14", ("3.9.0", "3.13.9"), ("3.8.18", "3.14.0")),
        (">= 3.9 < 3.14", ("3.9.0",), ("3.14.0",)),
        (">3.9", ("3.10.0",), ("3.9.18",)),
        (">3", ("4.0.0",), ("3.99.0",)),
        ("<=3.9", ("3.9.18",), ("3.10.0",)),
        ("<3.9", ("3.8.18",), ("3.9.0",)),
        ("~3.12.0-0", ("3.12.0rc1", "3.12.3"), ("3.13.0a1", "3.13.0")),
        ("~3.9", ("3.9.5",), ("3.10.0",)),
        ("~3", ("3.99.0",), ("4.0.0",)),
        ("^3.9", ("3.9.0", "3.14.0"), ("4.0.0", "3.8.0")),
        ("^0.2.3", ("0.2.9",), ("0.3.0", "0.2.2")),
        ("^0.0.3", ("0.0.3",), ("0.0.4",)),
        ("3.9 - 3.11", ("3.9.0", "3.11.9"), ("3.12.0",)),
        ("3.13.0-alpha - 3.13.0", ("3.13.0a2", "3.13.0"), ("3.13.1",)),
        ("18 || 20", ("18.1.0", "20.0.0"), ("19.0.0",)),
        ("v18", ("18.4.0",), ("19.0.0",)),
        ("=3.12", ("3.12.1",), ("3.13.0",)),
        (">=3.13.0-0", ("3.13.0rc2", "3.14.0"), ("3.14.0rc1",)),
    ],
)
def test_a_range_means_what_it_means_to_npm(
    text: str, inside: tuple[str, ...], outside: tuple[str, ...]
) -> None:
    assert [is_in(version, text) for version in inside] == [True] * len(inside)
    assert [is_in(version, text) for version in outside] == [False] * len(outside)


@pytest.mark.parametrize("text", ["three", "!=3.9", "3.9,<4", "3.12.x.y", "nightly", ">=", "03.1"])
def test_what_npm_cannot_read_is_no_range(text: str) -> None:
    assert semver.parse_range(text) is None


def test_a_prerelease_without_a_hyphen_is_read_only_where_that_is_allowed() -> None:
    assert semver.parse_range("3.9.0rc1") is None
    assert semver.parse_range("3.9.0rc1", loose=True) is not None


def test_a_compatible_release_of_python_is_npms_tilde() -> None:
    # `~=3.9` means >=3.9,<4 to Python, and <3.10 to the action.
    wanted = semver.parse_range("~=3.9", loose=True)
    assert wanted is not None
    assert not semver.satisfies(semver.Version(3, 10, 0), wanted)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3.15.0rc1", (3, 15, 0, ("rc", 1))),
        ("3.13.0a2", (3, 13, 0, ("alpha", 2))),
        ("v20.11.1", (20, 11, 1, ())),
        ("go1.22", (1, 22, 0, ())),
        ("17.0.11+9", (17, 0, 11, ())),
    ],
)
def test_versions_are_read_as_tools_say_them(text: str, expected: object) -> None:
    assert semver.parse_version(text) == expected


def test_the_newest_is_a_release_after_its_candidates() -> None:
    texts = ("3.12.0rc3", "3.12.0", "3.9.18", "3.12.0b1")
    versions = [found for text in texts if (found := semver.parse_version(text)) is not None]
    assert max(versions, key=lambda version: version.rank) == semver.Version(3, 12, 0)


def test_the_newest_version_in_a_range_is_found() -> None:
    versions = [semver.Version(3, 9, 1), semver.Version(3, 11, 2), semver.Version(3, 14, 0)]
    wanted = semver.parse_range(">=3.9 <3.14")
    assert wanted is not None
    assert semver.newest(versions, wanted) == semver.Version(3, 11, 2)
