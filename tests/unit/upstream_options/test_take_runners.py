"""Runners other than pytest, as upstream's jobs call them."""

from __future__ import annotations

import pytest

from tests.unit.upstream_options.made import job, taken


@pytest.mark.parametrize(
    ("step", "command"),
    [
        ("python -m unittest discover -s tests -v", "python -m unittest discover -s tests -v"),
        ("coverage run --source=proj -m unittest discover", "python -m unittest discover"),
        ("python3 -W error -m unittest -f", "python -W error -m unittest"),
        ("uv run python -m unittest", "python -m unittest"),
        ("python manage.py test --parallel", "python manage.py test --parallel"),
        ("./manage.py test app", "python ./manage.py test app"),
        ("coverage run manage.py test", "python manage.py test"),
        ("python -m django test --settings s", "python -m django test --settings s"),
        ("django-admin test --settings=tests.s", "django-admin test --settings=tests.s"),
        ("python runtests.py -v", "python runtests.py -v"),
        ("python test/alltests.py", "python test/alltests.py"),
    ],
)
def test_the_call_of_another_runner_is_taken_over_without_its_wrappers(
    step: str, command: str
) -> None:
    found = taken(job("pip install .", step))
    assert found.options["tests.command"] == (tuple(command.split()), "ci.yml:10")


def test_it_is_found_behind_tox() -> None:
    tox = "[testenv]\ndeps = ddt\ncommands = python -m unittest discover -s tests\n"
    found = taken(job("tox -e py"), {"tox.ini": tox})
    command, at = found.options["tests.command"]
    assert command == ("python", "-m", "unittest", "discover", "-s", "tests")
    assert "tox.ini" in at
    assert found.options["build.packages"][0] == ("ddt",)


def test_a_pytest_call_of_the_same_job_is_preferred_and_the_other_named() -> None:
    found = taken(job("python -m unittest\npython -m pytest -q"))
    assert found.options["tests.command"][0] == ("python", "-m", "pytest", "-q")
    assert "unittest" in found.besides["tests"][0]


def test_options_that_would_hide_our_module_are_left_out_and_said() -> None:
    found = taken(job("python -I -m unittest"))
    assert found.options["tests.command"][0] == ("python", "-m", "unittest")
    assert any("-I" in note for note in found.notes)


@pytest.mark.parametrize(
    "step",
    ["cd sub && python -m unittest", "python -m unittest $WHICH", "python manage.py migrate"],
)
def test_what_cannot_be_narrowed_here_is_not_taken_over(step: str) -> None:
    assert "tests.command" not in taken(job(step)).options
