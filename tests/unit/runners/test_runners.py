"""Which runner a command starts, what it collects, and how it is kept to the chosen tests."""

from __future__ import annotations

import pytest

from presubmit.runners import RUNNERS, Told, runner_of


def words_of(text: str) -> tuple[str, ...]:
    return tuple(text.split())


TOLD = Told(selection="/out/s.json", junit="/out/j.xml", arguments=("-v",), exit_first=True)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("pytest -q", "pytest"),
        ("python -m pytest tests", "pytest"),
        ("tox -e py", "pytest"),
        ("make test", "pytest"),
        ("python -m unittest", "unittest"),
        ("coverage run --source x -m unittest discover -s tests", "unittest"),
        ("python -W error -m unittest tests.test_a", "unittest"),
        ("python manage.py test", "django"),
        ("coverage run ./manage.py test app --parallel 4", "django"),
        ("django-admin test --settings=tests.settings", "django"),
        ("python -m django test", "django"),
        ("python manage.py migrate", "pytest"),
        ("python runtests.py", "script"),
        ("python -X dev tests/run_tests.py -v", "script"),
        ("python3.12 test/alltests.py", "script"),
        ("python setup.py test", "pytest"),
        ("python -m runtests", "pytest"),
        ("python -c runtests.py", "pytest"),
        ("", "pytest"),
    ],
)
def test_a_command_starts_one_runner(command: str, name: str) -> None:
    found = runner_of(words_of(command)).NAME
    assert found == name


def test_every_runner_stands_under_its_own_name() -> None:
    assert set(RUNNERS) == {"pytest", "unittest", "django", "script"}
    assert [*RUNNERS][-1] == "pytest"  # it takes every command


# --- what is collected ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "folders", "patterns"),
    [
        ("python -m unittest", (), ("test*.py",)),
        ("python -m unittest -v", (), ("test*.py",)),
        ("python -m unittest discover", (), ("test*.py",)),
        ("python -m unittest discover -v -s ./tests/ -t .", ("tests",), ("test*.py",)),
        ("python -m unittest discover tests *_tests.py", ("tests",), ("*_tests.py",)),
        ("python -m unittest discover -p check_*.py --buffer -k word", (), ("check_*.py",)),
        (
            "python -m unittest discover --start-directory=src/pkg/test --durations 5",
            ("src/pkg/test",),
            ("test*.py",),
        ),
    ],
)
def test_discovery_of_unittest_goes_by_folder_pattern_and_packages(
    command: str, folders: tuple[str, ...], patterns: tuple[str, ...]
) -> None:
    words = words_of(command)
    found = runner_of(words).collects(words)
    assert found is not None
    assert (found.folders, found.patterns, found.packages) == (folders, patterns, True)


def test_names_may_be_modules_packages_classes_and_tests() -> None:
    words = ("python", "-m", "unittest", "tests.test_a.Class.test_m", "tests/test_b.py")
    found = runner_of(words).collects(words)
    assert found is not None
    assert {"/tests/test_a.py", "/tests/test_b.py"} <= set(found.patterns)
    assert not found.packages


def test_arguments_that_nobody_knows_widen_what_is_collected() -> None:
    words = ("python", "-m", "unittest", "discover", "-s")
    found = runner_of(words).collects(words)
    assert found is not None
    assert (found.folders, found.patterns) == ((), ("test*.py",))


def test_labels_of_django_are_paths_applications_and_names() -> None:
    words = words_of("python manage.py test -v 2 polls shop.tests.test_cart.Cart other/ --tag x")
    found = runner_of(words).collects(words)
    assert found is not None
    assert {"/polls/test*.py", "/polls/*/test*.py", "/shop/tests/test_cart.py"} <= set(
        found.patterns
    )
    assert "/other/test*.py" in found.patterns
    assert not any(text.startswith(("/2", "/x")) for text in found.patterns)


def test_django_loads_its_manage_and_its_settings_for_every_test() -> None:
    words = words_of("python manage.py test --settings=site0.settings.ci --parallel 2")
    found = runner_of(words).collects(words)
    assert found is not None
    assert found.loads == ("manage", "site0.settings.ci")
    assert found.applications
    assert found.patterns == ("test*.py",)  # `2` is no label


def test_what_pytest_collects_is_for_its_configuration_to_say() -> None:
    assert runner_of(("pytest",)).collects(("pytest", "-q")) is None


# --- how it is run --------------------------------------------------------------------------------------------------


def test_pytest_gets_its_plugin_by_the_environment() -> None:
    given = {"PYTEST_ADDOPTS": "-q", "PYTEST_PLUGINS": "theirs"}
    told = Told(selection="/out/s.json", junit="/out/j.xml", given=given)
    made = runner_of(("tox",)).invoke(("tox",), told)
    assert made.command == ("tox",)
    assert made.env["PYTEST_ADDOPTS"].startswith(
        "-q -p presubmit_pytest_plugin --junitxml=/out/j.xml"
    )
    assert made.env["PYTEST_PLUGINS"] == "presubmit_pytest_plugin,theirs"


def test_unittest_is_run_by_our_module_with_its_own_arguments() -> None:
    words = ("coverage", "run", "-m", "unittest", "discover", "-s", "tests")
    made = runner_of(words).invoke(words, TOLD)
    assert made.command == (
        *("coverage", "run", "-m", "presubmit_unittest", "discover", "-s", "tests", "-f", "-v"),
    )
    assert made.env == {"PRESUBMIT_SELECTION": "/out/s.json"}


def test_the_runner_that_django_is_told_of_is_told_to_ours() -> None:
    words = ("python", "manage.py", "test", "--testrunner", "x.Runner", "app", "--parallel=2")
    made = runner_of(words).invoke(words, TOLD)
    assert made.command == (
        *("python", "manage.py", "test", "--testrunner=presubmit_django.Runner"),
        *("--failfast", "app", "--parallel=2", "-v"),
    )
    assert made.env["PRESUBMIT_TEST_RUNNER"] == "x.Runner"


def test_a_script_is_run_by_our_module_and_its_pytest_by_the_plugin() -> None:
    words = ("python", "-W", "error", "runtests.py", "--fast")
    made = runner_of(words).invoke(words, TOLD)
    assert made.command == (
        *("python", "-W", "error", "-m", "presubmit_unittest", "--script", "runtests.py"),
        *("--fast", "-v"),
    )
    assert made.env["PYTEST_PLUGINS"] == "presubmit_pytest_plugin"


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        ("python -m unittest -f -v", "python -m unittest -v"),
        ("python -m unittest discover --failfast", "python -m unittest discover"),
        ("python manage.py test --failfast app", "python manage.py test app"),
        ("python runtests.py --failfast", "python runtests.py --failfast"),
    ],
)
def test_upstream_ends_its_run_early_and_a_narrowed_one_does_not(command: str, kept: str) -> None:
    words = words_of(command)
    assert runner_of(words).plain(words) == words_of(kept)


def test_ids_as_in_reports_choose_and_other_arguments_are_the_runners() -> None:
    given = ("-v", "tests/test_a.py::A::test_x", "tests.test_b", "tests/test_c.py")
    ids = ("tests/test_a.py::A::test_x", "tests/test_c.py")
    for name in ("unittest", "django", "script"):
        assert RUNNERS[name].sort_arguments(given) == (ids, ("-v", "tests.test_b"))
    assert RUNNERS["pytest"].sort_arguments(given) == ((), given)
