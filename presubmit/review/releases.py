"""What fits what: releases of torch, of its companions, and of CUDA."""

from __future__ import annotations

import re
from typing import Final

WHEELS: Final = {
    "1.12": "10.2 11.3 11.6",
    "1.13": "11.6 11.7",
    "2.0": "11.7 11.8",
    "2.1": "11.8 12.1",
    "2.2": "11.8 12.1",
    "2.3": "11.8 12.1",
    "2.4": "11.8 12.1 12.4",
    "2.5": "11.8 12.1 12.4",
    "2.6": "11.8 12.4 12.6",
    "2.7": "11.8 12.6 12.8",
    "2.8": "12.6 12.8 12.9",
    "2.9": "12.6 12.8 13.0",
}
"""The CUDA releases that torch's wheels were built for."""

_FIRST_AUDIO: Final = 8
_FIRST_VISION: Final = 9
_OF_TORCH_2: Final = 15
"""torchvision 0.15 goes with torch 2.0."""
_LAST_VISION: Final = 24
"""torchvision 0.24 goes with torch 2.9; of later ones nothing is said."""
DRIVERS: Final = {"11": "450.80.02", "12": "525.60.13", "13": "580.65.06"}
"""The oldest Linux driver that runs a CUDA major release."""


def minor(version: str) -> str:
    """Give `2.7` of `2.7.1`."""
    return ".".join(version.split(".")[:2])


def torch_for(companion: str, version: str) -> str:
    """Give the minor release of torch that a torchvision or torchaudio needs; empty where it is not known."""
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None:
        return ""
    major, number = int(found[1]), int(found[2])
    if companion == "torchaudio" and not major:
        return f"1.{number}" if number >= _FIRST_AUDIO else ""
    if companion == "torchaudio":
        return minor(version)
    if major or not _FIRST_VISION <= number <= _LAST_VISION:
        return ""
    return f"2.{number - _OF_TORCH_2}" if number >= _OF_TORCH_2 else f"1.{number - 1}"
