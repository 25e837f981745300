"""Substitutes in a real container: another user than root, Debian's own Python, and the package index."""

from __future__ import annotations

import os
import textwrap
from typing import TYPE_CHECKING

import pytest

from presubmit.container.model import BoxMount, BoxSpec
from presubmit.container.network import read_network_settings
from presubmit.replay.actions import (
    build_and_inspect,
    cache,
    download_artifact,
    pre_commit,
    python_linters,
    setup_python,
    setup_uv,
    upload_artifact,
)
from presubmit.replay.job import probe
from presubmit.replay.job.action import ActionFailedError, LackingError, Said
from tests.unit.replay.actions.fake import FakeStep, tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from presubmit.container.box import DockerBox
    from presubmit.container.engine import Engine
    from presubmit.container.model import ImageRef
    from presubmit.upstream.here import Here

pytestmark = pytest.mark.engine

USER = (1234, 1235) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
INSIDE = "/cell"
LIBRARY = """\
#include <Python.h>
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "ext", NULL, -1, NULL};
PyMODINIT_FUNC PyInit_ext(void) { return PyModule_Create(&def); }
"""


class BoxStep(FakeStep):
    """The fake's commands, run in a container that sees the fake's folder under another path."""

    def __init__(
        self, box: DockerBox, folder: Path, uses: str, inputs: Mapping[str, str], here: Here
    ) -> None:
        super().__init__(folder, uses, inputs, here=here)
        self.box = box
        inside = {
            name: f"{INSIDE}/{name}"
            for name in ("workspace", "temp", "tools", "artifacts", "caches")
        }
        shared = {
            "PRESUBMIT_ARTIFACTS": inside["artifacts"],
            "PRESUBMIT_CACHES": inside["caches"],
        }
        held = {name: inside[name] for name in ("workspace", "temp", "tools")}
        fields = {name: getattr(self.cell, name) for name in self.cell.__struct_fields__}
        self.cell = type(self.cell)(**{**fields, **held, "env": shared})
        network = read_network_settings(os.environ)
        self.env = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": "/tmp/home",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            **network.env_bare,
        }

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    def ask(
        self,
        script: str,
        *arguments: str,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Said:
        said: list[str] = []
        result = self.box.exec(
            ("sh", "-e", "-c", script, "sh", *arguments),
            log=self.folder / "out/log",
            timeout=300,
            cwd=cwd or self.cell.workspace,
            env={**self.env, **(env or {})},
            on_output=said.append,
        )
        assert result.exit_code is not None, result.reason
        return Said(exit_code=result.exit_code, text="".join(said))

    def later(self, script: str, *arguments: str) -> str:
        """Run what a later step of the job would; it must end well."""
        said = self.ask(script, *arguments, env=self.after())
        assert said.exit_code == 0, said.text
        return said.text.strip()

    def write(self, files: Mapping[str, str | bytes]) -> None:
        super().write(files)
        own(self.folder)


def own(folder: Path) -> None:
    """Give everything to the box's user."""
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, *USER, follow_symlinks=False)


class Cells:
    """Makes steps that share a container and its folders."""

    def __init__(self, box: DockerBox, folder: Path, here: Here) -> None:
        self.box, self.folder, self.here = box, folder, here

    def __call__(
        self, uses: str, files: Mapping[str, str] | None = None, **inputs: str
    ) -> BoxStep:
        named = {name.replace("_", "-"): value for name, value in inputs.items()}
        step = BoxStep(self.box, self.folder, uses, named, self.here)
        step.write(files or {})
        return step


