"""User arrays converted to numeric arrays, with error messages in the wording of scikit-learn."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arguments as arguments
from . import _core
from ._compat import outside, warn_of_conversion

Matrix = NDArray[np.float64]

# What is read where it lies, in any layout.
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
# What pandas calls the index of a frame that was written and read again.
_ROW_NUMBERS = re.compile(r"Unnamed: 0(\.\d+)*|__index_level_\d+__")


def refuse_sparse(values: Any, name: str) -> None:
    """Raise TypeError where values are a sparse matrix."""
    if hasattr(values, "toarray") and hasattr(values, "nnz"):
        raise TypeError(
            f"Sparse data was passed for {name}, but dense data is required. "
            "Use '.toarray()' to convert to a dense numpy array."
        )


def numbers(values: Any, name: str) -> NDArray[Any]:
    """Return an array of numbers, of whatever type they are."""
    refuse_sparse(values, name)
    array = np.asarray(values)
    if np.iscomplexobj(array):
        raise ValueError(f"Complex data not supported\n{array}\n")
    if array.dtype.kind not in "fiubO":
        raise ValueError(
            f"{name} holds {array.dtype} and not numbers; dtype='numeric' is not compatible with arrays of bytes, "
            "strings or dates. Encode or leave out such columns."
        )
    if array.dtype == object and any(np.iscomplexobj(v) for v in array.flat):
        raise ValueError(f"Complex data not supported\n{array}\n")
    return array


def _array(values: Any, name: str, plain: bool = True) -> NDArray[Any]:
    array = values if type(values) is np.ndarray and values.dtype in _FLOATS else numbers(values, name)
    if not plain and array.dtype in _FLOATS and array.flags.aligned:
        return array
    # Row by row and 8 bytes a number: whatever comes, results are the same. What is so already is not copied.
    return np.ascontiguousarray(array, dtype=np.float64) if array.ndim else array


def refuse_nonfinite(array: NDArray[Any], name: str) -> None:
    """Raise ValueError that names the first NaN or infinity."""
    if _core.finite(array):
        return
    bad = np.argwhere(~np.isfinite(array))
    place = ", ".join(f"{axis} {int(i)}" for axis, i in zip(("row", "column"), bad[0], strict=False))
    nan = bool(np.isnan(array[tuple(bad[0])]))
    what = "NaN" if nan else f"infinity or a value too large for {array.dtype!r}"
    raise ValueError(f"Input {name} contains {what}.\nIt is in {place} (from 0); remove or impute such rows.")


def matrix(values: Any, name: str = "X", min_rows: int = 1, min_columns: int = 1, plain: bool = True) -> Matrix:
    """Return rows of finite numbers; copied only where they are not so already.

    They have 64 bits and lie row by row in memory, unless `plain` is false: then floats of 32 bits and any layout stay
    as they are.
    """
    array = _array(values, name, plain)
    if array.ndim == 0:
        raise ValueError(f"Expected 2D array, got scalar array instead:\narray={array}.")
    if array.ndim == 1:
        raise ValueError(
            f"Expected 2D array, got 1D array instead:\narray={array}.\nReshape your data either using "
            "array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it contains a "
            "single sample."
        )
    if array.ndim > 2:
        raise ValueError(f"Found array with dim {array.ndim}, while dim <= 2 is required.")
    for count, what, least in ((array.shape[0], "sample", min_rows), (array.shape[1], "feature", min_columns)):
        if count < least:
            raise ValueError(
                f"Found array with {count} {what}(s) (shape={array.shape}) while a minimum of {least} is required."
            )
    refuse_nonfinite(array, name)
    return array


def beside(features: Any, rows: int, plain: bool = True) -> Matrix | None:
    """Return the features beside so many rows of a network's outputs, where they are given."""
    if features is None:
        return None
    values = matrix(features, "features", plain=plain)
    same_rows(rows, len(values))
    return values


def predictions(prediction: Any, min_rows: int = 1, plain: bool = True, name: str = "prediction") -> Matrix:
    """Return what the network says itself, such as its predictions, rows × outputs."""
    values = np.asarray(prediction)
    return matrix(values.reshape(-1, 1) if values.ndim == 1 else values, name, min_rows, plain=plain)


def weights(sample_weight: Any, rows: int) -> NDArray[np.float64]:
    """Return a weight per row; 1 for each if none are given."""
    if sample_weight is None:
        return np.ones(rows)
    array = _array(sample_weight, "sample_weight")
    if array.shape != (rows,):
        raise ValueError(f"sample_weight has shape {array.shape}; it must be ({rows},)")
    refuse_nonfinite(array, "sample_weight")
    if (array < 0).any() or not array.any():
        raise ValueError("sample_weight must not be negative, and not all of it zero")
    return array


