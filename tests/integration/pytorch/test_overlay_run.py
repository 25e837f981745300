"""A Python-only change of a tree of PyTorch's shape, over an installed torch: found, proved, or refused with why."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.integration.run.conftest import TEST_IMAGE, in_container, make_project
from tests.pytorch_tree import FILES, build_image

if TYPE_CHECKING:
    from collections.abc import Iterator

    from presubmit.container.engine import Engine
    from tests.integration.run.conftest import MakeProject, Project

__all__ = ["in_container", "make_project"]
pytestmark = pytest.mark.network

NAME = "presubmit-test-torch"
FAULTS = {
    "nn": ("torch/nn/modules/linear.py", "_C.add(value, self.bias)", "_C.add(value, 0.0)"),
    "optim": ("torch/optim/adam.py", "value * self.rate", "value + self.rate"),
    "fx": ("torch/fx/graph.py", "self.nodes.append(node)", "pass"),
}


@pytest.fixture(scope="module")
def checkout(make_project: MakeProject) -> Project:
    return make_project("pytorch", files=FILES)


@pytest.fixture(scope="module")
def images(engine: Engine, checkout: Project) -> Iterator[dict[str, str]]:
    """Images whose torch is the base's: one says its commit, as wheels do, one does not, as Debian's."""
    del engine
    commit = checkout.git("rev-parse", "start").strip()
    names = {it: f"{NAME}:{it}-{os.getpid()}" for it in ("unknown", "told")}
    build_image(checkout.path, base=TEST_IMAGE, name=names["unknown"])
    build_image(checkout.path, base=TEST_IMAGE, name=names["told"], commit=commit)
    yield names
    subprocess.run(("docker", "rmi", "-f", *names.values()), capture_output=True, check=False)


@pytest.fixture
def project(checkout: Project) -> Project:
    checkout.back()
    return checkout


def test_faults_in_python_are_found_without_a_build(
    project: Project, images: dict[str, str]
) -> None:
    for fault in FAULTS.values():
        project.edit(*fault)
    done = project.presubmit("run", "--image", images["unknown"], "--only", "tests")
    assert done.exit_code == 1, done.output
    assert sorted(done.failures("new")) == [
        "test/test_fx.py::test_graph",
        "test/test_nn.py::TestNN::test_linear",
        "test/test_optim.py::test_adam",
    ], "and they passed on the base, over the same build"
    built = done.step("build.1")
    assert "overlay of torch, torchgen" in done.output
    assert any("does not say its commit" in note for note in built["notes"])
    assert not (project.path / "torch/version.py").exists(), "nothing is put into the checkout"
    assert not [*project.path.rglob("*.so")]


def test_unchanged_behaviour_is_green_and_each_file_had_a_process_of_its_own(
    project: Project, images: dict[str, str]
) -> None:
    project.edit("torch/optim/adam.py", "value * self.rate", "self.rate * value")
    done = project.presubmit("run", "--image", images["told"], "--only", "tests", "--tests", "all")
    assert done.exit_code == 0, done.output
    assert done.step("tests.1")["counts"]["passed"] == 6
    assert any(
        "nothing that it was compiled from differs" in note
        for note in done.step("build.1")["notes"]
    )


def test_modules_that_are_new_or_gone_are_so_over_the_build(
    project: Project, images: dict[str, str]
) -> None:
    (project.path / "torch/optim/adamw.py").write_text(
        "from torch.optim.adam import Adam as AdamW\n"
    )
    project.git("rm", "-q", "torch/fx/graph.py")
    (project.path / "torch/fx/__init__.py").write_text(
        "try:\n    import torch.fx.graph\n    gone = False\nexcept ImportError:\n    gone = True\n"
    )
    (project.path / "test/test_fx.py").write_text(
        "import torch\nfrom torch.optim.adamw import AdamW\n\n\ndef test_gone():\n    assert torch.fx.gone\n"
        "    assert AdamW().step(2.0) == 1.0\n"
    )
    done = project.presubmit(
        "run", "--image", images["unknown"], "--only", "tests", "--", "test/test_fx.py"
    )
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [("torch/csrc/Module.c", "a + b", "a - b"), ("torchgen/gen.py", "C++", "C")],
)
def test_what_is_compiled_refuses_the_overlay(
    project: Project, images: dict[str, str], name: str, old: str, new: str
) -> None:
    project.edit(name, old, new)
    for image in images.values():
        done = project.presubmit("run", "--image", image, "--only", "build")
        assert done.exit_code == 3, done.output
        assert name in done.step("build.1")["reason"]
        assert "build.command" in done.step("build.1")["reason"]


def test_another_base_is_told_from_the_builds_own(
    project: Project, images: dict[str, str]
) -> None:
    project.edit("torch/fx/graph.py", "return len(self.nodes)", "return 0 + len(self.nodes)")
    project.commit_upstream()
    project.edit(*FAULTS["optim"])
    done = project.presubmit("run", "--image", images["unknown"], "--only", "tests")
    assert done.exit_code == 3, done.output
    assert "1 file of it is not the base's: torch/fx/graph.py" in done.step("build.1")["reason"]
    done = project.presubmit("run", "--image", images["told"], "--only", "tests")
    assert done.exit_code == 1, "its commit is known, and only Python moved since"
    assert done.failures("new") == ["test/test_optim.py::test_adam"]
    project.edit("torch/csrc/Module.c", "a + b", "b + a")
    project.commit_upstream()
    project.edit("README.md", "# torch", "# Torch")
    done = project.presubmit("run", "--image", images["told"], "--only", "tests", "--tests", "all")
    assert done.exit_code == 3, done.output
    assert "torch/csrc/Module.c" in done.step("build.1")["reason"]


def test_a_package_that_cannot_be_imported_is_the_changes_own_failure(
    project: Project, images: dict[str, str]
) -> None:
    project.edit("torch/optim/adam.py", "class Adam:", "import no_such_module\n\n\nclass Adam:")
    done = project.presubmit("run", "--image", images["unknown"], "--only", "tests")
    assert done.exit_code == 1, done.output
    assert done.step("build.1")["outcome"] == "failed"
    assert "no_such_module" in done.output


def test_tests_that_load_another_torch_say_nothing(
    project: Project, images: dict[str, str]
) -> None:
    (project.path / "test/test_fx.py").write_text(
        "import sys\nsys.path.insert(0, '/usr/lib/python3/dist-packages')\nimport torch\n\n\ndef test_it():\n    pass\n"
    )
    project.edit("torch/optim/adam.py", "value * self.rate", "self.rate * value")
    done = project.presubmit(
        "run", "--image", images["unknown"], "--only", "tests", "--tests", "all"
    )
    assert done.exit_code == 3, done.output
    assert "not from the overlay" in done.step("tests.1")["reason"]


def test_a_file_of_which_no_test_can_run_here_is_no_pass(
    project: Project, images: dict[str, str]
) -> None:
    (project.path / "test/test_gpu.py").write_text("import torch\n\nHAS_GPU = False\n")
    project.edit("torch/optim/adam.py", "value * self.rate", "self.rate * value")
    done = project.presubmit(
        "run", "--image", images["unknown"], "--only", "tests", "--tests", "all"
    )
    assert done.exit_code == 4, done.output
    assert "no test can run here of test/test_gpu.py" in done.output
    assert done.step("tests.1")["counts"]["passed"] == 6


def test_an_image_without_the_build_says_what_to_do(project: Project, engine: Engine) -> None:
    del engine
    project.edit(*FAULTS["nn"])
    done = project.presubmit("run", "--image", TEST_IMAGE, "--only", "tests")
    assert done.exit_code == 3, done.output
    assert "torch, torchgen is not installed in the image" in done.step("build.1")["reason"]
    assert "build.installed" in done.step("build.1")["reason"]
