"""Parameters and names, also where scikit-learn is not installed."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import stonet


def test_parameters_are_kept_and_told() -> None:
    head = stonet.PostStoNetRegressor(0.8, interval="fast")
    assert repr(head) == "PostStoNetRegressor(level=0.8, interval='fast')"
    assert head.set_params(folds=3, level=0.9) is head
    assert repr(head) == "PostStoNetRegressor(interval='fast', folds=3)"
    assert stonet.PostStoNetRegressor(**head.get_params()).get_params() == head.get_params()
    with pytest.raises(ValueError, match="Invalid parameter 'fold'"):
        head.set_params(fold=3)
    assert repr(pickle.loads(pickle.dumps(head))) == repr(head)


def test_what_is_not_fitted_says_so() -> None:
    x = np.zeros((3, 2))
    for head in (stonet.PostStoNetRegressor(), stonet.CQR(), stonet.PostStoNetClassifier(), stonet.VectorScaling()):
        # Both, as scikit-learn's own error is.
        for kind in (ValueError, AttributeError):
            with pytest.raises(kind, match="not fitted yet"):
                head.predict(x)
        assert not hasattr(head, "coef_")


def test_notebooks_show_parameters_and_state(regression: Any) -> None:
    head = stonet.PostStoNetRegressor(interval="fast", settings={"<b>": "&"})
    page = head._repr_html_()
    assert "not fitted" in page and "&lt;b&gt;" in page and "<b>'" not in page and len(page) < 4000
    assert all(f"<td style='text-align:left'>{name}</td>" in page for name in head.get_params())
    head = stonet.SplitConformal().fit(*regression)
    assert "not fitted" not in head._repr_html_() and "fitted" in head._repr_html_()
    wide = stonet.PostStoNetRegressor(kappa=list(range(10_000)))
    assert len(wide._repr_html_()) < 4000


def test_modules_are_there_when_asked_for() -> None:
    assert stonet.torch.features.__module__ == "stonet.torch"
    assert stonet.plot.__name__ == "stonet.plot"
    assert set(stonet.__all__) <= set(dir(stonet))
    with pytest.raises(AttributeError, match="has no attribute 'keras'"):
        stonet.keras  # noqa: B018
