"""Expands a matrix into its cells, as GitHub does (actions/runner: MatrixBuilder.cs, WorkflowTemplateConverter.cs)."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, Final

import msgspec

from presubmit.upstream.expressions.values import equals, find, fold, to_string

if TYPE_CHECKING:
    from collections.abc import Iterator

    from presubmit.upstream.nodes import Mark

_JOBS: Final = 256
"""Cells that one matrix may have (docs: "Workflow syntax", `jobs.<job_id>.strategy.matrix`)."""
_COMBINATIONS: Final = 65536
"""What is looked at before `exclude`; GitHub gives up by memory."""


class MatrixError(Exception):
    """A matrix that GitHub refuses; `path` leads to what is wrong: `("exclude", 0, "os")`."""

    def __init__(
        self, message: str, path: tuple[str | int, ...] = (), mark: Mark | None = None
    ) -> None:
        super().__init__(message)
        self.path = path
        self.mark = mark


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One combination."""

    values: dict[str, Any]
    """The `matrix` context, with what `include` adds."""
    axes: dict[str, Any]
    """What the combination is named by: the axes, or all keys of an `include` that made the cell."""
    job_index: int
    job_total: int


class Expanded(msgspec.Struct, frozen=True, kw_only=True):
    """The cells of a matrix in GitHub's order: the last axis is the fastest, cells of `include` come last."""

    cells: tuple[Cell, ...]
    """None at all where `exclude` leaves none."""


class _Include(msgspec.Struct, frozen=True):
    """One item of `include`: what must match, and what is added then."""

    condition: dict[str, Any]
    extra: dict[str, Any]


def expand(matrix: Any, *, mark: Mark | None = None) -> Expanded:  # noqa: ANN401 - JSON's types
    """Expand an evaluated matrix; raises MatrixError for one that GitHub refuses."""
    try:
        combinations = list(itertools.islice(_combinations(matrix), _JOBS + 1))
    except MatrixError as error:
        raise MatrixError(str(error), error.path, mark) from None
    if len(combinations) > _JOBS:
        raise MatrixError(f"the matrix makes more than {_JOBS} jobs", (), mark)
    cells = [
        Cell(values=values, axes=axes, job_index=index, job_total=len(combinations))
        for index, (values, axes) in enumerate(combinations)
    ]
    return Expanded(cells=tuple(cells))


def _combinations(matrix: object) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Give the values and the axes of each cell."""
    if not isinstance(matrix, dict):
        raise MatrixError(f"a matrix is a mapping, not {_kind(matrix)}")
    axes = _axes(matrix)
    includes = list(_includes(matrix, axes))
    excludes = list(_excludes(matrix, axes))
    if not axes and not includes:
        raise MatrixError("a matrix must define at least one axis, or `include`")
    used = [False] * len(includes)
    for values in itertools.product(*axes.values()) if axes else ():
        combination = dict(zip(axes, values, strict=True))
        if any(_matches(combination, condition) for condition in excludes):
            continue
        extra: dict[str, Any] = {}
        for index, include in enumerate(includes):
            if _matches(combination, include.condition):
                used[index] = True
                for key, value in include.extra.items():
                    # A later item overwrites what an earlier one added, never an axis.
                    extra[_known(extra, key)] = value
        yield combination | extra, combination
    for include, was_used in zip(includes, used, strict=True):
        if not was_used:
            whole = include.condition | include.extra
            yield whole, whole


def _axes(matrix: dict[str, Any]) -> dict[str, list[Any]]:
    axes: dict[str, list[Any]] = {}
    for key, values in matrix.items():
        if key in {"include", "exclude"}:
            continue
        if not isinstance(values, list):
            raise MatrixError(f"axis {key} is a list of values, not {_kind(values)}", (key,))
        if not values:
            raise MatrixError(f"axis {key} has no values", (key,))
        if find(axes, key)[0]:
            raise MatrixError(f"axis {key} is there twice, apart from its letter case", (key,))
        axes[key] = values
    if math.prod(map(len, axes.values())) > _COMBINATIONS:
        raise MatrixError(f"the matrix has more than {_COMBINATIONS} combinations")
    return axes


def _includes(matrix: dict[str, Any], axes: dict[str, Any]) -> Iterator[_Include]:
    for _, item in _items(matrix, "include"):
        condition: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for key, value in item.items():
            (condition if find(axes, key)[0] else extra)[key] = value
        yield _Include(condition, extra)


def _excludes(matrix: dict[str, Any], axes: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for index, item in _items(matrix, "exclude"):
        for key in item:
            if not find(axes, key)[0]:
                raise MatrixError(
                    f"exclude names {key}, which is no axis", ("exclude", index, key)
                )
        yield item


def _items(matrix: dict[str, Any], key: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give the mappings of `include` or `exclude`."""
    items = matrix.get(key, [])
    if not isinstance(items, list):
        raise MatrixError(f"{key} is a list of mappings, not {_kind(items)}", (key,))
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            raise MatrixError(f"{key} is a list of mappings, not of {_kind(item)}", (key, index))
        if not item:
            raise MatrixError(f"an item of {key} is empty", (key, index))
        yield index, item


def _matches(value: object, wanted: object) -> bool:
    """Whether every leaf of `wanted` equals, by `==`, what stands at the same place."""
    if isinstance(wanted, dict):
        return all(_matches(_at(value, key), inner) for key, inner in wanted.items())
    if isinstance(wanted, list):
        return all(_matches(_at(value, index), inner) for index, inner in enumerate(wanted))
    return equals(value, wanted)


def _at(value: object, key: str | int) -> object:
    """Index as an expression does: what is not there is null."""
    if isinstance(value, dict):
        return find(value, to_string(key))[1]
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        return value[key]
    return None


def _known(there: dict[str, Any], key: str) -> str:
    """Give the key as it is already written, in whatever letter case."""
    return next((name for name in there if fold(name) == fold(key)), key)


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return f"the text {value!r}"
        case _:
            return to_string(value)
