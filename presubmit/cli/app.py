"""The group of commands; each is imported only when it is named, so that `--help` and a hook stay fast."""

from __future__ import annotations

import importlib
from typing import Final

import rich_click as click

from presubmit import __version__

_COMMANDS: Final = {
    "run": "Check this change the way upstream CI would.",
    "plan": "Show what `run` would do, and why, without running anything.",
    "replay": "Replay jobs of upstream CI, as their workflows are written.",
    "upstream": "Check upstream's workflow files; say what an expression gives.",
    "select": "Print the tests that this change can affect.",
    "explain": "Say why a test runs or does not, or what a file reaches.",
    "review": "Say what the change brings that no test tells: API, docs, pins, files.",
    "bench": "Compare the microbenchmarks that this change can reach with the base.",
    "record": "Run all tests once and record what each executes, to narrow later runs.",
    "shell": "Open a shell where a step ran: same tree, environment and folder.",
    "fix": "Apply to the worktree what lint tools changed in the last run.",
    "image": "Say which image is used and why; build or check one.",
    "config": "Print every option, its value and where that came from.",
    "doctor": "Check git, engine, image, GPU and disk, and say what mismatches.",
    "hook": "Install the pre-push hook, which lets a tested tree through at once.",
    "draft": "Write the pull request, the RFC and the checklist out of what was measured.",
    "report": "Print a run's report, or what there is evidence for.",
    "clean": "Remove old runs and caches.",
    "demo": "Make a small repository with a faulty change, and run on it.",
}


class Commands(click.RichGroup):
    """A group whose members are modules of this package, `cli/<name>.py` with a function `<name>`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Give the commands in the order in which a newcomer needs them."""
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"presubmit.cli.{cmd_name}")
        command = getattr(module, cmd_name)
        assert isinstance(command, click.Command)  # noqa: S101 - our own module
        return command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="presubmit")
def app() -> None:
    """Test a change the way upstream CI would, locally, in the project's devel container.

    presubmit is a local mirror of a project's upstream CI: it builds and tests what a change can affect,
    and says which failures are the change's own.

    Start with `presubmit demo`, then `presubmit plan` and `presubmit run` in your checkout.
    """
