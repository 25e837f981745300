"""Looks at what a devel image holds, and says what it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from presubmit.errors import ImageError
from presubmit.values import Value

if TYPE_CHECKING:
    from pathlib import Path

    from presubmit.container.model import Box

# One exec for everything: each look prints `name=value`, or nothing.
_SCRIPT: Final = r"""
say() { [ -n "$2" ] && printf 'fact %s=%s\n' "$1" "$2"; }
has() { command -v "$1" 2>/dev/null; }
first() { "$@" 2>/dev/null | head -n 1; }
define() { sed -n "s/^ *# *define *$2 *\([0-9][0-9]*\).*/\1/p" "$1" 2>/dev/null | head -n 1; }
python=$(has python3) && {
  say python "$(python3 -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null)"
  python3 -c 'import venv, ensurepip' 2>/dev/null && say venv yes
  python3 -c 'import os, sys, sysconfig; sys.exit(not os.path.isfile(os.path.join(sysconfig.get_paths()["include"], "Python.h")))' 2>/dev/null && say headers yes
  say torch "$(python3 -c 'from importlib.metadata import version; print(version("torch"))' 2>/dev/null)"
}
say cc "$(has cc || has gcc || has clang)"
say cxx "$(has c++ || has g++ || has clang++)"
say git "$(first git --version)"
say ccache "$(first ccache --version)"
say cmake "$(first cmake --version)"
say ninja "$(has ninja)"
say make "$(has make)"
for nvcc in "$(has nvcc)" /usr/local/cuda/bin/nvcc; do
  [ -x "$nvcc" ] && { say nvcc "$nvcc"; say cuda "$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')"; break; }
done
say cuda "$CUDA_VERSION"
for folder in /usr/include /usr/include/x86_64-linux-gnu /usr/include/aarch64-linux-gnu /usr/local/cuda/include; do
  [ -f $folder/cudnn_version.h ] && say cudnn "$(define $folder/cudnn_version.h CUDNN_MAJOR).$(define $folder/cudnn_version.h CUDNN_MINOR)"
  [ -f $folder/nccl.h ] && say nccl "$(define $folder/nccl.h NCCL_MAJOR).$(define $folder/nccl.h NCCL_MINOR)"
done
echo fact end=yes
"""


class ImageFacts(Value, frozen=True):
    """What a look into a box found; empty where there is none of it."""

    python: str = ""
    venv: bool = False
    headers: bool = False
    """Python.h, for extension modules."""
    cc: str = ""
    cxx: str = ""
    nvcc: str = ""
    git: str = ""
    ccache: str = ""
    cmake: str = ""
    ninja: str = ""
    make: str = ""
    cuda: str = ""
    cudnn: str = ""
    nccl: str = ""
    torch: str = ""

    @property
    def missing(self) -> tuple[str, ...]:
        """What a devel image has and this one lacks, each with what it is for."""
        wanted = {
            "python3": bool(self.python),
            "the venv module (python3-venv)": self.venv,
            "Python's headers (python3-dev)": self.headers,
            "a C compiler": bool(self.cc),
            "a C++ compiler": bool(self.cxx),
            "git": bool(self.git),
            "nvcc (this is a CUDA runtime image)": bool(self.nvcc) or not self.cuda,
        }
        return tuple(name for name, there in wanted.items() if not there)

    @property
    def usable(self) -> bool:
        """Whether Python steps can run at all."""
        return bool(self.python) and self.venv

    @property
    def is_devel(self) -> bool:
        """Whether native code can be built in it (else it is a runtime image)."""
        return not self.missing


def check_image(box: Box, *, log: Path, timeout: float = 60.0) -> ImageFacts:
    """Look into a box that runs from the image; ImageError if even that is not possible."""
    result = box.exec(("sh", "-c", _SCRIPT), log=log, timeout=timeout)
    facts = parse_facts(result.tail)
    if facts is None:
        why = result.reason or result.tail.strip() or f"exit code {result.exit_code}"
        raise ImageError(
            f"the image cannot be looked at: {why}",
            hint="Take a devel image: `presubmit image build`.",
        )
    return facts


def parse_facts(text: str) -> ImageFacts | None:
    """Read what the script printed; None where it did not reach its end."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        name, _, value = rest.partition("=")
        if kind == "fact":
            found.setdefault(name, value.strip())
    if found.pop("end", "") != "yes":
        return None
    flags = {name: found.pop(name, "") == "yes" for name in ("venv", "headers")}
    known = {name: value for name, value in found.items() if name in ImageFacts.__struct_fields__}
    return ImageFacts(**known, venv=flags["venv"], headers=flags["headers"])
