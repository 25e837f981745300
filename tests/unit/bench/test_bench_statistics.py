from __future__ import annotations

import itertools
import statistics

import pytest

from presubmit.bench.statistics import estimate, rank_of_bound, signed_rank_counts, walsh_averages

ALPHA = 0.0158

# scipy 1.17.1, numpy: the middle is `np.median(W)` of the Walsh averages W; for a theta between each two neighbours
# of W, `scipy.stats.wilcoxon(x - theta, method="exact").pvalue > 0.0158` says whether it is inside the interval.
SCIPY: tuple[tuple[tuple[float, ...], float, float | None, float | None], ...] = (
    ((-0.00604, -0.01649, 0.00503, 0.01841, 0.03272, 0.01219), 0.008115, None, None),
    (
        (-0.00105, -0.0057, 0.02497, 0.0427, 0.01546, -0.01467, -0.00917),
        0.0061775,
        -0.01467,
        0.0427,
    ),
    (
        (
            *(0.042, 0.01406, -0.02464, 0.00833, -0.01326, -0.00259, 0.00024, -0.00427),
            *(0.02107, 0.00874),
        ),
        0.004285,
        -0.01326,
        0.025165,
    ),
    (
        (
            *(-0.00179, 0.01819, 0.0266, -0.02286, 0.00487, -0.00961, 0.00654, -0.01579),
            *(0.01041, 0.00924, 0.00391, -0.01096, 0.00208),
        ),
        0.00208,
        -0.00961,
        0.012405,
    ),
    (
        (
            *(-0.01183, -0.0171, 0.0145, -0.01219, 0.03341, 0.02433, -0.02996, 0.01544),
            *(-0.01203, 0.01066, 0.01087, -0.02977, 0.00533, 0.00488, 0.02924, -0.01363),
            0.02476,
        ),
        0.001805,
        -0.01219,
        0.0176,
    ),
    (
        (
            *(-0.01198, 0.00337, -0.00681, 0.03897, 0.02136, 0.05863, 0.02284, 0.0269),
            *(0.02681, -0.00213, 0.0086, 0.03701, 0.00207, 0.01378, 0.00958, 0.02218),
            *(0.0027, 0.00695, 0.01485, 0.01206, -0.0073, 0.02792),
        ),
        0.01444,
        0.0051,
        0.024535,
    ),
)


@pytest.mark.parametrize(("pairs", "middle", "low", "high"), SCIPY)
def test_middle_and_interval_are_those_that_scipy_gives(
    pairs: tuple[float, ...], middle: float, low: float | None, high: float | None
) -> None:
    found = estimate(pairs, alpha=ALPHA)
    assert found.middle == pytest.approx(middle, abs=6e-7)
    assert (found.low, found.high) == (
        low if low is None else pytest.approx(low, abs=6e-7),
        high if high is None else pytest.approx(high, abs=6e-7),
    )


# scipy 1.17.1: `scipy.stats._wilcoxon.WilcoxonDistribution(10).cdf(k)` for k = 0 … 11, rounded to 6 digits.
CDF_10 = (
    *(0.000977, 0.001953, 0.00293, 0.004883, 0.006836, 0.009766),
    *(0.013672, 0.018555, 0.024414, 0.032227, 0.041992, 0.052734),
)


def test_the_null_distribution_is_the_one_that_scipy_gives() -> None:
    sums = itertools.accumulate(signed_rank_counts(10)[: len(CDF_10)])
    assert [round(ways / 2**10, 6) for ways in sums] == list(CDF_10)


@pytest.mark.parametrize("pairs", range(1, 11))
def test_the_null_distribution_counts_every_pattern_of_signs(pairs: int) -> None:
    counts = [0] * (pairs * (pairs + 1) // 2 + 1)
    for signs in itertools.product((0, 1), repeat=pairs):
        counts[sum(rank * sign for rank, sign in enumerate(signs, start=1))] += 1
    assert signed_rank_counts(pairs) == tuple(counts)


@pytest.mark.parametrize(
    ("pairs", "alpha", "rank"),
    [
        (1, ALPHA, 0),
        (6, ALPHA, 0),  # trap 1: 2/64 = .031, six pairs can never decide
        (7, ALPHA, 1),  # 2/128 = .0156: the least that can
        (10, ALPHA, 5),
        (5, 0.0625, 1),  # exactly the tail: 2/32
        (5, 0.0624, 0),
        (6, 0.05, 1),
    ],
)
def test_the_bound_is_the_innermost_average_with_enough_confidence(
    pairs: int, alpha: float, rank: int
) -> None:
    assert rank_of_bound(pairs, alpha=alpha) == rank


@pytest.mark.parametrize("pairs", range(1, 30))
def test_a_bound_never_has_a_larger_tail_than_alpha_and_the_next_one_has(pairs: int) -> None:
    rank = rank_of_bound(pairs, alpha=ALPHA)
    counts = signed_rank_counts(pairs)
    assert sum(counts[:rank]) / 2**pairs <= ALPHA / 2 < sum(counts[: rank + 1]) / 2**pairs


def test_seven_pairs_are_bounded_by_their_least_and_their_greatest() -> None:
    found = estimate([0.05, 0.01, 0.02, 0.03, 0.04, 0.06, 0.09], alpha=ALPHA)
    assert (found.low, found.high) == (0.01, 0.09)


def test_equal_differences_are_their_own_interval() -> None:
    found = estimate([0.0] * 7, alpha=ALPHA)
    assert (found.middle, found.low, found.high) == (0.0, 0.0, 0.0)


def test_ties_do_not_make_the_interval_narrower_than_their_spread() -> None:
    found = estimate([0.0] * 6 + [0.05], alpha=ALPHA)
    assert (found.middle, found.low, found.high) == (0.0, 0.0, 0.05)


def test_one_outlier_does_not_move_the_middle_far() -> None:
    calm = [0.001 * number for number in range(13)]
    assert estimate([*calm[:-1], 5.0], alpha=ALPHA).middle == pytest.approx(0.006, abs=0.001)


def test_no_differences_have_no_middle() -> None:
    with pytest.raises(statistics.StatisticsError):
        estimate([], alpha=ALPHA)


def test_walsh_averages_are_all_means_of_two_each_with_itself_too() -> None:
    assert walsh_averages([3.0, 1.0, 2.0]) == [1.0, 1.5, 2.0, 2.0, 2.5, 3.0]


@pytest.mark.parametrize("alpha", [0.0158, 0.3, 1.0])
def test_low_is_never_above_high(alpha: float) -> None:
    for pairs in range(1, 12):
        found = estimate([float(number * number) for number in range(pairs)], alpha=alpha)
        assert found.low is None or found.high is None or found.low <= found.middle <= found.high
