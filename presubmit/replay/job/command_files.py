"""The files that a step writes to: GITHUB_ENV, GITHUB_OUTPUT, GITHUB_STATE, GITHUB_PATH, GITHUB_STEP_SUMMARY.

The rules are those of actions/runner (src/Runner.Worker/FileCommandManager.cs). A name is not refused for beginning
with GITHUB_ or RUNNER_; the runner lays its own values over it when the next step starts.
"""

from __future__ import annotations

import codecs
import errno
import os
import re
import secrets
import stat
from typing import TYPE_CHECKING, Final

from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE_LIMIT: Final = 50 << 20
"""Bytes of one file (but for a summary) that are read; GitHub's limit for the outputs of a whole run."""
OUTPUT_LIMIT: Final = 1 << 20
"""Bytes (in UTF-16, roughly) that GitHub takes for the outputs of one job; a step's own have no limit there."""
SUMMARY_LIMIT: Final = 1 << 20
_TOO_LARGE: Final = (
    "$GITHUB_STEP_SUMMARY upload aborted, supports content up to a size of {}k, got {}k. "
    "For more information see: https://docs.github.com/actions/using-workflows/"
    "workflow-commands-for-github-actions#adding-a-markdown-summary"
)
FOLDER: Final = "_runner_file_commands"
_PREFIXES: Final = {
    "env": "set_env_",
    "output": "set_output_",
    "state": "save_state_",
    "path": "add_path_",
    "step_summary": "step_summary_",
}
_BLOCKED: Final = frozenset({"NODE_OPTIONS"})
_BYTE_ORDER_MARKS: Final = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class CommandFiles(Value, frozen=True, kw_only=True):
    """The fresh files of one step."""

    host: dict[str, str]
    """Where each lies on the host: `env`, `output`, `state`, `path`, `step_summary`."""
    inside: dict[str, str]
    """Where the step finds it: what the `github` context holds under that name."""

    @property
    def variables(self) -> dict[str, str]:
        """Give what the step's environment says of them: `GITHUB_ENV` and the others."""
        return {f"GITHUB_{name.upper()}": path for name, path in self.inside.items()}


class FileCommands(Value, frozen=True, kw_only=True):
    """What a step wrote, in its order; a later value of a name wins."""

    env: tuple[tuple[str, str], ...] = ()
    outputs: tuple[tuple[str, str], ...] = ()
    state: tuple[tuple[str, str], ...] = ()
    paths: tuple[str, ...] = ()
    """The last one comes first on PATH."""
    summary: str = ""
    failures: tuple[str, ...] = ()
    """What was wrong: each is an error annotation, and the step fails, whatever its exit code."""
    errors: tuple[str, ...] = ()
    """What GitHub complains of without failing the step: each is an error annotation."""


def make_command_files(host_temp: Path, temp: str) -> CommandFiles:
    """Make a step's files; `host_temp` is the folder that the step knows as `temp` (RUNNER_TEMP)."""
    folder = host_temp / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    suffix = secrets.token_hex(16)
    names = {name: prefix + suffix for name, prefix in _PREFIXES.items()}
    for name in names.values():
        path = folder / name
        path.touch(exist_ok=False)
        # The step may be another user than this process.
        path.chmod(0o666)
    return CommandFiles(
        host={key: str(folder / name) for key, name in names.items()},
        inside={key: f"{temp.rstrip('/')}/{FOLDER}/{name}" for key, name in names.items()},
    )


def read_command_files(files: CommandFiles) -> FileCommands:
    """Read what a step wrote, follow no link, and take the files away."""
    failures: list[str] = []
    pairs: dict[str, list[tuple[str, str]]] = {}
    for name in ("env", "output", "state"):
        pairs[name], fault = _read_pairs(files.host[name])
        if fault:
            failures += (f"Unable to process file command '{name}' successfully.", fault)
    blocked = {key.upper() for key, _ in pairs["env"]} & _BLOCKED
    errors = [
        f"Can't store {name} output parameter using '$GITHUB_ENV' command." for name in blocked
    ]
    text, fault = _read_text(files.host["path"])
    if fault:
        failures += ("Unable to process file command 'path' successfully.", fault)
    summary, complaint = _read_summary(files.host["step_summary"])
    if complaint:
        errors.append(complaint)
    for path in files.host.values():
        _remove(path)
    return FileCommands(
        env=tuple(pair for pair in pairs["env"] if pair[0].upper() not in _BLOCKED),
        outputs=tuple(pairs["output"]),
        state=tuple(pairs["state"]),
        paths=tuple(line for line in re.split(r"\r\n|\r|\n", text) if line),
        summary=summary,
        failures=tuple(failures),
        errors=tuple(errors),
    )


