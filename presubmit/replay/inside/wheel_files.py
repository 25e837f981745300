"""List the files of the wheels in a folder, by the names that they are installed under.

Arguments: the folder, the file to write the answer to.
"""

import json
import os
import re
import sys
import zipfile

folder, answer = sys.argv[1:3]
INSTALLED = re.compile(r"^[^/]+\.data/(?:purelib|platlib)/")
names = set()
for wheel in sorted(os.listdir(folder)):
    if wheel.endswith(".whl"):
        with zipfile.ZipFile(os.path.join(folder, wheel)) as archive:
            names |= {INSTALLED.sub("", one) for one in archive.namelist() if one[-1:] != "/"}
with open(answer, "w") as stream:
    json.dump(sorted(name for name in names if ".dist-info/" not in name), stream)