@pytest.fixture
def cells(engine: Engine, image: ImageRef, tmp_path: Path) -> Iterator[Cells]:
    for name in ("workspace", "temp", "tools", "artifacts", "caches", "home", "out"):
        (tmp_path / name).mkdir()
    own(tmp_path)
    network = read_network_settings(os.environ)
    mounts = tuple(
        BoxMount(source=str(tmp_path / name), target=f"{INSIDE}/{name}")
        for name in ("workspace", "temp", "tools", "artifacts", "caches")
    )
    spec = BoxSpec(
        image=image,
        lane="head",
        run=f"test-{os.getpid()}",
        repo="repo",
        workdir="/tmp",
        user=":".join(str(number) for number in USER),
        mounts=(*mounts, *network.mounts),
    )
    box = engine.start(spec)
    try:
        yield Cells(box, tmp_path, probe.probe(box, log=tmp_path / "out/probe"))
    finally:
        box.close()


@pytest.fixture
def networked(cells: Cells) -> Cells:
    """The same, where the package index can be reached."""
    said = cells("x/y@v1").ask("getent hosts pypi.org || true")
    if not said.text.strip() and os.environ.get("PRESUBMIT_REQUIRE_NETWORK") != "1":
        pytest.skip("no package index")
    return cells


def test_a_box_is_looked_at(cells: Cells) -> None:
    here = cells.here
    assert (here.on_host, here.root, here.system) == (False, False, "Linux")
    assert here.tools["gcc"].endswith("/gcc")
    assert [(one.version, one.kind, one.pip) for one in here.interpreters] == [
        (here.interpreters[0].version, "cpython", True)
    ]


def test_an_image_without_python_and_bash_can_be_looked_at(
    engine: Engine, cells: Cells, tmp_path: Path
) -> None:
    """One with a shell and nothing else, made of the test image's own."""
    done = cells("x/y@v1").ask(
        "cd / && tar -chf /cell/workspace/image.tar bin/sh bin/cat bin/grep usr/bin/tr $(ldd /bin/sh /bin/grep "
        "| grep -o '/lib[^ ]*' | sort -u | sed 's,^/,,')"
    )
    assert done.exit_code == 0, done.text
    data = (tmp_path / "workspace/image.tar").read_bytes()
    name = f"presubmit-test:bare-{os.getpid()}"
    repository, _, tag = name.partition(":")
    engine._api.import_image_from_data(data, repository=repository, tag=tag)
    try:
        spec = BoxSpec(
            image=engine.image(name, origin="test"),
            lane="head",
            run=f"test-{os.getpid()}",
            repo="repo",
            workdir="/tmp",
        )
        box = engine.start(spec)
        try:
            here = probe.probe(box, log=tmp_path / "out/bare")
        finally:
            box.close()
    finally:
        engine._api.remove_image(name, force=True)
    assert (here.interpreters, here.versions, "git" in here.tools) == ((), {}, False)


def setup(cells: Cells, files: Mapping[str, str] | None = None, **inputs: str) -> BoxStep:
    step = cells("actions/setup-python@v6", files, **inputs)
    setup_python.run(step)
    return step


def test_debians_python_becomes_one_that_can_be_installed_into(cells: Cells) -> None:
    step = setup(cells, python_version="3.x")
    version = cells.here.interpreters[0].version
    assert step.notes == [f"3.x is {version} here"]
    assert step.later("command -v python; command -v pip").splitlines() == [
        f"{step.exported['pythonLocation']}/bin/python",
        f"{step.exported['pythonLocation']}/bin/pip",
    ]
    said = step.later("python -c 'import sys; print(sys.prefix == sys.base_prefix, sys.prefix)'")
    assert said == f"True {step.exported['pythonLocation']}"


@pytest.mark.network
def test_a_project_is_built_and_installed_into_it(networked: Cells) -> None:
    files = {
        "setup.py": "from setuptools import Extension, setup\n"
        "setup(name='demo', version='1', py_modules=['demo'], ext_modules=[Extension('ext', ['ext.c'])],\n"
        "      entry_points={'console_scripts': ['demo = demo:main']})\n",
        "demo.py": "def main():\n    import ext\n    print(ext.__name__)\n",
        "ext.c": LIBRARY,
    }
    step = setup(networked, files, python_version="3")
    step.later("pip install .")
    assert step.later("cd / && demo") == "ext"
    step.later("pip install --user --no-deps iniconfig && python -c 'import iniconfig'")
    step.later("pip uninstall -y demo && ! command -v demo")


