"""Dockerfiles and requirement files, base against head, with the codes that the change must give: no more, no fewer."""

from __future__ import annotations

import pytest

from tests.unit.review.trees import codes, review_of

CU121 = "https://download.pytorch.org/whl/cu121"
CU118 = "https://download.pytorch.org/whl/cu118"
INDEX = "https://index.example.org/simple"

CLEAN = f"""\
FROM nvidia/cuda:12.1.1-cudnn8-devel-ubuntu22.04
RUN apt-get update && apt-get install -y --no-install-recommends git \\
    && rm -rf /var/lib/apt/lists/*
COPY requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt
RUN pip install --no-cache-dir torch==2.5.1+cu121 torchvision==0.20.1+cu121 --index-url {CU121}
COPY . /src
USER dev
EXPOSE 8080
"""
PINNED = "numpy==2.1.0\npandas==2.2.3\nscipy==1.14.1\n"
README = "# Image\n\n    docker run -p 8080:8080 image\n"


def docker(*, base: str = CLEAN, head: str, **more: str) -> tuple[dict[str, str], dict[str, str]]:
    return {"Dockerfile": base, **more}, {"Dockerfile": head, **more}


def edited(*pairs: tuple[str, str], **more: str) -> tuple[dict[str, str], dict[str, str]]:
    head = CLEAN
    for old, new in pairs:
        assert old in head
        head = head.replace(old, new)
    return docker(head=head, **more)


def requirements(base: str, head: str) -> tuple[dict[str, str], dict[str, str]]:
    return {"requirements.txt": base}, {"requirements.txt": head}


def after(line: str) -> tuple[dict[str, str], dict[str, str]]:
    """Add an instruction before the last USER."""
    return edited(("USER dev", f"{line}\nUSER dev"))


