"""What is a test, and what reaches it, where another runner than pytest runs the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presubmit.runners import runner_of
from presubmit.selector import choose, make_layout, make_scene
from presubmit.values import ChangedFile, FileStatus, Mode
from tests.unit.selector.changes import make_change
from tests.unit.selector.test_selector_select import make_tree

if TYPE_CHECKING:
    from collections.abc import Iterable

    from presubmit.values import Selection


def found_by(command: str, paths: Iterable[str]) -> list[str]:
    words = tuple(command.split())
    collects = runner_of(words).collects(words)
    return list(make_layout(tuple(paths), {}, collects=collects).tests)


def select(command: str, files: dict[str, str], *changed: str) -> Selection:
    words = tuple(command.split())
    change = make_change(*(ChangedFile(path=p, status=FileStatus.MODIFIED) for p in changed))
    scene = make_scene(change, make_tree(files), collects=runner_of(words).collects(words))
    return choose(change, scene)


def chosen(command: str, files: dict[str, str], *changed: str) -> list[str]:
    return sorted(test.path for test in select(command, files, *changed).tests)


PATHS = (
    *("tests/__init__.py", "tests/testone.py", "tests/test_two.py", "tests/helper.py"),
    *("tests/sub/__init__.py", "tests/sub/test_three.py", "tests/data/test_no_package.py"),
    *("pkg/__init__.py", "pkg/test_four.py", "test_five.py", "tests/six_test.py"),
)


def test_discovery_takes_files_by_its_own_pattern_below_packages() -> None:
    assert found_by("python -m unittest discover", PATHS) == [
        *("pkg/test_four.py", "test_five.py", "tests/sub/test_three.py"),
        *("tests/test_two.py", "tests/testone.py"),
    ]


def test_discovery_stays_in_its_folder_which_need_be_no_package() -> None:
    found = found_by("python -m unittest discover -s tests/data", PATHS)
    assert found == ["tests/data/test_no_package.py"]
    assert found_by("python -m unittest discover -s tests -p *_test.py", PATHS) == [
        "tests/six_test.py"
    ]


def test_named_modules_are_the_only_tests() -> None:
    assert found_by("python -m unittest tests.test_two pkg.test_four.Four", PATHS) == [
        *("pkg/test_four.py", "tests/test_two.py"),
    ]


def test_applications_of_django_keep_their_tests_in_one_file_or_in_many() -> None:
    paths = ("manage.py", "shop/__init__.py", "shop/tests.py", "shop/models.py")
    assert found_by("python manage.py test", paths) == ["shop/tests.py"]
    assert found_by("python manage.py test shop", paths) == ["shop/tests.py"]
    assert found_by("python manage.py test other", paths) == []


def test_a_change_reaches_the_tests_that_import_it() -> None:
    files = {
        "shapes/__init__.py": "",
        "shapes/rect.py": "def area(): return 1",
        "tests/__init__.py": "",
        "tests/testrect.py": "from shapes.rect import area",
        "tests/test_other.py": "import json",
    }
    assert chosen("python -m unittest", files, "shapes/rect.py") == ["tests/testrect.py"]
    # pytest would not take this file for a test.
    assert select("pytest", files, "shapes/rect.py").mode is Mode.ALL


SITE = {
    "manage.py": 'import os\nos.environ.setdefault("DJANGO_SETTINGS_MODULE", "site0.settings")',
    "site0/__init__.py": "",
    "site0/settings.py": 'INSTALLED_APPS = ["shop"]\nROOT_URLCONF = "site0.urls"',
    "site0/urls.py": "from shop import views",
    "shop/__init__.py": "",
    "shop/models.py": "class Cart: pass",
    "shop/views.py": "def index(): return 1",
    "shop/signals.py": "def sent(): return 1",
    "shop/migrations/__init__.py": "",
    "shop/migrations/m1.py": "",
    "shop/tests/__init__.py": "",
    "shop/tests/test_cart.py": "from shop.models import Cart",
    "shop/tests/test_pages.py": "from django.test import TestCase",
    "tools/__init__.py": "",
    "tools/thing.py": "",
    "tools/test_thing.py": "import tools.thing",
}
DJANGO = "python manage.py test"


def test_what_django_loads_by_itself_reaches_every_test() -> None:
    every = ["shop/tests/test_cart.py", "shop/tests/test_pages.py", "tools/test_thing.py"]
    for path in ("shop/views.py", "shop/signals.py", "shop/migrations/m1.py", "site0/settings.py"):
        assert chosen(DJANGO, SITE, path) == every, path


def test_what_django_does_not_load_goes_by_imports() -> None:
    assert chosen(DJANGO, SITE, "tools/thing.py") == ["tools/test_thing.py"]
    assert chosen(DJANGO, SITE, "shop/tests/test_cart.py") == ["shop/tests/test_cart.py"]


def test_names_do_not_narrow_what_a_framework_calls_by_strings() -> None:
    words = tuple(DJANGO.split())
    found = runner_of(words).collects(words)
    assert found is not None
    assert found.applications
