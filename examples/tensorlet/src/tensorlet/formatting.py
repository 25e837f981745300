"""Rows and numbers as text; needs no extension module."""

from collections.abc import Sequence


def number(value: float, digits: int = 4) -> str:
    """
    Write a number with as few characters as it needs.

    Parameters
    ----------
    value : float
        The number.
    digits : int, optional
        How many significant digits to keep.

    Returns
    -------
    str
        The number, without a fraction where it has none.
    """
    if digits < 1:
        raise ValueError(f"digits must be at least 1, not {digits}")
    text = f"{value:.{digits}g}"
    return "0" if text == "-0" else text


def row(values: Sequence[float], *, limit: int = 8, digits: int = 4) -> str:
    """
    Write a row of numbers, leaving out the middle of a long one.

    Parameters
    ----------
    values : sequence of float
        The row.
    limit : int, optional
        The most elements to show.
    digits : int, optional
        How many significant digits to keep.

    Returns
    -------
    str
        The elements between square brackets.
    """
    if limit < 2:
        raise ValueError(f"limit must be at least 2, not {limit}")
    texts = [number(value, digits) for value in values]
    if len(texts) > limit:
        head, tail = limit - limit // 2, limit // 2
        texts = [*texts[:head], "...", *texts[-tail:]]
    return f"[{' '.join(texts)}]"
