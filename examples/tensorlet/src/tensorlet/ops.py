"""Arithmetic on rows of numbers; the loops run in C++."""

from collections.abc import Sequence

from tensorlet import _kernels


def add(a: Sequence[float], b: Sequence[float]) -> list[float]:
    """
    Add two rows, element by element.

    Parameters
    ----------
    a, b : sequence of float
        The rows; they have the same length.

    Returns
    -------
    list of float
        The sums.

    Raises
    ------
    ValueError
        Where the lengths differ.
    """
    return _kernels.add(a, b)


def scale(a: Sequence[float], factor: float) -> list[float]:
    """
    Multiply each element of a row.

    Parameters
    ----------
    a : sequence of float
        The row.
    factor : float
        What to multiply by.

    Returns
    -------
    list of float
        The products.
    """
    return _kernels.scale(a, factor)


def clip(a: Sequence[float], low: float, high: float) -> list[float]:
    """
    Move each element of a row into an interval.

    Parameters
    ----------
    a : sequence of float
        The row.
    low, high : float
        The ends of the interval.

    Returns
    -------
    list of float
        The elements, none below `low` and none above `high`.

    Raises
    ------
    ValueError
        Where `low` is above `high`.
    """
    if low > high:
        raise ValueError(f"low must not be above high: {low} > {high}")
    return _kernels.clip(a, low, high)


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    """
    Sum up the products of two rows.

    Parameters
    ----------
    a, b : sequence of float
        The rows; they have the same length.

    Returns
    -------
    float
        The sum; 0.0 for empty rows.

    Raises
    ------
    ValueError
        Where the lengths differ.
    """
    return _kernels.dot(a, b)
