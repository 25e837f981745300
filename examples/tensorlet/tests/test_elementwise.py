import math

import pytest

from tensorlet import ops


def test_add_gives_the_sums():
    assert ops.add([1.0, 2.0, 3.0], [10.0, 20.0, 30.0]) == [11.0, 22.0, 33.0]


def test_add_takes_integers_and_tuples():
    assert ops.add((1, 2), [3, 4]) == [4.0, 6.0]


def test_add_of_nothing_is_nothing():
    assert ops.add([], []) == []


def test_add_refuses_rows_of_different_lengths():
    with pytest.raises(ValueError, match="3 and 2 elements"):
        ops.add([1.0, 2.0, 3.0], [1.0, 2.0])


@pytest.mark.parametrize("wrong", [None, 3.0, [1.0, "two"]])
def test_add_refuses_what_is_no_row_of_numbers(wrong):
    with pytest.raises(TypeError):
        ops.add([1.0, 2.0], wrong)


def test_scale_multiplies_each_element():
    assert ops.scale([1.0, 2.0, 3.0], 2.0) == [2.0, 4.0, 6.0]


def test_scale_by_minus_one_turns_the_signs():
    assert ops.scale([1.0, -2.0, 3.0, -4.0, 5.0], -1.0) == [-1.0, 2.0, -3.0, 4.0, -5.0]


def test_scale_by_zero_gives_zeros():
    assert ops.scale([1.0, 2.0, 3.0, 4.0], 0.0) == [0.0] * 4


def test_scale_of_nothing_is_nothing():
    assert ops.scale([], 2.0) == []


def test_scale_leaves_its_argument_alone():
    row = [1.0, 2.0, 3.0, 4.0]
    ops.scale(row, 10.0)
    assert row == [1.0, 2.0, 3.0, 4.0]


def test_scale_refuses_a_factor_that_is_no_number():
    with pytest.raises(TypeError):
        ops.scale([1.0], "2")


def test_clip_moves_elements_into_the_interval():
    assert ops.clip([-2.0, 0.5, 7.0], 0.0, 1.0) == [0.0, 0.5, 1.0]


def test_clip_takes_an_interval_of_one_number():
    assert ops.clip([-2.0, 0.5, 7.0], 1.0, 1.0) == [1.0, 1.0, 1.0]


def test_clip_lets_a_nan_through():
    assert math.isnan(ops.clip([math.nan], 0.0, 1.0)[0])


def test_clip_refuses_an_empty_interval():
    with pytest.raises(ValueError, match="low must not be above high"):
        ops.clip([1.0], 2.0, 1.0)