TABLE: dict[str, tuple[tuple[dict[str, str], dict[str, str]], list[str]]] = {
    # --- clean ---
    "a pinned release is raised": (requirements(PINNED, PINNED.replace("2.1.0", "2.1.1")), []),
    "a pinned requirement is added": (requirements(PINNED, PINNED + "click==8.1.7\n"), []),
    "a floating file stays floating": (
        requirements("numpy\npandas\n", "numpy\npandas\nscipy\n"),
        [],
    ),
    "a requirement is removed": (requirements(PINNED, "numpy==2.1.0\n"), []),
    "a comment is added": (requirements(PINNED, f"# numbers\n{PINNED}"), []),
    "a package is added to apt": (edited((" git ", " git cmake ")), []),
    "torch and its companion are raised together": (
        edited(("torch==2.5.1", "torch==2.4.1"), ("torchvision==0.20.1", "torchvision==0.19.1")),
        [],
    ),
    "cuda, wheels and index are raised together": (
        edited(("cuda:12.1.1", "cuda:11.8.0"), ("cu121", "cu118")),
        [],
    ),
    "a new clean Dockerfile": (({}, {"docker/Dockerfile": CLEAN}), []),
    "the port changes and the README follows": (
        (
            {"Dockerfile": CLEAN, "README.md": README},
            {
                "Dockerfile": CLEAN.replace("8080", "9090"),
                "README.md": README.replace("8080", "9090"),
            },
        ),
        [],
    ),
    "a cache mount instead of no cache": (
        edited(
            (
                "RUN pip install --no-cache-dir -r",
                "RUN --mount=type=cache,target=/var/cache/pip pip install -r",
            )
        ),
        [],
    ),
    "jupyter with its own token": (after('CMD ["jupyter", "lab", "--ip=0.0.0.0"]'), []),
    "a heredoc that cleans up": (
        after(
            "RUN <<EOF\napt-get update\napt-get install -y vim\nrm -rf /var/lib/apt/lists/*\nEOF"
        ),
        [],
    ),
    "what was wrong before is not said again": (
        docker(
            base="FROM python\nRUN pip install numpy\n",
            head="FROM python\nRUN pip install numpy\nENV A=1\n",
        ),
        [],
    ),
    "a secret's file name is no secret": (after("ENV API_TOKEN_FILE=/run/secrets/token"), []),
    "a quoted lower bound": (after("RUN pip install --no-cache-dir 'numpy>=1.26'"), []),
    "a stage that another is made from": (
        edited(
            (
                "FROM nvidia/cuda:12.1.1-cudnn8-devel-ubuntu22.04",
                "FROM nvidia/cuda:12.1.1-cudnn8-devel-ubuntu22.04 AS build\nFROM build",
            )
        ),
        [],
    ),
    "another test requirement in pyproject style": (
        requirements("pytest>=8\n", "pytest>=8\npytest-xdist>=3\n"),
        [],
    ),
    # --- pins ---
    "a pin is lost": (
        requirements(PINNED, PINNED.replace("numpy==2.1.0", "numpy")),
        ["pins.lost-pin"],
    ),
    "a pin becomes a bound": (
        requirements(PINNED, PINNED.replace("numpy==", "numpy>=")),
        ["pins.lost-pin"],
    ),
    "a floating one among pinned ones": (
        requirements(PINNED, PINNED + "click\n"),
        ["pins.floating"],
    ),
    "a local version is lost": (
        requirements("torch==2.5.1+cu121\n", "torch==2.5.1\n"),
        ["pins.lost-local"],
    ),
    "an index is lost": (
        requirements(f"--index-url {CU121}\ntorch==2.5.1\n", "torch==2.5.1\n"),
        ["pins.index-lost"],
    ),
    "an index becomes the CPU's": (
        requirements(
            f"--index-url {CU121}\ntorch==2.5.1\n",
            "--index-url https://download.pytorch.org/whl/cpu\ntorch==2.5.1\n",
        ),
        ["pins.index-cpu"],
    ),
    "pins are replaced by a simple index": (
        edited(
            (
                f"torch==2.5.1+cu121 torchvision==0.20.1+cu121 --index-url {CU121}",
                f"torch torchvision --index-url {INDEX}",
            )
        ),
        [
            "pins.index-changed",
            "pins.lost-local",
            "pins.lost-local",
            "pins.lost-pin",
            "pins.lost-pin",
        ],
    ),
    "an index of somebody else": (
        requirements(
            f"--index-url {INDEX}\nnumpy==2.1.0\n",
            "--index-url https://mirror.example.org/simple\nnumpy==2.1.0\n",
        ),
        ["pins.index-changed"],
    ),
    "a second index": (
        requirements(PINNED, f"--extra-index-url https://wheels.example.org/simple\n{PINNED}"),
        ["pins.extra-index"],
    ),
    "a password in an index": (
        requirements(
            PINNED, f"--index-url https://me:hunter2@wheels.example.org/simple\n{PINNED}"
        ),
        ["pins.index-credentials"],
    ),
    "torch 2.7.0 with torchvision 0.18.0": (
        requirements("torch==2.7.0\ntorchvision==0.22.0\n", "torch==2.7.0\ntorchvision==0.18.0\n"),
        ["pins.torch-pair"],
    ),
    "torch is raised without torchaudio": (
        requirements("torch==2.6.0\ntorchaudio==2.6.0\n", "torch==2.7.0\ntorchaudio==2.6.0\n"),
        ["pins.torch-pair"],
    ),
    "companions of two CUDA releases": (
        requirements(
            "torch==2.5.1+cu121\ntorchvision==0.20.1+cu121\n",
            "torch==2.5.1+cu118\ntorchvision==0.20.1+cu121\n",
        ),
        ["pins.torch-local"],
    ),
    "cu118 wheels on a 12.1 image": (
        edited(("cu121", "cu118")),
        ["pins.cuda-base", "pins.cuda-base"],
    ),
    "another minor release of CUDA": (
        edited(("cuda:12.1.1", "cuda:12.4.1")),
        ["pins.cuda-base", "pins.cuda-base"],
    ),
    "a CUDA release that torch has no wheels for": (
        requirements("torch==2.5.1+cu121\n", "torch==2.7.0+cu121\n"),
        ["pins.no-wheel"],
    ),
    "an index made from a variable": (
        edited((CU121, "https://download.pytorch.org/whl/cu${CUDA_SHORT}")),
        ["pins.index-changed", "pins.index-derived"],
    ),
    "torch is installed again from the default index": (
        after("RUN pip install --no-cache-dir torch==2.5.1"),
        ["pins.lost-local", "pins.reinstalled"],
    ),
    "a CUDA major release needs another driver": (
        docker(
            base="FROM nvidia/cuda:11.8.0-devel-ubuntu22.04\n",
            head="FROM nvidia/cuda:12.1.1-devel-ubuntu22.04\n",
        ),
        ["pins.driver"],
    ),
    "a lock file is left behind": (
        (
            {"requirements.in": "numpy>=2\n", "requirements.txt": "numpy==2.1.0\n"},
            {"requirements.in": "numpy>=2.2\n", "requirements.txt": "numpy==2.1.0\n"},
        ),
        ["pins.stale-lock"],
    ),
    # --- Dockerfile ---
    "the base image loses its tag": (
        docker(base="FROM debian:12\nUSER dev\n", head="FROM debian\nUSER dev\n"),
        ["dockerfile.untagged"],
    ),
    "the base image becomes latest": (
        docker(base="FROM debian:12\nUSER dev\n", head="FROM debian:latest\nUSER dev\n"),
        ["dockerfile.untagged"],
    ),
    "the base image loses its digest": (
        docker(
            base=f"FROM debian:12@sha256:{'0' * 64}\nUSER dev\n", head="FROM debian:12\nUSER dev\n"
        ),
        ["dockerfile.lost-digest"],
    ),
    "apt leaves its lists": (
        edited((" \\\n    && rm -rf /var/lib/apt/lists/*", "")),
        ["dockerfile.apt-lists"],
    ),
    "apt lists are removed a layer later": (
        edited((" \\\n    && rm -rf", "\nRUN rm -rf")),
        ["dockerfile.apt-lists"],
    ),
    "apt-get update in a RUN of its own": (after("RUN apt-get update"), ["dockerfile.apt-update"]),
    "two apt layers": (
        edited(
            (
                "COPY requirements.txt",
                "RUN apt-get install -y vim && rm -rf /var/lib/apt/lists/*\nCOPY requirements.txt",
            )
        ),
        ["dockerfile.merge-layers"],
    ),
    "pip keeps its cache": (edited((" --no-cache-dir -r", " -r")), ["dockerfile.pip-cache"]),
    "an unquoted bound is a redirection": (
        after("RUN pip install --no-cache-dir numpy>=1.26"),
        ["dockerfile.redirect"],
    ),
    "dependencies after the whole tree": (
        edited(("COPY requirements.txt .", "COPY . .")),
        ["dockerfile.cache-order"],
    ),
    "the user is lost": (edited(("USER dev\n", "")), ["dockerfile.lost-user"]),
    "root is the last user": (
        edited(("USER dev\n", "USER dev\nUSER root\n")),
        ["dockerfile.lost-user", "dockerfile.root"],
    ),
    "a password in ENV": (after("ENV DB_PASSWORD=hunter2"), ["dockerfile.secret"]),
    "a token as build argument": (after("ARG GITHUB_TOKEN"), ["dockerfile.secret"]),
    "a token in a command": (
        after(f"RUN git config --global url.x.insteadOf ghp_{'a' * 36}"),
        ["dockerfile.secret"],
    ),
    "an .env file is copied": (after("COPY .env /app/.env"), ["dockerfile.secret"]),
    "curl into a shell": (
        after("RUN curl -sSL https://example.org/install.sh | sh"),
        ["dockerfile.pipe-shell"],
    ),
    "a clone of whatever is there": (
        after("RUN git clone https://example.org/tool.git"),
        ["dockerfile.unpinned-clone"],
    ),
    "jupyter without a token": (
        after("CMD jupyter lab --ip=0.0.0.0 --NotebookApp.token=''"),
        ["dockerfile.open-jupyter"],
    ),
    "jupyter without a token in exec form": (
        after('CMD ["jupyter", "notebook", "--ip", "0.0.0.0", "--ServerApp.token="]'),
        ["dockerfile.open-jupyter"],
    ),
    "ssh with a password in the file": (
        after("RUN echo 'root:root' | chpasswd"),
        ["dockerfile.open-ssh"],
    ),
    # --- what the docs do not follow ---
    "the port changes and README does not": (
        edited(("EXPOSE 8080", "EXPOSE 9090"), **{"README.md": README}),
        ["documentation.stale-port"],
    ),
    "a variable is renamed and README does not follow": (
        (
            {"Dockerfile": CLEAN + "ENV WORKERS_COUNT=4\n", "README.md": "Set WORKERS_COUNT.\n"},
            {"Dockerfile": CLEAN + "ENV NUM_WORKERS=4\n", "README.md": "Set WORKERS_COUNT.\n"},
        ),
        ["documentation.stale-variable"],
    ),
    "the base image changes and the docs do not": (
        (
            {
                "Dockerfile": "FROM debian:11\nUSER dev\n",
                "docs/image.md": "Made from debian:11.\n",
            },
            {
                "Dockerfile": "FROM debian:12\nUSER dev\n",
                "docs/image.md": "Made from debian:11.\n",
            },
        ),
        ["documentation.stale-image"],
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_a_change_of_the_image_gives_these_remarks_and_no_others(name: str) -> None:
    (base, head), expected = TABLE[name]
    found = review_of(base, head)
    assert codes(found) == sorted(expected)
    # That no database was asked about new versions is the one thing that is always left.
    assert all(one.what.startswith("known vulnerabilities of ") for one in found.unchecked)


def test_the_table_is_as_long_as_was_asked_for() -> None:
    assert len(TABLE) >= 40
    assert sum(not expected for _, expected in TABLE.values()) >= 10
