"""Steps that use an action: substitutes, stubs, those of the user's own, and what is not here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from presubmit.replay.actions import find as find_action
from presubmit.replay.job import run as run_module
from presubmit.replay.job.action import ActionFailedError, LackingError, Support
from presubmit.replay.job.values import Conclusion
from tests.unit.replay.job.conftest import RunCell  # noqa: TC001 - pytest shows it

if TYPE_CHECKING:
    from collections.abc import Callable


class Fake:
    """An action of the test's own."""

    NAMES = ("test/fake",)

    def __init__(
        self,
        run: Callable[[Any], None],
        post: Callable[[Any], None] | None = None,
        *,
        always: bool = False,
    ) -> None:
        self.run = run
        self.POST_ALWAYS = always
        if post is not None:
            self.post = post

    def support(self, *_: object) -> Support:
        return Support()


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make `test/<name>` known as a substitute."""
    known: dict[str, Fake] = {}

    def find(uses: str) -> Any:
        return known.get(uses.partition("@")[0]) or original(uses)

    original = find_action
    monkeypatch.setattr(run_module, "find_action", find)

    def add(name: str, run: Callable[[Any], None], *more: Any, **given: Any) -> None:
        known[f"test/{name}"] = Fake(run, *more, **given)

    return add


def test_a_substitute_of_ones_own_sees_its_inputs_and_sets_outputs(cell: RunCell) -> None:
    script = """
      echo "got $INPUT_TARGET and $INPUT_TWO_WORDS in $PWD"
      echo version=1.2 >>"$GITHUB_OUTPUT"
      echo EXTRA=e >>"$GITHUB_ENV"
      echo "::warning file=a.py,line=2::careful"
    """
    ran = cell(
        """
      - {id: own, name: own, uses: 'Owner/Name@v3', with: {target: all, two words: '${{ github.sha }}'}, env: {A: a}}
      - {name: show, run: 'echo ${{ steps.own.outputs.version }} $EXTRA [$INPUT_TARGET]'}
    """,
        substitutes={"owner/name": script},
    )
    assert ran.printed("own")[0] == f"got all and c0ffee in {cell.workspace}"
    assert ran.printed("show") == ["1.2 e []"]
    assert (ran["own"].kind, ran["own"].reason) == ("substituted", "by your configuration")
    found = ran.annotation("careful")
    assert (found.file, found.line, found.level) == ("a.py", 2, "warning")


def test_a_substitute_of_ones_own_that_fails_fails_the_step(cell: RunCell) -> None:
    ran = cell("- {id: a, uses: owner/name@v1}", substitutes={"owner/name": "false\necho never"})
    assert ran["a"].reason == "your substitute for owner/name@v1 failed with exit code 1"
    assert "never" not in ran.log


def test_a_substitute_of_ones_own_beats_ours(cell: RunCell) -> None:
    ran = cell(
        "- {name: a, uses: actions/checkout@v4}", substitutes={"actions/checkout": "echo mine"}
    )
    assert ran.printed("a") == ["mine"]


def test_an_unknown_action_makes_the_cell_not_replayed(cell: RunCell) -> None:
    ran = cell("""
      - {name: before, run: 'echo ran'}
      - {id: a, uses: somebody/unknown@v1}
      - {name: after, if: always(), run: 'echo never'}
    """)
    assert ran.result.lacks == "action somebody/unknown"
    assert ran.result.conclusion is Conclusion.FAILURE
    assert ran.outcomes == ["success", "failure"]


def test_an_unknown_action_in_a_step_that_is_skipped_is_not_asked_for(cell: RunCell) -> None:
    ran = cell("- {uses: somebody/unknown@v1, if: \"github.event_name == 'push'\"}")
    assert ran.ok
    assert not ran.result.lacks


def test_an_unknown_action_that_is_tolerated_fails_its_step_only(cell: RunCell) -> None:
    ran = cell(
        "- {id: a, uses: somebody/unknown@v1, continue-on-error: true}\n- {name: b, run: 'true'}"
    )
    assert (ran["a"].outcome, ran["a"].conclusion, ran["a"].reason) == (
        "failure",
        "success",
        "not here: action somebody/unknown",
    )
    assert not ran.result.lacks
    assert ran["b"].outcome is Conclusion.SUCCESS


def test_a_stubbed_action_does_nothing_and_says_so(cell: RunCell) -> None:
    ran = cell("- {id: a, uses: codecov/codecov-action@v5, with: {files: x.xml}}")
    assert ran.ok
    assert ran["a"].kind == "stubbed"
    assert "codecov/codecov-action is stubbed: nothing is done" in ran.log


def test_what_an_action_sets_is_seen_later(cell: RunCell, register: Callable[..., None]) -> None:
    def run(step: Any) -> None:
        step.set_output("n", step.input("number", "none"))
        step.export("FROM_ACTION", "yes")
        step.add_path("/from/action")
        step.add_mask("hush")
        step.annotate("notice", "look: hush")
        step.note("did otherwise")
        step.say("saying hush")
        assert step.sh('echo "::error::printed $1 $OWN"', "hush") == 0
        assert step.ask("echo asked; exit 3").exit_code == 3
        assert step.flag("yes") is True
        assert step.lines("many") == ("a", "b")

    register("fake", run)
    ran = cell("""
      - {id: a, name: a, uses: test/fake@v1, env: {OWN: own}, with: {NUMBER: 7, yes: true, many: "a\\n\\n b"}}
      - {name: show, run: 'echo ${{ steps.a.outputs.n }} $FROM_ACTION $PATH'}
    """)
    assert ran.ok, ran.result
    assert ran.printed("show")[0].startswith("7 yes /from/action:")
    assert ran.annotations == [("notice", "look: ***"), ("error", "printed *** own")]
    assert ran.printed("a") == ["saying ***", "##[error]printed *** own"]
    assert (ran["a"].kind, ran["a"].reason) == ("substituted", "did otherwise")


@pytest.mark.parametrize("value", ["yes", "1", "on"])
def test_a_boolean_input_takes_the_yaml_words_only(
    cell: RunCell, register: Callable[..., None], value: str
) -> None:
    register("fake", lambda step: step.flag("x"))
    ran = cell(f"- {{id: a, uses: test/fake@v1, with: {{x: '{value}'}}}}")
    assert ran["a"].outcome is Conclusion.FAILURE
    assert f"input x is '{value}'" in ran["a"].reason


def test_a_command_of_an_action_that_fails_fails_the_step(
    cell: RunCell, register: Callable[..., None]
) -> None:
    register("fake", lambda step: step.run(["sh", "-c", "exit 9"]))
    ran = cell("- {id: a, uses: test/fake@v1}")
    assert ran["a"].reason == "the process 'sh' failed with exit code 9"
    assert "[command]sh -c 'exit 9'" in ran.log


def test_actions_clean_up_last_first_and_after_success_only(
    cell: RunCell, register: Callable[..., None]
) -> None:
    def one(name: str, *, always: bool = False) -> None:
        def run(step: Any) -> None:
            step.state["kept"] = name

        def post(step: Any) -> None:
            step.say(f"cleaning {step.state['kept']} {step.env['OWN']}")

        register(name, run, post, always=always)

    one("a")
    one("b", always=True)
    steps = (
        "- {uses: test/a@v1, env: {OWN: 1}}\n- {uses: test/b@v1, env: {OWN: 2}}\n- run: exit %s"
    )
    ran = cell(steps % 0)
    assert [line for line in ran.log.splitlines() if "cleaning" in line] == [
        "cleaning b 2",
        "cleaning a 1",
    ]
    assert [(s.name, s.kind) for s in ran.result.steps[-2:]] == [
        ("Post Run test/b@v1", "post"),
        ("Post Run test/a@v1", "post"),
    ]
    ran = cell(steps % 1)
    assert [line for line in ran.log.splitlines() if "cleaning" in line] == ["cleaning b 2"]


@pytest.mark.parametrize("error", [ActionFailedError("it broke"), LackingError("no tar")])
def test_a_clean_up_that_fails_fails_the_job(
    cell: RunCell, register: Callable[..., None], error: Exception
) -> None:
    def post(step: Any) -> None:
        raise error

    register("a", lambda _: None, post)
    ran = cell("- uses: test/a@v1")
    assert ran.result.conclusion is Conclusion.FAILURE
    assert ran.result.steps[-1].reason == str(error)


def test_an_action_inside_a_composite_one_cleans_up_at_the_jobs_end(
    cell: RunCell, register: Callable[..., None]
) -> None:
    register("a", lambda _: None, lambda step: step.say("cleaned"))
    composite = "name: it\nruns: {using: composite, steps: [{uses: test/a@v1}]}\n"
    ran = cell("- uses: ./it\n- {name: b, run: 'true'}", files={"it/action.yml": composite})
    assert [step.name for step in ran.result.steps] == [
        "Run test/a@v1",
        "Run ./it",
        "b",
        "Post Run test/a@v1",
    ]
