"""The commands that a step prints: `::error file=a.py,line=3::text`, `::group::title`, `##[warning]text`.

The rules are those of actions/runner (src/Runner.Common/ActionCommand.cs, src/Runner.Worker/ActionCommandManager.cs).
Problem matchers (`::add-matcher::`) are not applied, and that is said: their patterns are the change's own, and
nothing bounds the time that such a pattern takes.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.replay.job.values import Annotation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from presubmit.replay.job.masks import Masks

ANNOTATION_LIMIT: Final = 10
"""Annotations of one level that GitHub shows of a step (ExecutionContext.cs); the log has them all."""
MESSAGE_LIMIT: Final = 4096
_LEVELS: Final = frozenset({"error", "warning", "notice"})
_STOP: Final = "stop-commands"
COMMANDS: Final = frozenset(
    {
        *_LEVELS,
        *("set-env", "set-output", "save-state", "add-mask", "add-path", "add-matcher"),
        *("remove-matcher", "debug", "group", "endgroup", "echo", _STOP),
    }
)
_SHOWN_ANYWAY: Final = frozenset({*_LEVELS, "add-mask", "debug"})
"""Commands that `::echo::on` does not repeat: they are shown in their own way, or never."""
_TRUE_WORDS: Final = frozenset({"1", "true", "$true"})
_STARTS: Final = (
    "##[",
    *(f"{space}::" for space in "\n \t\v\f\x1c\x1d\x1e\x1f\x85\xa0\u2003\u3000"),
)
_MASKED_TOKEN: Final = 6
_DATA: Final = (("%0D", "\r"), ("%0A", "\n"), ("%25", "%"))
_PROPERTY: Final = (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%"))
_OLD: Final = (("%3B", ";"), ("%0D", "\r"), ("%0A", "\n"), ("%5D", "]"), ("%25", "%"))
_DEPRECATED: Final = (
    "The `{}` command is deprecated and will be disabled soon. Please upgrade to using Environment Files. "
    "For more information see: "
    "https://github.blog/changelog/2022-10-11-github-actions-deprecating-save-state-and-set-output-commands/"
)
_DISABLED: Final = (
    "The `{}` command is disabled. Please upgrade to using Environment Files or opt into unsecure command execution "
    "by setting the `ACTIONS_ALLOW_UNSECURE_COMMANDS` environment variable to `true`. For more information see: "
    "https://github.blog/changelog/2020-10-01-github-actions-deprecating-set-env-and-add-path-commands/"
)
_NO_STOP: Final = (
    "You cannot use a endToken that is an empty string, the string 'pause-logging', or another workflow command. "
    "For more information see: https://docs.github.com/actions/learn-github-actions/"
    "workflow-commands-for-github-actions#example-stopping-and-starting-workflow-commands or opt into insecure "
    "command execution by setting the `ACTIONS_ALLOW_UNSECURE_STOPCOMMAND_TOKENS` environment variable to `true`."
)


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One command; `name` and the keys of `properties` are in lower case."""

    name: str
    properties: dict[str, str]
    data: str


class CommandError(Exception):
    """A command that cannot be obeyed: the step fails, whatever its exit code."""


def may_hold_command(text: str) -> bool:
    """Whether one of these lines may be a command; fast, since most of what is printed holds none."""
    if "::" not in text:
        return "##[" in text
    return text.startswith("::") or any(start in text for start in _STARTS)


def may_be_command(line: str) -> bool:
    """Whether it is worth the while to look closer."""
    return "##[" in line or line.lstrip().startswith("::")


def parse_command(line: str, *, also: str = "") -> Command | None:
    """Read a line; None where it is no command. `also` is the token that ends `stop-commands`."""
    return _parse(line.lstrip(), also) or _parse_old(line, also)


def _parse(line: str, also: str) -> Command | None:
    """Read `::name key=value,key=value::data`; spaces may stand before it."""
    if not line.startswith("::"):
        return None
    head, separator, data = line[2:].partition("::")
    name, _, properties = head.partition(" ")
    if not separator or not _is_known(name, also):
        return None
    return Command(
        name=name.lower(),
        properties=_properties(properties.strip().split(","), _PROPERTY),
        data=_unescape(data, _DATA),
    )


