import pytest

from tensorlet import ops


def test_dot_sums_up_the_products():
    assert ops.dot([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]) == 32.0


def test_dot_of_nothing_is_zero():
    assert ops.dot([], []) == 0.0


def test_dot_takes_its_rows_in_either_order():
    a, b = [0.5, 1.5, 2.5], [4.0, 2.0, 1.0]
    assert ops.dot(a, b) == ops.dot(b, a)


def test_dot_of_a_row_with_itself_is_not_negative():
    assert ops.dot([-1.0, -2.0], [-1.0, -2.0]) == 5.0


def test_dot_refuses_rows_of_different_lengths():
    with pytest.raises(ValueError, match="1 and 2 elements"):
        ops.dot([1.0], [1.0, 2.0])
