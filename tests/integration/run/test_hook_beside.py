"""The hook beside those of git-lfs, husky and lefthook, as these write them: each gets its input, and each can refuse."""

from __future__ import annotations

import shutil
import stat
from typing import TYPE_CHECKING

import pytest

from tests.conftest import run_git
from tests.integration.run.pusher import FILES, GREEN, TESTED, Pusher

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.integration.run.conftest import MakeProject, Project

pytestmark = pytest.mark.network

# What `git lfs install` (3.x) writes.
LFS = """\
#!/bin/sh
command -v git-lfs >/dev/null 2>&1 || { printf >&2 "\\n%s\\n\\n" "This repository is configured for Git LFS but 'git-lfs' was not found on your path."; exit 2; }
git lfs pre-push "$@"
"""
# `git lfs pre-push REMOTE URL` reads the pushed refs, a line each, and refuses where an object cannot be sent.
GIT_LFS = """\
#!/bin/sh
shift
echo "$*" > "$LFS_SEEN"
while read -r local_ref local_id remote_ref remote_id; do
  echo "$local_ref $local_id $remote_ref $remote_id" >> "$LFS_SEEN"
done
test ! -e "$LFS_SEEN.refuse"
"""
# What `lefthook install` (1.x) writes, as far as it matters: it looks for the program, and calls it with its own name.
LEFTHOOK = """\
#!/bin/sh

if [ "$LEFTHOOK" = "0" ]; then
  exit 0
fi

call_lefthook()
{
  if test -n "$LEFTHOOK_BIN"
  then
    "$LEFTHOOK_BIN" "$@"
  elif lefthook -h >/dev/null 2>&1
  then
    lefthook "$@"
  else
    echo "Can't find lefthook in PATH"
  fi
}

call_lefthook run "pre-push" "$@"
"""
LEFTHOOK_PROGRAM = """\
#!/bin/sh
[ "$1" = run ] || exit 0
shift 2
echo "$*" > "$LEFTHOOK_SEEN"
cat >> "$LEFTHOOK_SEEN"
test ! -e "$LEFTHOOK_SEEN.refuse"
"""
# husky 9: `.husky/_/pre-push` and its like source `h`, which runs the project's own `.husky/pre-push`.
HUSKY_STUB = '#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n'
HUSKY_H = """\
#!/usr/bin/env sh
[ "$HUSKY" = "2" ] && set -x
n=$(basename "$0")
s=$(dirname "$(dirname "$0")")/$n

[ ! -f "$s" ] && exit 0

if [ -f "$HOME/.huskyrc" ]; then
	echo "husky - '~/.huskyrc' is DEPRECATED, please move your code to ~/.config/husky/init.sh"
fi
i="${XDG_CONFIG_HOME:-$HOME/.config}/husky/init.sh"
[ -f "$i" ] && . "$i"

[ "${HUSKY-}" = "0" ] && exit 0

export PATH="node_modules/.bin:$PATH"
sh -e "$s" "$@"
c=$?

[ $c != 0 ] && echo "husky - $n script failed (code $c)"
[ $c = 127 ] && echo "husky - command not found in PATH=$PATH"
exit $c
"""


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture(scope="module")
def checkout(make_project: MakeProject) -> Project:
    return make_project("beside", files=FILES)


@pytest.fixture
def pusher(checkout: Project, tmp_path: Path) -> Iterator[Pusher]:
    """A green change with evidence, and no hook yet; programs of `bin` are found first."""
    checkout.back()
    run_git(tmp_path, "init", "-q", "--bare", str(tmp_path / "remote.git"))
    made = Pusher(checkout, tmp_path / "remote.git", tmp_path / "config")
    made.configure("")
    made.env["PATH"] = f"{tmp_path}/bin:{made.env['PATH']}"
    write(
        tmp_path / "bin/presubmit",
        f'#!/bin/sh\nexec {made.project.command()[0]} -P -m presubmit "$@"\n',
    )
    made.git("checkout", "-q", "-B", "topic", "start")
    made.project.edit(*GREEN)
    code, output = made.presubmit("run")
    assert code == 0, output
    made.git("commit", "-q", "-a", "-m", "Count down")
    yield made
    shutil.rmtree(made.path / ".git/hooks", ignore_errors=True)


