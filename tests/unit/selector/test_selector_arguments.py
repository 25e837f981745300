"""How the names of tests are handed to a command."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import pytest

from presubmit.selector.arguments import (
    as_arguments,
    as_file,
    fits,
    reads_files,
    version_command,
)

if TYPE_CHECKING:
    from pathlib import Path

ODD = (
    "tests/test_a.py::C::test_x",
    "tests/with blank/test_b.py",
    "tests/new\nline/test_c.py",
    "tests/form\x0cfeed/test_d.py",
    "tests/t\u00e9st_e.py",
    "tests/lat\udce9n.py",
    "tests/line\u2028end.py",
    " ",
)


def test_no_name_is_taken_for_an_option_or_a_file_of_arguments() -> None:
    assert as_arguments(("-x/test_a.py", "@b.py", "c.py")) == ("./-x/test_a.py", "./@b.py", "c.py")


def test_odd_names_survive_a_file_as_argparse_reads_it(tmp_path: Path) -> None:
    text, outside = as_file(ODD)
    place = tmp_path / "tests"
    place.write_text(text, "utf-8")
    parser = argparse.ArgumentParser(fromfile_prefix_chars="@")
    parser.add_argument("names", nargs="*")
    found = parser.parse_args([f"@{place}", *outside]).names
    assert sorted(found) == sorted(ODD)


def test_names_that_every_encoding_has_go_into_the_file() -> None:
    names = tuple(f"tests/test_{number}.py::test_x" for number in range(1000))
    text, outside = as_file(names)
    assert (tuple(text.splitlines()), outside) == (names, ())


@pytest.mark.parametrize(
    ("count", "length", "most", "enough"),
    [(10, 10, 2_000_000, True), (10_000, 300, 2_000_000, False), (1, 200_000, 2_000_000, False)],
)
def test_a_command_fits_by_its_bytes_and_by_its_longest_word(
    count: int, length: int, most: int, enough: bool
) -> None:
    assert fits(["x" * length] * count, {}, most=most) is enough


def test_the_environment_takes_room_as_well() -> None:
    command = ["x" * 1000] * 50
    assert fits(command, {}, most=100_000)
    assert not fits(command, {"A": "x" * 60_000}, most=100_000)


@pytest.mark.parametrize(
    ("command", "asking"),
    [
        (("pytest", "-q"), ("pytest", "--version")),
        (("python", "-m", "pytest", "-x"), ("python", "-m", "pytest", "--version")),
        ((".venv/bin/pytest",), (".venv/bin/pytest", "--version")),
        (("make", "test"), ()),
    ],
)
def test_the_version_is_asked_of_the_pytest_that_is_run(
    command: tuple[str, ...], asking: tuple[str, ...]
) -> None:
    assert version_command(command) == asking


@pytest.mark.parametrize(
    ("said", "takes"),
    [
        ("pytest 8.2.0", True),
        ("pytest 9.0.1\n", True),
        ("pytest 8.1.2", False),
        ("This is pytest version 6.2.5, imported from x", False),
        ("pytest 10.0", True),
        ("", False),
    ],
)
def test_only_pytest_8_2_and_newer_take_a_file(said: str, takes: bool) -> None:
    assert reads_files(said) is takes