def _parse_old(line: str, also: str) -> Command | None:
    """Read `##[name key=value;key=value]data`; anything may stand before it."""
    _, found, rest = line.partition("##[")
    head, separator, data = rest.partition("]")
    name, _, properties = head.partition(" ")
    if not found or not separator or not _is_known(name, also):
        return None
    return Command(
        name=name.lower(),
        properties=_properties(properties.split(";"), _OLD),
        data=_unescape(data, _OLD),
    )


def _is_known(name: str, also: str) -> bool:
    return name.lower() in COMMANDS or bool(also and name.lower() == also.lower())


def _properties(texts: Iterable[str], escapes: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Read `key=value` parts; one without a value counts for nothing, spaces belong to the key."""
    found: dict[str, str] = {}
    for text in texts:
        key, _, value = text.lstrip("=").partition("=")
        if value := value.lstrip("="):
            found[key.lower()] = _unescape(value, escapes)
    return found


def _unescape(text: str, escapes: Iterable[tuple[str, str]]) -> str:
    if "%" in text:
        for escaped, plain in escapes:
            text = text.replace(escaped, plain)
    return text


class Commands:
    """Obeys the commands of one step; what they did stands in its attributes."""

    def __init__(
        self, masks: Masks, *, env: Mapping[str, str], workspace: str, step: str = ""
    ) -> None:
        """`env` is what the workflow gives the step; `workspace` is its GITHUB_WORKSPACE."""
        self._masks = masks
        self._unsecure = env.get("ACTIONS_ALLOW_UNSECURE_COMMANDS", "").lower() == "true"
        self._any_token = (
            env.get("ACTIONS_ALLOW_UNSECURE_STOPCOMMAND_TOKENS", "").lower() in _TRUE_WORDS
        )
        self._workspace = workspace
        self._step = step
        self._token = ""
        self._stopped = False
        self._echo = False
        self.outputs: dict[str, str] = {}
        self.state: dict[str, str] = {}
        self.env: dict[str, str] = {}
        self.paths: list[str] = []
        """The last one comes first on PATH."""
        self.annotations: list[Annotation] = []
        self.failures: list[str] = []
        """Each makes the step fail, whatever its exit code."""
        self.notes: list[str] = []
        """What is done otherwise here than on GitHub."""
        self.left_out: dict[str, int] = {}
        """How many annotations of a level were more than GitHub shows."""

    def obey(self, line: str) -> str | None:
        """Give what the log shows for a line: itself, something else, or None for nothing."""
        command = parse_command(line, also=self._token)
        if command is None:
            return line
        if self._stopped:
            if command.name == self._token.lower():
                self._stopped, self._token = False, ""
            return line
        shown = line if self._echo and command.name not in _SHOWN_ANYWAY else None
        try:
            return _joined(shown, self._do(command, line))
        except CommandError as error:
            what = command.name if command.name in _SHOWN_ANYWAY else line
            self.failures.append(str(error))
            messages = (f"Unable to process command '{what}' successfully.", str(error))
            for message in messages:
                self.annotate("error", message)
            return _joined(shown, "\n".join(f"##[error]{message}" for message in messages))

    def annotate(
        self, level: str, message: str, properties: Mapping[str, str] | None = None
    ) -> None:
        """Attach a message; beyond what GitHub shows of a step it is only counted."""
        if sum(one.level == level for one in self.annotations) >= ANNOTATION_LIMIT:
            self.left_out[level] = self.left_out.get(level, 0) + 1
            return
        found = _place(properties or {}, self._workspace)
        self.annotations.append(
            Annotation(
                level=level,
                message=self._masks.mask(message)[:MESSAGE_LIMIT],
                title=self._masks.mask(found.title),
                file=self._masks.mask(found.file),
                line=found.line,
                end_line=found.end_line,
                column=found.column,
                step=self._step,
            )
        )

    def _do(self, command: Command, line: str) -> str | None:  # noqa: C901, PLR0911, PLR0912 - one case a command
        """Obey a command; gives the line that the log shows for it."""
        name, data = command.name, command.data
        match name:
            case "error" | "warning" | "notice":
                self.annotate(name, data, command.properties)
                return f"##[{name}]{data}"
            case "group":
                return f"##[group]{data}"
            case "endgroup":
                return "##[endgroup]"
            case "debug":
                pass
            case "add-mask":
                return self._add_mask(data)
            case "set-output":
                self.outputs[_name(command)] = data
                self._deprecated(name)
            case "save-state":
                self.state[_name(command)] = data
                self._deprecated(name)
            case "set-env":
                return self._set_env(command)
            case "add-path":
                if not self._unsecure:
                    raise CommandError(_DISABLED.format(name))
                if not data:
                    raise CommandError("Value cannot be null. (Parameter 'path')")
                self.paths = [path for path in self.paths if path != data] + [data]
            case "echo":
                self._switch_echo(data)
            case "stop-commands":
                self._stop(data)
                return line
            case "add-matcher":
                self.notes.append(f"problem matcher {data} is not applied")
            case _:
                pass  # remove-matcher: there is none
        return None

    def _add_mask(self, secret: str) -> str | None:
        if not secret.strip():
            message = "Can't add secret mask for empty string in ##[add-mask] command."
            self.annotate("warning", message)
            return f"##[warning]{message}"
        self._masks.add(secret)
        return "::add-mask::***" if self._echo else None

    def _set_env(self, command: Command) -> str | None:
        if not self._unsecure:
            raise CommandError(_DISABLED.format(command.name))
        name = _name(command)
        if name.upper() == "NODE_OPTIONS":
            message = "Can't update NODE_OPTIONS environment variable using ::set-env:: command."
            self.annotate("error", message)
            return f"##[error]{message}"
        self.env[name] = command.data
        return None

    def _switch_echo(self, data: str) -> None:
        word = data.strip().upper()
        if word not in {"ON", "OFF"}:
            raise CommandError(
                f"Invalid echo command value. Possible values can be: 'on', 'off'. Current value is: '{data}'."
            )
        self._echo = word == "ON"

    def _stop(self, token: str) -> None:
        bad = not token or token.lower() in COMMANDS or token.lower() == "pause-logging"
        if bad and not self._any_token:
            raise CommandError(_NO_STOP)
        self._stopped, self._token = True, token
        if len(token) > _MASKED_TOKEN:
            self._masks.add(token)

    def _deprecated(self, name: str) -> None:
        message = _DEPRECATED.format(name)
        if not any(one.message == message for one in self.annotations):
            self.annotate("warning", message)


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    file: str
    line: int | None
    end_line: int | None
    column: int | None


def _place(properties: Mapping[str, str], workspace: str) -> _Place:
    """Read where a message belongs; what contradicts itself is dropped, as the runner does."""
    line, end = _number(properties, "line"), _number(properties, "endline")
    column, end_column = _number(properties, "col"), _number(properties, "endcolumn")
    line = end if line is None else line
    column = end_column if column is None else column
    spans_lines = end is not None and line != end
    if line is None or spans_lines or (column or 0) > (end_column or column or 0):
        column = None
    if line is not None and end is not None and end < line:
        line = end = None
    file = properties.get("file", "")
    root = workspace.rstrip("/") + "/"
    return _Place(
        title=properties.get("title", ""),
        file=posixpath.normpath(file).removeprefix(root) if file.startswith(root) else file,
        line=line,
        end_line=end,
        column=column,
    )


def _number(properties: Mapping[str, str], key: str) -> int | None:
    text = properties.get(key, "").strip()
    digits = text.removeprefix("-").removeprefix("+")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 10 else None  # noqa: PLR2004 - 32 bits


def _name(command: Command) -> str:
    name = command.properties.get("name", "")
    if not name:
        raise CommandError(f"Required field 'name' is missing in ##[{command.name}] command.")
    return name


def _joined(*lines: str | None) -> str | None:
    found = [line for line in lines if line is not None]
    return "\n".join(found) if found else None
