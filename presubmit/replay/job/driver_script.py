r"""What the shell in the box is told, and how its answers are told from what a step prints; pure.

The shell reads its script from standard input, so that nothing of it (the tokens above all) is ever an argument or a
variable of a process. No program but env, cat and tr is taken for granted.

Each answer is a line `\x1e<token> <words>`; the token is random, new for each step, and never given to the step.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from presubmit.container.scripts import MARKER, OOM_COUNT, OURS

if TYPE_CHECKING:
    from collections.abc import Iterable

# Why the details are as they are:
# - A step runs in the foreground: POSIX has a shell ignore SIGINT and SIGQUIT for what it starts with `&`, and a
#   Python below it would then never see a KeyboardInterrupt.
# - Steps are in this shell's process group, as they are in the runner's on GitHub: the traps keep a `kill 0` from
#   ending it (a subshell has the signals' defaults again). `setsid` would cost as much as everything else together.
# - The step's streams are opened anew through /proc: a program that makes them non-blocking (node does) would
#   otherwise do so for this shell and for every later step, whose writes would then fail.
# - A child that outlives the step is told by /proc alone, without a process of our own: first the list of process
#   ids is compared, then for each new one that is no zombie, whether one of its files is our output.
#   One that carries the marker of an earlier step is none of this one's; but the whole marker, since what is read of
#   an environment ends anywhere when its process runs another program meanwhile.
BOOT: Final = (
    r"""
LC_ALL=C
unset CDPATH
trap : HUP INT QUIT USR1 USR2 PIPE ALRM TERM TSTP TTIN TTOU
exec 3>&2 2>/dev/null
me=$$
ifs=$IFS
env=$(command -v env)
fresh=no
(: >/proc/$me/fd/1 2>/proc/$me/fd/3) && fresh=yes

count_kills() {
"""
    + OOM_COUNT
    + r"""
}

tell() {
  tries=0
  until printf "$@"; do
    tries=$((tries + 1))
    [ $tries -gt 600 ] && exit 1
    sleep 0.1 || sleep 1
  done
}

list_processes() { set -- /proc/[0-9]*; processes=" $* "; }

is_alive() {
  value=
  while read -r key value rest; do [ "$key" = State: ] && break; done <"$1/status" || return 1
  [ -n "$value" ] && [ "$value" != Z ]
}

is_mine() {
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in
      *"$marker"*) return 0 ;;
"""
    + f"      *{MARKER}={'?' * 32}* | *{OURS}=*) return 1 ;;"
    + r"""
    esac
  done <"$1/environ"
  return 0
}

holds_output() {
  [ -r "$1/fd" ] || { [ -d "$1" ]; return; }
  for file in "$1"/fd/*; do
    [ "$file" -ef /proc/$me/fd/1 ] && return 0
    [ "$file" -ef /proc/$me/fd/3 ] && return 0
  done
  # None could be listed.
  [ "$file" = "$1/fd/*" ] && [ -d "$1" ]
}

see_leftovers() {
  seen= tries=0
  list_processes
  # What has just ended may have started another: look until nothing new is there.
  until [ "$processes" = "$before" ] || [ "$processes" = "$seen" ] || [ $tries = 20 ]; do
    seen=$processes
    tries=$((tries + 1))
    for folder in $processes; do
      case $before in *" $folder "*) continue ;; esac
      is_alive "$folder" && is_mine "$folder" || continue
      state=left
      holds_output "$folder" && { state=held; return; }
    done
    [ $state = left ] && return
    list_processes
  done
}

look() {
  state=none
  see_leftovers
  tell '\036%s look %s\n' "$1" $state
  tell '\036%s look\n' "$1" >&3
}

name_leftovers() {
  list_processes
  for folder in $processes; do
    case $before in *" $folder "*) continue ;; esac
    is_alive "$folder" && is_mine "$folder" || continue
    words=$(tr '\0\n' '  ' <"$folder/cmdline")
    tell '\036%s name %.200s\n' "$1" "$words"
  done
  tell '\036%s named\n' "$1"
}

can_start() {
  case $1 in
    */*) [ -x "$1" ] && [ ! -d "$1" ]; return ;;
  esac
  word=$1
  set -f; IFS=:
  set -- $2
  set +f; IFS=$ifs
  for folder; do
    [ -x "${folder:-.}/$word" ] && [ ! -d "${folder:-.}/$word" ] && return 0
  done
  return 1
}

