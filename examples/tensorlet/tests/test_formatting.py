import pytest

from tensorlet import formatting


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (-0.0, "0"), (0.1 + 0.2, "0.3"), (1234567.0, "1.235e+06")],
)
def test_a_number_takes_as_few_characters_as_it_needs(value, text):
    assert formatting.number(value) == text


def test_a_number_keeps_the_digits_that_are_asked_for():
    assert formatting.number(3.14159, digits=2) == "3.1"


def test_a_number_without_digits_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        formatting.number(1.0, digits=0)


def test_a_row_stands_between_brackets():
    assert formatting.row([1.0, 2.5]) == "[1 2.5]"


def test_a_long_row_loses_its_middle():
    assert formatting.row(range(9), limit=4) == "[0 1 ... 7 8]"


def test_a_row_as_long_as_the_limit_is_whole():
    assert formatting.row(range(4), limit=4) == "[0 1 2 3]"


def test_a_limit_below_two_is_refused():
    with pytest.raises(ValueError, match="at least 2"):
        formatting.row([1.0], limit=1)
