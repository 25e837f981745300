"""What is known of the place that a recorded run was made in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from presubmit.config import BuildConfig, Config, ContainerConfig
from presubmit.selector.recorded_setting import HOST, changed_facts, facts_of, say_changed

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = facts_of(Config(), "sha256:1")


def config(*, build: Mapping[str, Any] | None = None, **container: Any) -> Config:
    return Config(build=BuildConfig(**(build or {})), container=ContainerConfig(**container))


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (facts_of(Config(), "sha256:2"), "another image"),
        (facts_of(Config(), HOST), "another image"),
        (facts_of(config(python="python3.12"), "sha256:1"), "another interpreter"),
        (facts_of(config(build={"extras": ("more",)}), "sha256:1"), "another build"),
        (facts_of(config(env=("A=1",)), "sha256:1"), "other variables"),
    ],
)
def test_another_place_is_told_by_what_differs(now: dict[str, str], words: str) -> None:
    (said,) = changed_facts(HERE, now)
    assert said.startswith(words)
    assert "presubmit record" in say_changed([(said,)])


@pytest.mark.parametrize(
    "now",
    [HERE, facts_of(Config(), ""), facts_of(config(memory="8g", cpus=2.0), "sha256:1"), {}],
    ids=["same", "no engine asked", "limits", "unknown"],
)
def test_what_is_the_same_or_not_known_makes_no_difference(now: dict[str, str]) -> None:
    assert changed_facts(HERE, now) == ()
    assert changed_facts(now, HERE) == ()


def test_several_runs_are_said_to_differ_in_one_sentence() -> None:
    said = say_changed([("another image",), ("another image", "another build")])
    assert said.startswith("what is recorded was made with another image, another build, and")
