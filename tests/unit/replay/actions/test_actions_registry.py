"""Every substitute is found by its names, and says of any action whether it can be replayed."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from presubmit.replay import actions
from presubmit.replay.job.action import Support, Wanted
from tests.unit.replay.actions.fake import HERE

MODULES = sorted(set(actions.ACTIONS.values()))


@pytest.mark.parametrize("module", MODULES)
def test_a_modules_names_are_those_that_lead_to_it(module: str) -> None:
    if module.endswith(".checkout"):
        pytest.importorskip(module)
    listed = {name for name, target in actions.ACTIONS.items() if target == module}
    found = import_module(module)
    assert set(found.NAMES) == listed
    assert all(name == name.lower() for name in listed)
    assert callable(found.support)
    assert callable(found.run)


@pytest.mark.parametrize("module", [one for one in MODULES if not one.endswith(".checkout")])
def test_every_name_can_be_asked_about(module: str) -> None:
    for name in import_module(module).NAMES:
        assert isinstance(actions.support(Wanted(uses=f"{name}@v1"), HERE), Support)


def test_an_action_is_found_in_any_letter_case_and_at_any_ref() -> None:
    found = actions.find("Actions/Setup-Python@8d9ed9ac5c53483de85588cdf95a591a75ab9f55")
    assert found is not None
    assert found.NAMES == ("actions/setup-python",)


def test_a_path_inside_an_action_is_another_action() -> None:
    assert actions.find("actions/cache/elsewhere@v4") is None
    assert actions.find("github/codeql-action/init@v3") is not None


def test_an_unknown_action_is_lacking_by_its_name() -> None:
    assert actions.support(Wanted(uses="some/Thing/sub@v1"), HERE) == Support(
        lacks="action some/Thing/sub"
    )


def test_an_image_as_an_action_is_lacking() -> None:
    wanted = Wanted(uses="docker://alpine:3")
    assert actions.support(wanted, HERE) == Support(lacks="action docker://alpine:3")


def test_a_local_action_is_not_judged() -> None:
    assert actions.support(Wanted(uses="./.github/actions/x"), HERE) == Support()


def test_what_a_box_cannot_do_is_lacking_with_the_reason() -> None:
    support = actions.support(Wanted(uses="pypa/cibuildwheel@v3.2"), HERE)
    assert "a container engine inside the box" in support.lacks
    assert "pypa/cibuildwheel" in support.lacks


def test_publishing_is_never_a_stub() -> None:
    support = actions.support(Wanted(uses="pypa/gh-action-pypi-publish@release/v1"), HERE)
    assert (support.stub, support.lacks) == (False, "publishing: pypa/gh-action-pypi-publish")


def test_reporting_to_a_service_is_a_stub_that_says_so() -> None:
    support = actions.support(Wanted(uses="codecov/codecov-action@v5"), HERE)
    assert support == Support(stub=True, note="coverage is not uploaded")


def test_finding_one_action_loads_no_other() -> None:
    code = (
        "import sys; from presubmit.replay import actions; actions.find('re-actors/alls-green@v1');"
        "print([name for name in sys.modules if 'setup_python' in name or name == 'yaml'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
