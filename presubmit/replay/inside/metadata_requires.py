"""List what an installed distribution needs at run time, with the given extras.

Arguments: the distribution's name (or empty: what is installed from the folder), the extras as JSON, the folder, the
file to write the answer to.
"""

import json
import os
import sys
from importlib import metadata
from urllib.parse import unquote, urlparse

try:
    from packaging.requirements import Requirement
except ImportError:
    from pip._vendor.packaging.requirements import Requirement

name, extras, folder, answer = sys.argv[1:5]


def from_folder():
    """Find the distribution whose direct_url.json (PEP 610) names the folder, or that lies in it (egg-info)."""
    for candidate in metadata.distributions():
        text = candidate.read_text("direct_url.json")
        if text and os.path.realpath(
            unquote(urlparse(json.loads(text)["url"]).path)
        ) == os.path.realpath(folder):
            return candidate
    for candidate in metadata.distributions():
        place = os.path.realpath(str(candidate.locate_file("")))
        if place in (os.path.realpath(folder), os.path.realpath(os.path.join(folder, "src"))):
            return candidate
    return None


found = metadata.distribution(name) if name else from_folder()
lines = []
known = (found.metadata.get_all("Provides-Extra") or []) if found is not None else []
wanted = [extra for extra in json.loads(extras) if extra in known]
for line in (found.requires or []) if found is not None else []:
    requirement = Requirement(line)
    marker, requirement.marker = requirement.marker, None
    if marker is None or any(marker.evaluate({"extra": extra}) for extra in ["", *wanted]):
        lines.append(str(requirement))
with open(answer, "w") as stream:
    json.dump(
        {
            "name": found.metadata["Name"] if found is not None else None,
            "requires": lines,
            "extras": wanted,
        },
        stream,
    )
