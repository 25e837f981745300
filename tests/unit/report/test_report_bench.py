"""A comparison as the terminal and report.md show it."""

from __future__ import annotations

from typing import Any

from presubmit.bench.values import (
    Adapter,
    Bench,
    Broken,
    Clock,
    Comparison,
    Counted,
    Interval,
    Machine,
    Measured,
    Result,
    SideFacts,
    Word,
)
from presubmit.report.bench import (
    closing,
    comparison_lines,
    heading,
    points_of,
    render_comparison,
    strip,
)
from presubmit.report.bench_plot import render_plot
from presubmit.values import BenchSettings


def result(name: str, word: Word, ratio: float, **facts: Any) -> Result:
    plain: dict[str, Any] = {
        "bench": Bench(id=name, adapter=Adapter.ASV, root="b", file="b/ops.py"),
        "word": word,
        "clock": Clock.CPU,
        "base": 100e-6,
        "head": 100e-6 * ratio,
        "interval": Interval(ratio=ratio, low=ratio - 0.02, high=ratio + 0.02, level=0.9842),
        "log_ratios": (0.05, 0.06, 0.05, 0.04, 0.05, 0.05, 0.06),
    }
    return Result(**{**plain, **facts})


def comparison(
    *results: Result, measured: dict[str, Any] | None = None, **facts: Any
) -> Comparison:
    usual: dict[str, Any] = {
        "results": results,
        "seconds": 74.0,
        "pair_sd": 0.02,
        "wall_over_cpu": 2.0,
    }
    plain: dict[str, Any] = {
        "base": SideFacts(commit="a" * 40),
        "head": SideFacts(commit="b" * 40, dirty=True),
        "machine": Machine(cores=2, load=6.0),
        "settings": BenchSettings(),
        "considered": 41,
        "measured": Measured(**{**usual, **(measured or {})}),
    }
    return Comparison(**{**plain, **facts})


def test_the_heading_says_what_by_which_clock_and_how_noisy() -> None:
    """Trap 7: of a tree with uncommitted changes that is said."""
    assert heading(comparison(result("x", Word.SAME, 1.0))) == (
        "bench  base aaaaaaa head bbbbbbb+dirty   clock cpu   load 6.0 on 2 cores, wall/cpu 2.0:"
        " smallest change seen ~2%"
    )
    clean = comparison(
        head=SideFacts(commit="b" * 40), measured={"pair_sd": None, "wall_over_cpu": None}
    )
    assert heading(clean) == "bench  base aaaaaaa head bbbbbbb   load 6.0 on 2 cores"
    assert "against itself" in heading(comparison(self_test=True))


def test_what_matters_comes_first_and_same_last() -> None:
    lines = [
        text
        for text, _ in comparison_lines(
            comparison(
                result("same", Word.SAME, 1.0),
                result("gain", Word.FASTER, 0.8),
                result("less", Word.SLOWER, 1.06, confirmed=True),
                result("more", Word.SLOWER, 1.5, confirmed=True),
                result("open", Word.UNSURE, 1.02, needed=60),
            )
        )
    ]
    names = [line.split()[0] for line in lines[2:] if not line.startswith("    ")]
    assert names[:5] == ["more", "less", "open", "gain", "same"]
    assert lines[-1] == (
        "5 of 41 benchmarks can reach the change; 2 slower, 1 faster, 1 same, 1 unsure; 74 s"
    )


def test_what_has_no_row_is_named() -> None:
    lines = [
        text
        for text, _ in comparison_lines(
            comparison(
                measured={
                    "broken": (
                        Broken(id="crash", side="head", error="Traceback\nValueError: no\n"),
                        Broken(id="old", side="base", error="x"),
                    ),
                    "unmeasured": tuple(f"late{n}" for n in range(7)),
                    "stopped": "budget",
                },
                new=("fresh",),
                removed=("b/gone.py",),
            )
        )
    ]
    assert "failed on head: crash: ValueError: no" in lines
    assert "new, nothing to compare with: fresh" in lines
    assert "removed: b/gone.py" in lines
    assert "not measured: late0, late1, late2, late3, late4 and 2 more" in lines
    assert not any("old" in line for line in lines)
    assert lines[-1].endswith("; stopped: budget")


def test_what_valgrind_does_not_show_is_said() -> None:
    """Trap 10: valgrind 3.19 hides AVX-512, so other kernels than the real processor's run in it."""
    by_valgrind = result(
        "x", Word.SAME, 1.0, instructions=Counted(base=1.0, head=1.0, tool="valgrind 3.19")
    )
    by_perf = result("x", Word.SAME, 1.0, instructions=Counted(base=1.0, head=1.0, tool="perf"))
    said = [text for text, _ in comparison_lines(comparison(by_valgrind))]
    assert any(
        text.startswith("instructions by valgrind 3.19: it shows no AVX-512") for text in said
    )
    assert not any("AVX" in text for text, _ in comparison_lines(comparison(by_perf)))


def test_pairs_are_drawn_on_one_line_around_no_change() -> None:
    drawn = strip(result("x", Word.SLOWER, 1.05, log_ratios=(0.09531, 0.09531, -0.04879)))
    assert drawn == f"-10% {' ' * 10}.{' ' * 9}|{' ' * 19}* +10%"
    assert strip(result("x", Word.UNSURE, 1.0, log_ratios=())) == ""


def test_the_report_folds_all_but_the_news_and_escapes_names() -> None:
    text = render_comparison(
        comparison(
            result("a|b<script>", Word.SLOWER, 1.2, confirmed=True),
            result("quiet", Word.SAME, 1.0),
            skipped={"b/other.py": "the change does not reach it"},
        )
    )
    news, _, rest = text.partition("<details>")
    assert "quiet" not in news
    assert "quiet" in rest
    assert "<script>" not in text.replace("`a\\|b<script>`", "")
    assert "the change does not reach it" in rest


def test_only_a_comparison_of_two_trees_is_history() -> None:
    one = result("x", Word.SAME, 1.1)
    assert points_of(comparison(one)) == {"x": (100e-6 * 1.1, 1.1)}
    assert points_of(comparison(one, self_test=True)) == {}


def test_the_plot_is_one_svg_that_loads_nothing() -> None:
    text = render_plot(comparison(result('x"<y>&', Word.SLOWER, 1.2), result("z", Word.SAME, 1.0)))
    assert text.startswith("<svg")
    assert "<y>" not in text
    assert "href" not in text
    assert "url(" not in text


def test_a_comparison_of_nothing_has_a_last_line_all_the_same() -> None:
    assert closing(comparison(considered=0)).startswith("0 of 0 benchmarks")
