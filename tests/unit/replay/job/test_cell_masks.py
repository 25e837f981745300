"""What is masked is nowhere: log, summary, annotations, names, reasons, outputs, notes, events."""

from __future__ import annotations

from tests.unit.replay.job.conftest import RunCell  # noqa: TC001 - pytest shows it

HIDDEN = "hunter2-very-secret"
MULTI = ("first-half-of-it", "second half, too", "the-third")


def test_a_mask_holds_everywhere(cell: RunCell) -> None:
    ran = cell(
        """
      - {name: hide, run: 'cat given | sed s/^/::add-mask::/'}
      - id: show
        name: show
        run: |
          cat given; cat given >&2; printf "$(cat given)"; base64 given
          echo "key=$(cat given)" >>"$GITHUB_OUTPUT"
          echo "# $(cat given)" >>"$GITHUB_STEP_SUMMARY"
          echo "::error title=$(cat given),file=$(cat given)::$(cat given)"
          echo "::warning::$(cat given)"
          echo "S=$(cat given)" >>"$GITHUB_ENV"
          echo "::add-matcher::$(cat given)"
          sh -c 'sleep 60; true' "$(cat given)" >/dev/null 2>&1 &
          until grep -q 'sleep 60' /proc/$!/cmdline; do sleep 0.01; done
      - {name: 'a name of ${{ env.S }}', run: 'true'}
      - {name: place, if: always(), run: pwd, working-directory: 'no/${{ env.S }}'}
      - {name: expression, if: always(), run: "echo '${{ fromJSON(env.S) }}'"}
      - {name: shell, if: always(), run: 'no-$S', shell: bash}
      - {name: bad file, if: always(), run: 'echo "$S" >>$GITHUB_ENV'}
      - {name: tail, if: always(), run: 'echo $S; exit 1'}
    """,
        job="outputs: {s: '${{ steps.show.outputs.key }}', t: plain}",
        files={"given": HIDDEN},
    )
    (cell.workspace / "given").unlink()
    assert HIDDEN not in ran.files()
    assert ran.printed("show")[0] == "***"
    assert ran.summary == "# ***\n\n"
    assert ran["show"].outcome == "success"
    assert [step.name for step in ran.result.steps][2] == "a name of ***"
    assert ran["tail"].tail.endswith("***\n")
    assert ran.result.outputs == {"s": "", "t": "plain"}
    assert "output s may hold a secret, and is left empty" in ran.result.notes
    error = next(one for one in ran.result.annotations if one.title)
    assert (error.title, error.file, error.message) == ("***", "***", "***")
    assert "problem matcher *** is not applied" in ran.result.notes
    assert any(
        n.startswith("left running by show: sh -c sleep 60; true ***") for n in ran.result.notes
    )


def test_each_line_of_a_masked_text_is_masked(cell: RunCell) -> None:
    ran = cell(
        """
      - run: echo "::add-mask::$(sed ':a;N;$!ba;s/\\n/%0A/g' given)"
      - {name: show, run: 'cat given; tac given; cat given >>$GITHUB_STEP_SUMMARY; echo "::notice::$(sed -n 2p given)"'}
    """,
        files={"given": "\n".join(MULTI) + "\n"},
    )
    (cell.workspace / "given").unlink()
    assert set(ran.printed("show")) == {"***", "##[notice]***"}
    assert not any(line in ran.files() for line in MULTI)


def test_what_was_printed_before_is_shown(cell: RunCell) -> None:
    ran = cell("- {name: a, run: 'echo early-$((1+1)); echo ::add-mask::early-2; echo early-2'}")
    assert ran.printed("a") == ["early-2", "***"]


def test_a_mask_in_pieces_of_output_holds(cell: RunCell) -> None:
    ran = cell(
        "- run: echo '::add-mask::in-two-pieces'\n"
        "- {name: a, run: 'printf in-two; sleep 0.2; echo -pieces'}"
    )
    assert ran.printed("a") == ["***"]
