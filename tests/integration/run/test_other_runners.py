"""Projects whose upstream runs unittest, or Django's runner: the same verdicts as with pytest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.run.conftest import Done, MakeProject, Project

pytestmark = [pytest.mark.engine, pytest.mark.network]

WORKFLOW = """\
on: pull_request
jobs:
  tests:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v5
      - run: pip install .
      - run: python -m unittest discover -s tests -t . --failfast
"""
PYPROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "shapes"
version = "1"

[tool.setuptools]
packages = ["shapes"]
"""
FILES = {
    ".github/workflows/ci.yml": WORKFLOW,
    "pyproject.toml": PYPROJECT,
    "README.md": "# Shapes\n",
    "shapes/__init__.py": "",
    "shapes/rect.py": "def area(a, b):\n    return a * b\n",
    "shapes/ball.py": "def volume(r):\n    return 4 * r\n",
    "tests/__init__.py": "",
    # pytest would take neither of these names for a test's.
    "tests/testrect.py": (
        "import unittest\n\nfrom shapes.rect import area\n\n\nclass Rect(unittest.TestCase):\n"
        "    def test_area(self):\n        self.assertEqual(area(2, 3), 6)\n\n"
        "    def test_each(self):\n        for n in range(3):\n            with self.subTest(n=n):\n"
        "                self.assertEqual(area(n, 1), n)\n\n"
        "    def test_old(self):\n        self.assertEqual(area(1, 1), 2)\n"
    ),
    "tests/testball.py": (
        "import unittest\n\nfrom shapes.ball import volume\n\n\nclass Ball(unittest.TestCase):\n"
        "    def test_volume(self):\n        self.assertEqual(volume(1), 4)\n"
    ),
}
RUN = ("run", "--skip", "lint,docs")


@pytest.fixture(scope="module")
def checkout(make_project: MakeProject) -> Project:
    return make_project("shapes", files=FILES)


@pytest.fixture
def shapes(checkout: Project) -> Project:
    checkout.back()
    return checkout


def counts(done: Done) -> tuple[int, int]:
    step = done.step("tests.1")["counts"]
    return step["passed"], step["failed"]


def test_a_new_failure_is_told_from_one_of_the_base(
    shapes: Project, in_container: tuple[str, ...]
) -> None:
    shapes.edit("shapes/rect.py", "a * b", "a * b + (a == 2)")
    done = shapes.presubmit(*RUN, *in_container)
    assert done.exit_code == 1, done.output
    assert counts(done) == (0, 3)
    assert "python -m unittest discover -s tests -t . (ci.yml:8)" in done.output
    rect = "tests/testrect.py::Rect::"
    assert done.failures("new") == [f"{rect}test_area", f"{rect}test_each"]
    assert done.failures("on_base") == [f"{rect}test_old"]
    assert "(n=2) 3 != 2" in done.output
    again = shapes.presubmit(*RUN[:1], "--only", "tests", *in_container, "--", f"{rect}test_area")
    assert counts(again) == (0, 1)


def test_only_what_imports_the_change_runs_and_a_document_runs_nothing(
    shapes: Project, in_container: tuple[str, ...]
) -> None:
    shapes.edit("shapes/ball.py", "4 * r", "r * 4")
    done = shapes.presubmit(*RUN, *in_container)
    assert (done.exit_code, counts(done)) == (0, (1, 0)), done.output
    shapes.back()
    shapes.edit("README.md", "Shapes", "Shape")
    done = shapes.presubmit(*RUN, *in_container)
    assert done.exit_code == 0, done.output
    assert not [s for s in done.run["steps"] if s["role"] == "tests"]


