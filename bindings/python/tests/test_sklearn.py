"""scikit-learn's own checks, and the ways in which its users put estimators together."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
import pytest

import stonet

pytest.importorskip("sklearn", minversion="1.6")

import joblib
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

# A few steps are enough for conventions; results are judged elsewhere.
QUICK = {"stonet": {"steps": 60}}
SKIP = {"skip": {"hidden": 8, "asghmc": {"epochs": 20}}}

# Temperature, vector, matrix and isotonic calibration are not here: they take one logit per class, and the checks give any
# number of features. They have all but `_name` in common with PostLinear, which is.
ESTIMATORS: list[Any] = [
    stonet.PostStoNetRegressor(interval="fast"),
    stonet.PostStoNetRegressor(hidden=(4,), folds=3, kappa=0.01, settings=QUICK),
    stonet.PostStoNetRegressor(interval="cv", hidden=(4,), folds=3, kappa=[0.01, 0.05], settings=QUICK),
    stonet.PostStoNetClassifier(settings=SKIP),
    stonet.PostStoNetClassifier(method="post-linear", kind="features"),
    stonet.PostLinear(),
    stonet.LastLayerLaplace(),
    stonet.PostLinearRegressor(),
    stonet.RefitConformal(settings={"network": {"steps": 500}}),
    stonet.CQR(settings={"network": {"steps": 500}}),
    stonet.SplitConformal(prediction_column=0),
    stonet.NormalisedConformal(prediction_column=0),
]

# By estimator: the check and why it cannot be met.
OWN = "its predictions are column 0 of X, the network's own, and in this check that column knows nothing of y"
EXCLUDED: dict[str, dict[str, str]] = {
    "SplitConformal": {"check_regressors_train": OWN},
    "NormalisedConformal": {"check_regressors_train": OWN},
}


def excluded(estimator: Any) -> dict[str, str]:
    return EXCLUDED.get(type(estimator).__name__, {})


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=excluded)
def test_conventions(estimator: Any, check: Any) -> None:
    check(estimator)


def test_a_pipeline_and_a_grid_carry_the_networks_prediction(regression: Any) -> None:
    x = np.column_stack([regression.features, regression.prediction])
    head = stonet.PostStoNetRegressor(interval="fast", prediction_column=-1)
    line = make_pipeline(StandardScaler(), head)
    assert cross_val_score(line, x, regression.y, cv=3).mean() > 0.5
    grid = GridSearchCV(
        head, {"folds": [3, 5], "interval": ["fast", "split"], "settings": [{"learned_scale": False}]}, cv=2
    )
    grid.set_params(estimator__hidden=(3,), estimator__kappa=0.05)
    grid.fit(x, regression.y)
    best = grid.best_estimator_
    assert best._head.needs_prediction() and best.predict_interval(x)[1].shape == (400, 2, 1)
    # The same as an argument.
    beside = (
        clone(best).set_params(prediction_column=None).fit(regression.features, regression.y, regression.prediction)
    )
    np.testing.assert_array_equal(beside.predict(regression.features, regression.prediction), best.predict(x))


def test_clones_are_unfitted_and_equal() -> None:
    for estimator in ESTIMATORS:
        copy = clone(estimator)
        assert copy.get_params() == estimator.get_params() and not hasattr(copy, "_head")
        assert is_regressor(copy) != is_classifier(copy)


def test_pickle_and_joblib_keep_everything(regression: Any, classes: Any) -> None:
    x, y, d = regression
    fits = [
        stonet.PostStoNetRegressor(interval="fast").fit(x, y, d),
        stonet.PostStoNetRegressor(interval="cv", hidden=(4,), folds=3, settings=QUICK).fit(x, y),
        *(b().fit(x, y, d) for b in (stonet.SplitConformal, stonet.NormalisedConformal, stonet.LastLayerLaplace)),
        *(b().fit(x, y, d) for b in (stonet.PostLinearRegressor, stonet.RefitConformal, stonet.CQR)),
    ]
    for fit in fits:
        file = io.BytesIO()
        joblib.dump(fit, file)
        file.seek(0)
        for copy in (pickle.loads(pickle.dumps(fit)), joblib.load(file)):
            for a, b in zip(fit.predict_interval(x, d), copy.predict_interval(x, d), strict=True):
                np.testing.assert_array_equal(a, b)
    head = stonet.PostStoNetClassifier(method="vector", sets="split", intervals=True).fit(*classes)
    copy = pickle.loads(pickle.dumps(head))
    for ask in ("predict_proba", "predict_proba_interval", "predict_set"):
        for a, b in zip(getattr(head, ask)(classes.logits), getattr(copy, ask)(classes.logits), strict=True):
            np.testing.assert_array_equal(a, b)
    assert copy.guarantee() == head.guarantee() and copy.trust_ == head.trust_