def targets(y: Any, estimator: object, rows: int) -> tuple[Matrix, bool]:
    """Return the targets, rows × outputs, and whether they came as one column alone."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )
    array = _array(y, "y")
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2:
        raise ValueError(f"y should be a 1d or 2d array, got an array of shape {np.shape(y)} instead.")
    same_rows(rows, len(array))
    refuse_nonfinite(array, "y")
    return array, array.shape[1] == 1


def classes(y: Any, estimator: object, rows: int) -> NDArray[Any]:
    """Return a class per row."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )
    refuse_sparse(y, "y")
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        warn_of_conversion(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
            "(n_samples,), for example using ravel()."
        )
        array = array.ravel()
    if array.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {array.shape} instead.")
    same_rows(rows, len(array))
    if np.iscomplexobj(array):
        raise ValueError(f"Complex data not supported\n{array}\n")
    if array.dtype.kind == "f":
        refuse_nonfinite(array.astype(np.float64), "y")
        if np.any(array != np.floor(array)):
            raise ValueError(
                "Unknown label type: continuous. Maybe you are trying to fit a classifier, which expects discrete "
                "classes on a regression target with continuous values."
            )
    if array.dtype == object:
        missing = [i for i, v in enumerate(array) if v is None or v != v]
        if missing:
            raise ValueError(f"Input y contains NaN.\nIt is in row {missing[0]} (from 0); remove such rows.")
    return array


def same_rows(*counts: int) -> None:
    """Raise ValueError where numbers of rows differ."""
    if len(set(counts)) > 1:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {list(counts)}")


def column_names(values: Any) -> list[str] | None:
    """Return the names of the columns of a frame, where all are texts."""
    columns = getattr(values, "columns", None)
    if columns is None or callable(columns):
        return None
    names = list(columns)
    kinds = sorted({type(n).__name__ for n in names})
    if not names or "str" not in kinds:
        return None
    if kinds != ["str"]:
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your input has "
            f"{kinds} as feature name / column name types. If you want feature names to be stored and validated, "
            "you must convert them all to strings, by using X.columns = X.columns.astype(str) for example. "
            "Otherwise you can remove feature / column names from your input data, or convert them all to a "
            "non-string data type."
        )
    return names


def warn_of_row_numbers(values: Any, name: str) -> None:
    """Warn where columns of a frame are the index of a frame that was written before."""
    for column in column_names(values) or []:
        if _ROW_NUMBERS.fullmatch(column):
            warnings.warn(
                f"column {column!r} of {name} is used, but by its name it holds row numbers, which mean nothing for new rows; "
                "leave it out, such as by index_col=0 in pandas.read_csv, or rename it",
                UserWarning,
                stacklevel=outside(),
            )


def shown(label: Any) -> str:
    """Return a label as its user wrote it: 0 and not np.int64(0)."""
    return repr(label.item() if isinstance(label, (np.number, np.bool_, np.str_, np.bytes_)) else label)


def remember_columns(estimator: Any, X: Any, columns: int) -> None:
    """Keep number and names of the columns of X."""
    names = column_names(X)
    warn_of_row_numbers(X, "X")
    if names is not None:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    estimator.n_features_in_ = columns


def check_columns(estimator: Any, X: Any, columns: int) -> None:
    """Raise ValueError unless X has the columns that were fitted on."""
    name = type(estimator).__name__
    seen = getattr(estimator, "feature_names_in_", None)
    given = column_names(X)
    if seen is not None and given is None:
        warnings.warn(
            f"X does not have valid feature names, but {name} was fitted with feature names",
            UserWarning,
            stacklevel=outside(),
        )
    elif seen is None and given is not None:
        warnings.warn(
            f"X has feature names, but {name} was fitted without feature names", UserWarning, stacklevel=outside()
        )
    elif seen is not None and given is not None and list(seen) != given:
        raise ValueError(_other_names(list(seen), given))
    if columns != estimator.n_features_in_:
        raise ValueError(
            f"X has {columns} features, but {name} is expecting {estimator.n_features_in_} features as input."
        )


def _other_names(seen: Sequence[str], given: Sequence[str]) -> str:
    text = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(given) - set(seen)), sorted(set(seen) - set(given))

    def listed(names: Sequence[str]) -> str:
        shown = "".join(f"- {n}\n" for n in names[:5])
        return shown + ("- ...\n" if len(names) > 5 else "")

    if unseen:
        text += "Feature names unseen at fit time:\n" + listed(unseen)
    if missing:
        text += "Feature names seen at fit time, yet now missing:\n" + listed(missing)
    if not unseen and not missing:
        text += "Feature names must be in the same order as they were in fit.\n"
    return text


def levels(confidence_level: Any, default: float) -> list[float]:
    """Return the levels that are asked for, in their order."""
    if confidence_level is None:
        return [arguments.level("level", default)]
    return arguments.levels("confidence_level", confidence_level)
