from __future__ import annotations

import pytest

from presubmit.selector import imports_of, make_layout
from presubmit.selector.resolve import Resolver

TESTING = {
    "pkg/__init__.py": "",
    "pkg/testing/__init__.py": "",
    "pkg/testing/pytest.py": "def raises(): ...",
}


def depends(files: dict[str, str], path: str) -> set[str]:
    imports = {it: imports_of(it, text.encode()) for it, text in files.items()}
    return Resolver(make_layout(tuple(files), {}), (imports,), {}).dependencies(path)


@pytest.mark.parametrize("text", ["import pytest", "from pytest import raises", "import _pytest"])
def test_an_import_of_the_test_runner_is_no_module_of_that_name_inside_a_package(
    text: str,
) -> None:
    files = TESTING | {"pkg/testing/_pytest.py": "", "tests/test_a.py": text}

    assert depends(files, "tests/test_a.py") == set()


def test_a_package_reaches_its_module_of_the_test_runners_name_by_the_whole_name() -> None:
    files = TESTING | {"tests/test_a.py": "from pkg.testing.pytest import raises"}

    assert "pkg/testing/pytest.py" in depends(files, "tests/test_a.py")


def test_a_script_may_run_with_the_module_of_the_test_runners_name_beside_it() -> None:
    files = TESTING | {"pkg/testing/run.py": "import pytest"}

    assert "pkg/testing/pytest.py" in depends(files, "pkg/testing/run.py")


def test_at_a_root_a_module_of_the_test_runners_name_is_found_by_all() -> None:
    files = {"src/pytest/__init__.py": "", "testing/test_a.py": "import pytest"}

    assert depends(files, "testing/test_a.py") == {"src/pytest/__init__.py"}


def test_another_module_inside_a_package_may_be_on_a_path_that_a_hack_adds() -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/tools/__init__.py": "",
        "pkg/tools/helper.py": "",
        "tests/test_a.py": "import helper",
    }

    assert depends(files, "tests/test_a.py") == {"pkg/tools/helper.py"}