def is_line_of(pusher: Pusher, line: str) -> bool:
    """Tell whether a hook was told what git tells of the pushed branch."""
    commit = pusher.git("rev-parse", "HEAD").strip()
    return line.startswith(f"refs/heads/topic {commit} refs/heads/") and line.endswith("0" * 40)


@pytest.mark.parametrize(
    ("hook", "program", "name", "variable"),
    [
        (LFS, GIT_LFS, "git-lfs", "LFS_SEEN"),
        (LEFTHOOK, LEFTHOOK_PROGRAM, "lefthook", "LEFTHOOK_SEEN"),
    ],
    ids=["git-lfs", "lefthook"],
)
def test_the_hook_of_another_tool_reads_the_refs_and_can_refuse(
    pusher: Pusher, tmp_path: Path, hook: str, program: str, name: str, variable: str
) -> None:
    seen = tmp_path / "seen"
    write(tmp_path / "bin" / name, program)
    pusher.env[variable] = str(seen)
    write(pusher.path / ".git/hooks/pre-push", hook)
    assert "runs first" in pusher.presubmit("hook", "install")[1]
    code, said = pusher.push("topic")
    assert (code, TESTED in said) == (0, True), said
    given, line = seen.read_text().splitlines()
    assert given == f"{pusher.remote} {pusher.remote}"
    assert is_line_of(pusher, line)
    (tmp_path / "seen.refuse").touch()
    assert pusher.push("topic:refused")[0] != 0
    assert not pusher.has("refused")
    (tmp_path / "seen.refuse").unlink()
    pusher.commit(("thing.py", "return 2 - 1", "return 3"))
    code, said = pusher.push("topic:red")
    assert (code, "PUSH REFUSED" in said) == (1, True), said
    assert is_line_of(
        pusher, seen.read_text().splitlines()[-1]
    )  # also where nothing is known of it
    assert pusher.presubmit("hook", "uninstall")[0] == 0
    assert (pusher.path / ".git/hooks/pre-push").read_text() == hook


def test_lefthook_that_installs_itself_again_is_seen(pusher: Pusher) -> None:
    """It renames a hook that is not its own to `.old`, and runs it no more: `hook status` says that ours is gone."""
    hook = pusher.path / ".git/hooks/pre-push"
    assert pusher.presubmit("hook", "install")[0] == 0
    hook.rename(hook.with_name("pre-push.old"))
    write(hook, LEFTHOOK)
    code, said = pusher.presubmit("hook", "status")
    assert (code, "another hook" in said) == (4, True), said
    assert pusher.presubmit("hook", "install")[0] == 0
    code, said = pusher.push("topic")
    assert (code, TESTED in said) == (0, True), said


def test_huskys_own_file_can_call_it_with_what_git_says(pusher: Pusher) -> None:
    write(pusher.path / ".husky/_/pre-push", HUSKY_STUB)
    write(pusher.path / ".husky/_/h", HUSKY_H)
    (pusher.path / ".husky/_/.gitignore").write_text("*")
    pusher.git("config", "core.hooksPath", ".husky/_")
    try:
        code, said = pusher.presubmit("hook", "install")
        assert (code, 'add `presubmit hook run "$@"` to .husky/pre-push' in said) == (2, True), (
            said
        )
        (pusher.path / ".husky/pre-push").write_text('presubmit hook run "$@"\n')
        pusher.git("add", ".husky/pre-push")
        pusher.git("commit", "-q", "-m", "Ask presubmit")
        assert pusher.presubmit("run")[0] == 0
        code, said = pusher.push("topic")
        assert (code, TESTED in said) == (0, True), said
        pusher.commit(("thing.py", "return 2 - 1", "return 3"))
        code, said = pusher.push("topic:red")
    finally:
        pusher.git("config", "--unset", "core.hooksPath")
    assert code == 1, said
    assert "PUSH REFUSED" in said
    assert "husky - pre-push script failed" in said
    assert not pusher.has("red")