@pytest.mark.network
def test_virtual_environments_of_it_work(networked: Cells) -> None:
    step = setup(networked, python_version="3")
    step.later(
        "python -m venv v && v/bin/pip install iniconfig && v/bin/python -c 'import iniconfig'"
    )
    step.later("pip install virtualenv && virtualenv -q w && w/bin/python -c 'import ssl, zlib'")


@pytest.mark.network
def test_uv_installs_into_it_as_into_a_system(networked: Cells) -> None:
    python = setup(networked, python_version="3")
    step = networked("astral-sh/setup-uv@v6")
    step.env = python.after()
    setup_uv.run(step)
    step.later("uv pip install --system iniconfig && python -c 'import iniconfig'")
    assert step.outputs["uv-version"] == step.later("uv --version").split()[1]
    assert step.later("uvx --version").startswith("uv")
    assert step.exported["UV_CACHE_DIR"] == f"{INSIDE}/caches/uv"


@pytest.mark.network
def test_uv_activates_an_environment(networked: Cells) -> None:
    version = networked.here.interpreters[0].version
    minor = ".".join(version.split(".")[:2])
    step = networked("astral-sh/setup-uv@v6", python_version=minor, activate_environment="true")
    setup_uv.run(step)
    assert step.outputs["venv"] == f"{INSIDE}/workspace/.venv"
    assert step.later("command -v python") == f"{INSIDE}/workspace/.venv/bin/python"
    assert (step.exported["UV_PYTHON"], step.outputs["python-version"]) == (minor, minor)


@pytest.mark.network
def test_uv_is_given_the_python_that_it_would_have_downloaded(networked: Cells) -> None:
    """A PATH without any Python, as where the one that is asked for lies elsewhere."""
    version = networked.here.interpreters[0].version
    minor = ".".join(version.split(".")[:2])
    step = networked("astral-sh/setup-uv@v6", python_version=minor)
    step.later(
        "mkdir /cell/temp/bin; for file in /usr/bin/*; do case $file in */py*) ;; "
        "*) ln -s $file /cell/temp/bin/ ;; esac; done"
    )
    step.env["PATH"] = f"{INSIDE}/temp/bin"
    setup_uv.run(step)
    managed = f"{INSIDE}/temp/uv-python-dir/cpython-{version}-linux-x86_64-gnu"
    assert step.later("uv python find") == f"{managed}/bin/python{minor}"
    step.later("uv venv -q v && v/bin/python -c 'import ssl'")


@pytest.mark.network
def test_uv_lacks_the_python_that_a_project_pins(networked: Cells) -> None:
    step = networked("astral-sh/setup-uv@v6", {".python-version": "3.5\n"})
    with pytest.raises(LackingError, match=r"Python 3\.5 \(the image has"):
        setup_uv.run(step)


@pytest.mark.network
def test_pre_commit_runs_local_hooks(networked: Cells) -> None:
    config = """
        repos:
          - repo: local
            hooks:
              - {id: ok, name: ok, entry: grep -q x, language: system, files: a.txt}
    """
    step = setup(networked, {"a.txt": "x\n", ".pre-commit-config.yaml": textwrap.dedent(config)})
    step.later("git init -q && git add -A")
    step = with_env(networked("pre-commit/action@v3.0.1"), step.after())
    pre_commit.run(step)
    pre_commit.post(step)
    assert "ok" in "".join(step.log)
    step.write({"a.txt": "y\n"})
    step.later("git add -A")
    with pytest.raises(ActionFailedError, match="exit code 1"):
        pre_commit.run(step)