class FormatError(Exception):
    """A line that is neither `NAME=value` nor the start of `NAME<<DELIMITER`; the message is GitHub's own."""


def parse_pairs(text: str) -> Iterator[tuple[str, str]]:
    """Give the names and values of a file; what stands before a fault still counts. Raises FormatError."""
    position = 0
    while position < len(text):
        line, position, _ = _line(text, position)
        if not line:
            continue
        equals, heredoc = line.find("="), line.find("<<")
        if equals >= 0 and (heredoc < 0 or equals < heredoc):
            name, value = line[:equals], line[equals + 1 :]
            if not name:
                raise FormatError(f"Invalid format '{_short(line)}'. Name must not be empty")
        elif heredoc >= 0:
            name, delimiter = line[:heredoc], line[heredoc + 2 :]
            if not name or not delimiter:
                raise FormatError(
                    f"Invalid format '{_short(line)}'. Name must not be empty and delimiter must not be empty"
                )
            value, position = _heredoc(text, position, delimiter)
        else:
            raise FormatError(f"Invalid format '{_short(line)}'")
        yield name, value


def _heredoc(text: str, position: int, delimiter: str) -> tuple[str, int]:
    """Give the lines up to the delimiter, and where the next line begins."""
    start = end = position
    while True:
        if position >= len(text):
            raise FormatError(f"Invalid value. Matching delimiter not found '{_short(delimiter)}'")
        line, position, whole = _line(text, position)
        if line == delimiter:
            return text[start:end], position
        if not whole:
            raise FormatError("Invalid value. EOF marker missing new line.")
        end = position - 1


def _line(text: str, position: int) -> tuple[str, int, bool]:
    """Give a line, where the next one begins, and whether it had an end; a CR belongs to it (on Linux)."""
    end = text.find("\n", position)
    if end < 0:
        return text[position:], len(text), False
    return text[position:end], end + 1, True


def _read_pairs(path: str) -> tuple[list[tuple[str, str]], str]:
    """Give what stands before the first fault, and the fault."""
    text, fault = _read_text(path)
    pairs: list[tuple[str, str]] = []
    try:
        pairs.extend(parse_pairs(text))
    except FormatError as error:
        fault = str(error)
    return pairs, fault


def _read_text(path: str) -> tuple[str, str]:
    data, size, fault = _read(path, FILE_LIMIT)
    if size > FILE_LIMIT:
        return "", f"The file has {size:,} bytes, and at most {FILE_LIMIT:,} are read."
    return decode_text(data), fault


def _read_summary(path: str) -> tuple[str, str]:
    data, size, fault = _read(path, SUMMARY_LIMIT)
    if fault:
        return "", f"Failed to create step summary using 'GITHUB_STEP_SUMMARY': {fault}"
    if size <= SUMMARY_LIMIT:
        return decode_text(data), ""
    kept = data.rpartition(b"\n")[0] or data
    left_out = f"… cut here: {size - len(kept):,} of {size:,} bytes are left out\n"
    complaint = _TOO_LARGE.format(SUMMARY_LIMIT >> 10, size >> 10)
    return f"{decode_text(kept)}\n\n{left_out}", complaint


def decode_text(data: bytes) -> str:
    """Decode as .NET does: by the byte order mark, else UTF-8 with replacements for junk."""
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    return data.decode("utf-8", "replace")


def _read(path: str, most: int) -> tuple[bytes, int, str]:
    """Give at most `most` bytes and the whole size of a plain file; one that is gone is empty."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                return b"", 0, "It is no plain file."
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return file.read(most), found.st_size, ""
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return b"", 0, ""
    except OSError as error:
        link = error.errno == errno.ELOOP
        return b"", 0, "It is a symbolic link, which is not followed." if link else str(error)


def _remove(path: str) -> None:
    try:
        os.unlink(path)  # noqa: PTH108 - plain names all along
    except OSError:
        return  # gone already, or now a folder: the next step's file has another name


def _short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}…"  # noqa: PLR2004 - fit for a message
