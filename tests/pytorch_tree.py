"""A small tree of PyTorch's shape: C++ that only a build compiles, Python over it, a test file for each part.

Nothing of it is PyTorch's own text.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

BINDING: Final = """\
#include <Python.h>

static PyObject *add(PyObject *self, PyObject *args) {
    double a, b;
    if (!PyArg_ParseTuple(args, "dd", &a, &b)) return NULL;
    return PyFloat_FromDouble(a + b);
}
static PyMethodDef methods[] = {{"add", add, METH_VARARGS, NULL}, {NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_C", NULL, -1, methods};
PyMODINIT_FUNC PyInit__C(void) { return PyModule_Create(&module); }
"""
TEST: Final = '# Owner(s): ["module: {owner}"]\n'
FILES: Final = {
    "aten/src/ATen/native/native_functions.yaml": "- func: add(float a, float b) -> float\n",
    "torch/csrc/Module.c": BINDING,
    "torch/__init__.py": "from torch import nn, optim, fx\nfrom torch._C import add\nfrom torch.version import __version__\n",
    "torch/nn/__init__.py": "from torch.nn.modules.linear import Linear\n",
    "torch/nn/modules/__init__.py": "",
    "torch/nn/modules/linear.py": (
        "from torch import _C\n\n\nclass Linear:\n"
        "    def __init__(self, bias):\n        self.bias = bias\n\n"
        "    def forward(self, value):\n        return _C.add(value, self.bias)\n"
    ),
    "torch/optim/__init__.py": "from torch.optim.adam import Adam\n",
    "torch/optim/adam.py": (
        "class Adam:\n    def __init__(self, rate=0.5):\n        self.rate = rate\n\n"
        "    def step(self, value):\n        return value * self.rate\n"
    ),
    "torch/fx/__init__.py": "from torch.fx.graph import Graph\n",
    "torch/fx/graph.py": (
        "class Graph:\n    def __init__(self):\n        self.nodes = []\n\n"
        "    def append(self, node):\n        self.nodes.append(node)\n        return len(self.nodes)\n"
    ),
    "torchgen/__init__.py": "",
    "torchgen/gen.py": "def main():\n    return 'C++'\n",
    "setup.py": "from setuptools import setup\nsetup(name='torch', version='2.6.0')\n",
    "pytest.ini": "[pytest]\naddopts = --assert=plain\ntestpaths = test\npython_files = test_*.py\n",
    # As PyTorch's: an option that only the conftest beside the files has.
    "test/conftest.py": "def pytest_addoption(parser):\n    parser.addoption('--scs')\n",
    "test/run_test.py": "import pkg_resources\n",
    "test/common.py": "def close(a, b):\n    assert abs(a - b) < 1e-9, 'Tensor-likes are not close!'\n",
    "test/test_nn.py": TEST.format(owner="nn")
    + "import os\n\nimport torch\nfrom common import close\n\n\nclass TestNN:\n"
    "    def test_linear(self):\n        close(torch.nn.Linear(1.0).forward(2.0), 3.0)\n\n"
    "    def test_there_is_no_ci(self):\n        assert not os.environ.get('CI')\n",
    "test/test_optim.py": TEST.format(owner="optimizer")
    + "import sys\n\nimport torch\nfrom common import close\n\n\ndef test_adam():\n"
    "    close(torch.optim.Adam().step(4.0), 2.0)\n\n\n"
    "def test_no_other_file_was_loaded():\n    assert 'test_nn' not in sys.modules\n",
    "test/test_fx.py": TEST.format(owner="fx")
    + "import torch\n\n\ndef test_graph():\n    assert torch.fx.Graph().append('x') == 1\n",
    "test/test_torch.py": TEST.format(owner="tests")
    + "import torch\n\n\ndef test_version():\n    assert torch.__version__ == '2.6.0'\n",
    "README.md": "# torch\n",
}
DOCKERFILE: Final = """\
FROM {base}
COPY torch /build/torch
COPY torchgen /build/torchgen
RUN there=/usr/lib/python3/dist-packages && mkdir -p $there && cp -r /build/torch /build/torchgen $there/ \\
 && gcc -shared -fPIC $(python3-config --includes) $there/torch/csrc/Module.c -o $there/torch/_C$(python3-config --extension-suffix) \\
 && rm -rf $there/torch/csrc /build \\
 && printf '__version__ = "2.6.0"\\ngit_version = "%s"\\n' "{commit}" > $there/torch/version.py
"""


def build_image(tree: Path, *, base: str, name: str, commit: str = "Unknown") -> None:
    """Make an image in which the tree's torch is built and installed, as a distribution or a nightly would have it."""
    written = DOCKERFILE.format(base=base, commit=commit)
    subprocess.run(
        ("docker", "build", "-q", "-t", name, "-f", "-", str(tree)),
        input=written.encode(),
        check=True,
        capture_output=True,
        env={**os.environ, "DOCKER_BUILDKIT": "0"},
    )