@pytest.mark.network
def test_a_hook_repository_out_of_reach_is_lacking_and_no_failure(networked: Cells) -> None:
    config = """
        repos:
          - repo: https://nowhere.invalid/hooks
            rev: v1
            hooks: [{id: x}]
    """
    step = setup(networked, {"a.txt": "x\n", ".pre-commit-config.yaml": textwrap.dedent(config)})
    step.later("git init -q && git add -A")
    step = with_env(networked("pre-commit/action@v3.0.1"), step.after())
    with pytest.raises(LackingError, match=r"the hook repository https://nowhere\.invalid/hooks"):
        pre_commit.run(step)


@pytest.mark.network
def test_ruff_runs_in_the_version_that_the_project_pins(networked: Cells) -> None:
    files = {
        "pyproject.toml": '[dependency-groups]\nlint = ["ruff==0.9.1"]\n',
        "ok.py": "x = 1\n",
    }
    step = networked("astral-sh/ruff-action@v3", files)
    python_linters.run(step)
    assert step.outputs["ruff-version"] == "0.9.1"
    step = networked("astral-sh/ruff-action@v3", {"bad.py": "import os\n"})
    with pytest.raises(ActionFailedError, match="ruff"):
        python_linters.run(step)


@pytest.mark.network
def test_a_tool_that_the_index_does_not_have_is_lacking(networked: Cells) -> None:
    step = networked("astral-sh/ruff-action@v3", version="0.0.999999")
    with pytest.raises(LackingError, match=r"ruff==0\.0\.999999 from the package index"):
        python_linters.run(step)


@pytest.mark.network
def test_zizmors_findings_fail_the_job_only_without_advanced_security(networked: Cells) -> None:
    workflow = """\
    on: pull_request_target
    jobs:
      a:
        runs-on: ubuntu-latest
        steps:
          - run: echo ${{ github.event.pull_request.title }}
    """
    files = {".github/workflows/a.yml": textwrap.dedent(workflow)}
    step = networked("zizmorcore/zizmor-action@v0.2.0", files)
    python_linters.run(step)
    assert "findings go to GitHub's code scanning, they do not fail the job" in step.notes
    step = networked("zizmorcore/zizmor-action@v0.2.0", files, advanced_security="false")
    with pytest.raises(ActionFailedError, match="zizmor"):
        python_linters.run(step)


@pytest.mark.network
def test_a_package_is_built_inspected_and_kept(networked: Cells) -> None:
    files = {
        "pyproject.toml": textwrap.dedent(
            """\
            [build-system]
            requires = ["hatchling"]
            build-backend = "hatchling.build"
            [project]
            name = "demo"
            version = "1.2"
            readme = "README.md"
            requires-python = ">=3.9"
            classifiers = ["Programming Language :: Python :: 3.11"]
            """
        ),
        "README.md": "# Demo\n",
        "demo/__init__.py": "",
    }
    step = networked("hynek/build-and-inspect-python-package@v2", files)
    step.later("git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm x")
    build_and_inspect.run(step)
    assert step.outputs["supported_python_classifiers_json_array"] == '["3.11"]'
    assert (step.outputs["package_name"], step.outputs["package_version"]) == ("demo", "1.2")
    names = {path.name for path in (step.folder / "artifacts/Packages").iterdir()}
    assert names == {"demo-1.2.tar.gz", "demo-1.2-py3-none-any.whl"}
    assert step.later('ls "$1"', step.outputs["dist"]).split()[:2] == sorted(names)


def test_artifacts_and_caches_go_by_the_mounted_folders(cells: Cells) -> None:
    step = cells("actions/upload-artifact@v4", {"dist/a": "A", "built/x": "1"}, path="dist")
    upload_artifact.run(step)
    save = cells("actions/cache/save@v4", path="built", key="k")
    cache.run(save)
    save.later("rm -rf dist built")
    load = cells("actions/download-artifact@v5", path="got")
    download_artifact.run(load)
    restore = cells("actions/cache/restore@v4", path="built", key="k")
    cache.run(restore)
    assert tree(restore.workspace) == {"got/a": "A", "built/x": "1"}
    assert restore.outputs["cache-hit"] == "true"


def with_env(step: BoxStep, env: dict[str, str]) -> BoxStep:
    step.env = env
    return step