step() {
  token=$1 marker=$2 place=$3 path=$4
  shift 4
  count_kills
  kills=$oom
  list_processes
  before=$processes
  tell '\036%s begin\n' "$token"
  tell '\036%s begin\n' "$token" >&3
  word=$1
  shift
  if ! cd -- "$place"; then
    code=place
  elif ! can_start "$word" "$path"; then
    code=word
  elif [ $fresh = yes ]; then
    (exec $env -i -- "$@") </dev/null >/proc/$me/fd/1 2>/proc/$me/fd/3 3>&-
    code=$?
  else
    (exec $env -i -- "$@") </dev/null 2>&3 3>&-
    code=$?
  fi
  count_kills
  state=none
  see_leftovers
  tell '\036%s end %s %s %s %s\n' "$token" $code "$kills" "$oom" $state
  tell '\036%s end\n' "$token" >&3
}
"""
)


def boot_command(token: str, *, umask: int) -> bytes:
    """Give what a new shell is told first; it answers with its environment, its folder, and the size of a stack."""
    greeting = (
        f"umask {umask:04o}\n"
        f"printf '\\036%s environment\\n' {token}\n"
        "cat /proc/$me/environ\n"
        # A path may hold anything: it comes as bytes of its own, not as a word of an answer.
        f"printf '\\036%s folder\\n%s' {token} \"$PWD\"\n"
        f"printf '\\036%s ready %s\\n' {token} \"$(ulimit -s)\"\n"
    )
    return (BOOT + greeting).encode()


def step_command(
    token: str, marker: str, words: Iterable[str], *, place: str, path: str, program: str
) -> bytes:
    """Tell the shell to run a step: `words` are what `env -i --` takes, `path` is where `program` is looked for."""
    quoted = (_quote(word) for word in (token, marker, place, path, program, *words))
    return b"step " + b" ".join(quoted) + b"\n"


def look_command(token: str) -> bytes:
    """Ask whether something of the step is left; answered on both streams."""
    return f"look {token}\n".encode()


def names_command(token: str) -> bytes:
    """Ask for the names of what is left."""
    return f"name_leftovers {token}\n".encode()


def _quote(text: str) -> bytes:
    return b"'" + os.fsencode(text).replace(b"'", b"'\\''") + b"'"


class Marks:
    """Splits one stream into what the step printed (bytes) and what the shell says (tuples of words)."""

    def __init__(self, token: str) -> None:
        self._prefix = b"\x1e" + token.encode() + b" "
        self._held = b""

    def feed(self, data: bytes) -> list[bytes | tuple[bytes, ...]]:
        """Take the next bytes; only what may be the beginning of an answer is held back."""
        buffer = self._held + data if self._held else data
        self._held = b""
        found: list[bytes | tuple[bytes, ...]] = []
        position = 0
        while (start := buffer.find(self._prefix, position)) >= 0:
            end = buffer.find(b"\n", start)
            if start > position:
                found.append(buffer[position:start])
            if end < 0:
                self._held = buffer[start:]
                return found
            found.append(tuple(buffer[start + len(self._prefix) : end].split(b" ")))
            position = end + 1
        cut = self._possible_start(buffer, position)
        if cut > position:
            found.append(buffer[position:cut])
        self._held = buffer[cut:]
        return found

    def _possible_start(self, buffer: bytes, position: int) -> int:
        start = buffer.rfind(b"\x1e", max(position, len(buffer) - len(self._prefix) + 1))
        return start if start >= 0 and self._prefix.startswith(buffer[start:]) else len(buffer)
