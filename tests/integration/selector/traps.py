"""A small project in which every test file depends on its subject in another way."""

from __future__ import annotations

FILES = {
    "README.md": "# pkg\n",
    "LICENSE": "free\n",
    "requirements.txt": "pytest\n",
    "pyproject.toml": (
        "[project]\nname = 'pkg'\nversion = '1'\n"
        "[project.scripts]\npkg-tool = 'pkg.tool:main'\n"
        "[tool.pytest.ini_options]\npythonpath = ['src', '.']\ntestpaths = ['tests']\n"
    ),
    "conftest.py": "pytest_plugins = ['support.fixtures']\n",
    "support/__init__.py": "",
    "support/fixtures.py": "import pytest\n\n@pytest.fixture\ndef clock():\n    return 12\n",
    "src/pkg/__init__.py": '"""A package."""\n',
    "src/pkg/_speed.c": "int speed(void) { return 1; }\n",
    "src/pkg/text.py": (
        'def shout(text):\n    """Make it loud."""\n    return text.upper()\n\n\n'
        "def whisper(text):\n    return text.lower()\n"
    ),
    "src/pkg/limits.py": "LIMIT = 3\n\n\ndef within(number):\n    return number < LIMIT\n",
    "src/pkg/loader.py": (
        "import json\nfrom pathlib import Path\n\nHERE = Path(__file__).parent\n\n\n"
        "def units():\n    return json.loads((HERE / 'units.json').read_text())\n"
    ),
    "src/pkg/units.json": '{"m": 1}\n',
    "src/pkg/render.py": (
        "from pathlib import Path\n\n"
        "PAGE = (Path(__file__).parent / 'templates' / 'page.html').read_text()\n"
    ),
    "src/pkg/templates/page.html": "<p>{% include 'foot.html' %}</p>\n",
    "src/pkg/templates/foot.html": "<i>end</i>\n",
    "src/pkg/registry.py": (
        "import importlib\n\n\ndef load(name):\n"
        "    return importlib.import_module(f'pkg.plugins.{name}')\n"
    ),
    "src/pkg/plugins/__init__.py": "",
    "src/pkg/plugins/alpha.py": "def go():\n    return 'alpha'\n",
    "src/pkg/dispatch.py": (
        "class Machine:\n    def run(self, word):\n        return getattr(self, 'do_' + word)()\n\n"
        "    def do_stop(self):\n        return 0\n"
    ),
    "src/pkg/cli.py": (
        "def main():\n    print('hello')\n\n\nif __name__ == '__main__':\n    main()\n"
    ),
    "src/pkg/tool.py": "def main():\n    print('tool')\n",
    "src/pkg/legacy.py": "def old():\n    return 1\n",
    "src/pkg/shapes.py": "def square():\n    return 4\n",
    "src/pkg/commands/__init__.py": "",
    "src/pkg/commands/first.py": "NAME = 'first'\n",
    "src/pkg/service.py": "def helper():\n    return 1\n\n\ndef serve():\n    return helper()\n",
    "src/pkg/base.py": (
        "class Base:\n    def run(self):\n        return self.step() + 1\n\n"
        "    def step(self):\n        return 0\n"
    ),
    "src/pkg/child.py": (
        "from pkg.base import Base\n\n\nclass Child(Base):\n    def step(self):\n        return 5\n"
    ),
    "src/pkg/hub/__init__.py": "from pkg.hub.left import left\nfrom pkg.hub.right import right\n",
    "src/pkg/hub/left.py": "def left():\n    return 'l'\n",
    "src/pkg/hub/right.py": "def right():\n    return 'r'\n",
    "src/ns/part.py": "def part():\n    return 1\n",
    "tests/cases.py": "CASES = [(1, 1), (2, 2)]\n",
    "tests/conftest.py": (
        "import pytest\n\n\n@pytest.fixture\ndef store():\n    return {'a': 1}\n\n\n"
        "@pytest.fixture\ndef shelf(store):\n    return [store]\n"
    ),
    "tests/test_text.py": "from pkg.text import shout\n\ndef test():\n    assert shout('a') == 'A'\n",
    "tests/test_limits.py": (
        "from pkg.limits import within\n\ndef test():\n    assert within(2)\n"
    ),
    "tests/test_cases.py": (
        "import pytest\nfrom tests.cases import CASES\n\n"
        "@pytest.mark.parametrize(('a', 'b'), CASES)\ndef test(a, b):\n    assert a == b\n"
    ),
    "tests/test_fixture.py": "def test(shelf):\n    assert shelf\n",
    "tests/test_plugin.py": "def test(clock):\n    assert clock == 12\n",
    "tests/test_data.py": "from pkg import loader\n\ndef test():\n    assert loader.units()\n",
    "tests/test_template.py": "from pkg.render import PAGE\n\ndef test():\n    assert PAGE\n",
    "tests/test_registry.py": (
        "from pkg.registry import load\n\ndef test():\n    assert load('alpha').go() == 'alpha'\n"
    ),
    "tests/test_dispatch.py": (
        "from pkg.dispatch import Machine\n\ndef test():\n    assert Machine().run('stop') == 0\n"
    ),
    "tests/test_cli.py": (
        "import subprocess\nimport sys\n\ndef test():\n"
        "    subprocess.run([sys.executable, '-m', 'pkg.cli'], check=True)\n"
    ),
    "tests/test_tool.py": (
        "import subprocess\n\ndef test():\n    subprocess.run(['pkg-tool'], check=True)\n"
    ),
    "tests/test_legacy.py": "def test():\n    from pkg.legacy import old\n    assert old()\n",
    "tests/test_shapes.py": "from pkg.shapes import square\n\ndef test():\n    assert square()\n",
    "tests/test_speedups.py": (
        "try:\n    from pkg._fast import f\nexcept ImportError:\n    f = int\n\n"
        "def test():\n    assert f() == 0\n"
    ),
    "tests/test_walk.py": (
        "import pkgutil\nimport pkg.commands\n\ndef test():\n"
        "    for it in pkgutil.iter_modules(pkg.commands.__path__):\n"
        "        assert it.name\n"
    ),
    "tests/test_namespace.py": "from ns.part import part\n\ndef test():\n    assert part()\n",
    "tests/test_patch.py": (
        "from pkg import service\n\ndef test(monkeypatch):\n"
        "    monkeypatch.setattr('pkg.service.helper', lambda: 2)\n"
        "    assert service.serve() == 2\n"
    ),
    "tests/test_base.py": (
        "from pkg.child import Child\n\ndef test():\n    assert Child().run() == 6\n"
    ),
    "tests/test_left.py": "from pkg.hub import left\n\ndef test():\n    assert left() == 'l'\n",
    "tests/test_right.py": "from pkg.hub import right\n\ndef test():\n    assert right() == 'r'\n",
}
TESTS = sorted(path for path in FILES if path.startswith("tests/test_"))
