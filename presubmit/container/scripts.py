"""The few lines of POSIX sh that run inside a box; no program but cat, grep, tr and df is taken for granted."""

from __future__ import annotations

from typing import Final

import msgspec

MARKER: Final = "PRESUBMIT_EXEC"
"""Each command in a box carries this variable with a random value; its children inherit it."""
OURS: Final = "PRESUBMIT_SCAN"
"""Processes that presubmit itself runs in a box carry this one."""

# PID 1: it lives as long as someone holds its standard input open (the dead man's switch), survives `kill -1`
# because the kernel drops signals to a PID 1 without handlers, and reaps what is left to it. `cat` may be killed:
# hence the loop.
PID_1: Final = f"while :; do {OURS}=1 cat >/dev/null && exit 0; done"
# Without a switch (`keep`): the standard input is never closed, so that `cat` never ends.

OOM_COUNT: Final = """
oom=-
for file in /sys/fs/cgroup/memory/memory.oom_control /sys/fs/cgroup/memory.events; do
  [ -r $file ] || continue
  while read -r key value; do [ "$key" = oom_kill ] && oom=$value; done <$file
done
"""

# $1 umask, then the command. The first line on standard output is ours: marker, kills so far, whether it can start.
WRAPPER: Final = (
    OOM_COUNT
    + f"""
umask "$1"; shift
ok=no
case $1 in
  */*) [ -x "$1" ] && [ ! -d "$1" ] && ok=yes ;;
  *) command -v "$1" >/dev/null 2>&1 && ok=yes ;;
esac
printf '\\036%s %s %s\\n' "${MARKER}" "$oom" "$ok"
[ $ok = yes ] || exit 126
exec "$@"
"""
)

# $1 marker, $2 signal or -, then the folders whose file systems are looked at.
# No -F: with it, the grep of busybox sees nothing beyond the first NUL.
# Prints `kind pid state name`: mine (this marker), other (another marker), ours, bare (no marker at all).
SURVEY: Final = (
    OOM_COUNT
    + f"""
marker=$1; signal=$2; shift 2
echo "oom $oom"
mine=" $(grep -ls "{MARKER}=$marker" /proc/[0-9]*/environ | tr '\\n' ' ')"
marked=" $(grep -ls "{MARKER}=" /proc/[0-9]*/environ | tr '\\n' ' ')"
ours=" $(grep -ls "{OURS}=" /proc/[0-9]*/environ | tr '\\n' ' ')"
for folder in /proc/[0-9]*; do
  pid=${{folder#/proc/}}
  [ "$pid" = 1 ] && continue
  name=; state=
  while read -r key value rest; do
    case $key in Name:) name=$value ;; State:) state=$value; break ;; esac
  done 2>/dev/null <$folder/status || continue
  [ "$state" = Z ] && continue
  [ -n "$state" ] || continue
  kind=bare
  case $ours in *" $folder/environ "*) kind=ours ;; esac
  case $marked in *" $folder/environ "*) kind=other ;; esac
  case $mine in *" $folder/environ "*) kind=mine ;; esac
  [ $kind = ours ] && continue
  [ $kind = mine ] && [ "$signal" != - ] && kill -s "$signal" "$pid" 2>/dev/null
  words=$(tr '\\0\\n' '  ' 2>/dev/null <$folder/cmdline)
  printf '%s %s %s %s\\n' $kind "$pid" "$state" "${{words:-$name}}"
done
for folder in "$@"; do df -Pk "$folder" 2>/dev/null | {{ read -r line; read -r line && echo "disk $line"; }}; done
echo end
"""
)

KILL_PIDS: Final = (
    'signal=$1; shift; for pid in "$@"; do kill -s "$signal" "$pid" 2>/dev/null; done'
)


class Process(msgspec.Struct, frozen=True):
    """One process inside a box."""

    pid: int
    words: str


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """What a look into a box gave."""

    complete: bool
    """Whether the script reached its end (it cannot where the box is out of processes)."""
    oom_kills: int | None
    mine: tuple[Process, ...] = ()
    others: tuple[Process, ...] = ()
    bare: tuple[Process, ...] = ()
    full_disks: tuple[str, ...] = ()


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The wrapper's first line."""

    oom_kills: int | None
    can_start: bool


def parse_header(line: bytes, marker: str) -> Header | None:
    r"""Read `\x1e<marker> <kills> <yes|no>`; None for anything else."""
    words = line.decode("ascii", "replace").strip("\x1e\n").split(" ")
    match words:
        case [found, kills, answer] if found == marker:
            return Header(oom_kills=_number(kills), can_start=answer == "yes")
        case _:
            return None


def parse_survey(text: str) -> Survey:
    """Read what SURVEY prints; a line that is not understood is left out."""
    oom: int | None = None
    found: dict[str, list[Process]] = {"mine": [], "other": [], "bare": []}
    full: list[str] = []
    lines = text.splitlines()
    for line in lines:
        kind, _, rest = line.partition(" ")
        if kind == "oom":
            oom = _number(rest)
        elif kind == "disk":
            full += _full_disk(rest)
        elif kind in found:
            pid, _, words = rest.partition(" ")
            # `runc init` is a command of somebody else that is just being started.
            command = words[2:].strip()
            if pid.isdigit() and not command.startswith(("runc", "runc:[", "crun")):
                found[kind].append(Process(int(pid), command[:200]))
    return Survey(
        complete="end" in lines[-1:],
        oom_kills=oom,
        mine=tuple(found["mine"]),
        others=tuple(found["other"]),
        bare=tuple(found["bare"]),
        full_disks=tuple(dict.fromkeys(full)),
    )


_FULL_BYTES: Final = 64 << 20
_FULL_SHARE: Final = 0.05


def is_full(*, total: int, available: int) -> bool:
    """Whether a file system is as good as full; a compiler frees its scratch files before we can look."""
    return available < min(_FULL_BYTES, int(total * _FULL_SHARE))


def _full_disk(line: str) -> list[str]:
    """Read one line of `df -Pk`; give the mount point if it is full."""
    match line.split(None, 5):
        case [_, total, _, available, _, place] if total.isdigit() and available.isdigit():
            full = is_full(total=int(total) << 10, available=int(available) << 10)
            return [place] if full else []
        case _:
            return []


def _number(text: str) -> int | None:
    return int(text) if text.strip().isdigit() else None