def test_a_flake_is_told_from_a_failure(shapes: Project, in_container: tuple[str, ...]) -> None:
    # The one place that outlives a box: it stands for whatever makes a test flaky.
    flaky = (
        "\n    def test_flaky(self):\n        import pathlib\n\n"
        "        mark = pathlib.Path('/out/mark')\n        known = mark.exists()\n"
        "        mark.touch()\n        self.assertTrue(known)\n"
    )
    path = shapes.path / "tests/testball.py"
    path.write_text(path.read_text() + flaky)
    done = shapes.presubmit(*RUN, *in_container)
    assert done.failures("flaky") == ["tests/testball.py::Ball::test_flaky"], done.output
    assert done.exit_code == 0


def test_a_test_file_that_cannot_be_imported_is_a_new_failure(
    shapes: Project, in_container: tuple[str, ...]
) -> None:
    shapes.edit("tests/testball.py", "from shapes.ball", "from shapes.bowl")
    done = shapes.presubmit(*RUN, *in_container)
    assert done.exit_code == 1, done.output
    assert done.failures("new") == ["tests/testball.py"]


def test_recording_says_that_it_is_for_pytest(
    shapes: Project, in_container: tuple[str, ...]
) -> None:
    done = shapes.presubmit("record", *in_container)
    assert done.exit_code == 2
    assert "the tests are run by unittest, whose runs are not recorded" in done.output


SITE = {
    ".github/workflows/django.yml": (
        "on: pull_request\njobs:\n  build:\n    runs-on: ubuntu-latest\n    steps:\n"
        "      - uses: actions/checkout@v5\n      - run: pip install -r requirements.txt\n"
        "      - run: python manage.py test --parallel 2\n"
    ),
    "requirements.txt": "django==5.2.*\n",
    "manage.py": (
        "import os\nimport sys\n\nfrom django.core.management import execute_from_command_line\n\n"
        'os.environ.setdefault("DJANGO_SETTINGS_MODULE", "site0.settings")\n'
        "execute_from_command_line(sys.argv)\n"
    ),
    "site0/__init__.py": "",
    "site0/settings.py": (
        'SECRET_KEY = "x"\nINSTALLED_APPS = ["polls"]\nROOT_URLCONF = "site0.urls"\n'
        'DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}}\n'
        'DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"\n'
    ),
    "site0/urls.py": (
        "from django.urls import path\n\nfrom polls import views\n\n"
        'urlpatterns = [path("", views.index)]\n'
    ),
    "polls/__init__.py": "",
    "polls/models.py": (
        "from django.db import models\n\n\nclass Question(models.Model):\n"
        "    votes = models.IntegerField(default=0)\n"
    ),
    "polls/views.py": (
        "from django.http import HttpResponse\n\nfrom polls.models import Question\n\n\n"
        "def index(request):\n"
        '    return HttpResponse(f"{Question.objects.count()} questions")\n'
    ),
    "polls/tests/__init__.py": "",
    "polls/tests/test_models.py": (
        "from django.test import TestCase\n\nfrom polls.models import Question\n\n\n"
        "class QuestionTests(TestCase):\n    def test_new(self):\n"
        "        self.assertEqual(Question.objects.create().votes, 0)\n\n"
        "    def test_old(self):\n        self.assertEqual(Question.objects.count(), 1)\n"
    ),
    "polls/tests/test_views.py": (
        "from django.test import TestCase\n\n\nclass IndexTests(TestCase):\n"
        "    def test_index(self):\n"
        '        self.assertContains(self.client.get("/"), "0 questions")\n'
    ),
}


def test_django_has_its_verdicts_too_though_no_test_imports_the_view(
    make_project: MakeProject, in_container: tuple[str, ...]
) -> None:
    site = make_project("site", files=SITE)
    site.edit("polls/views.py", "questions", "polls")
    done = site.presubmit(*RUN, *in_container)
    assert done.exit_code == 1, done.output
    assert done.failures("new") == ["polls/tests/test_views.py::IndexTests::test_index"]
    assert done.failures("on_base") == ["polls/tests/test_models.py::QuestionTests::test_old"]
    assert counts(done) == (1, 2)
    log = (site.path / ".presubmit/last/logs/tests.1.log").read_text()
    assert "python manage.py test --parallel 2" in log
    assert "one process, since Django can tell no failure" in log
