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
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr
from sklearn.utils.estimator_checks import parametrize_with_checks

# A few steps are enough for conventions; results are judged elsewhere.
QUICK = {"stonet": {"steps": 60}}
SKIP = {"skip": {"hidden": 8, "asghmc": {"epochs": 20}}}

LOGITS: list[Any] = [
    stonet.TemperatureScaling(),
    stonet.VectorScaling(),
    stonet.MatrixScaling(),
    stonet.StructuredVectorScaling(),
    stonet.StructuredMatrixScaling(),
    stonet.MatrixScalingODIR(),
    stonet.IsotonicCalibration(),
]
# `CQROwn` and `NormalisedOwn` are not among them: their fit needs arguments that scikit-learn's checks do not give.
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
    *LOGITS,
]

# The checks that calibrators of logits cannot meet: X there does not have one column per class, and `fit` says so.
COLUMNS = "it takes one logit per class, and X of this check has another number of columns"
NOT_LOGITS = (
    "check_classifiers_classes",
    "check_classifiers_train",
    "check_dtype_object",
    "check_estimators_dtypes",
    "check_estimators_fit_returns_self",
    "check_estimators_nan_inf",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_fit2d_1feature",
    "check_n_features_in_after_fitting",
    "check_pipeline_consistency",
    "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
)
EXCLUDED: dict[str, dict[str, str]] = {type(e).__name__: dict.fromkeys(NOT_LOGITS, COLUMNS) for e in LOGITS}


def excluded(estimator: Any) -> dict[str, str]:
    return EXCLUDED.get(type(estimator).__name__, {})


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=excluded)
def test_conventions(estimator: Any, check: Any) -> None:
    check(estimator)


def test_calibrators_of_logits_name_what_the_excluded_checks_lack() -> None:
    x = np.random.default_rng(1).normal(size=(30, 5))
    for estimator in LOGITS:
        with pytest.raises(ValueError, match="one logit per class"):
            clone(estimator).fit(x, np.array(["a", "b", "c"] * 10))


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


def test_networks_with_heads_are_cloned(regression: Any) -> None:
    both = stonet.PostStoNet(np.tanh, interval="fast", task="regression").fit(regression.features, regression.y)
    copy = clone(both)
    assert copy.get_params() == both.get_params() and not hasattr(copy, "head_")
    np.testing.assert_array_equal(
        copy.fit(regression.features, regression.y).predict(regression.features), both.predict(regression.features)
    )


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
        own = d if fit._predicted else None
        for copy in (pickle.loads(pickle.dumps(fit)), joblib.load(file)):
            for a, b in zip(fit.predict_interval(x, own), copy.predict_interval(x, own), strict=True):
                np.testing.assert_array_equal(a, b)
    head = stonet.PostStoNetClassifier(method="vector", sets="split", intervals=True).fit(*classes)
    copy = pickle.loads(pickle.dumps(head))
    for ask in ("predict_proba", "predict_proba_interval", "predict_set"):
        for a, b in zip(getattr(head, ask)(classes.logits), getattr(copy, ask)(classes.logits), strict=True):
            np.testing.assert_array_equal(a, b)
    assert copy.guarantee() == head.guarantee() and copy.trust_ == head.trust_


@pytest.fixture
def routing() -> Any:
    with config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_pipelines_and_searches_route_predictions_and_groups(regression: Any) -> None:
    x, y, d = regression
    groups = np.repeat(np.arange(80), 5)
    head = stonet.PostStoNetRegressor(interval="fast")
    head.set_fit_request(prediction=True, groups=True).set_predict_request(prediction=True)
    head.set_score_request(prediction=True)
    line = make_pipeline(StandardScaler(), head)
    line.fit(x, y, prediction=d, groups=groups)
    scaled = StandardScaler().fit_transform(x)
    direct = stonet.PostStoNetRegressor(interval="fast").fit(scaled, y, d, groups)
    np.testing.assert_array_equal(line.predict(x, prediction=d), direct.predict(scaled, d))
    assert "80 groups" in line[-1].guarantee_.text
    assert line.score(x, y, prediction=d) == direct.score(scaled, y, d)
    # Splits never cut a group, and every part gets its own rows of the prediction.
    found = cross_validate(
        line, x, y, cv=GroupKFold(4), params={"prediction": d, "groups": groups}, return_estimator=True
    )
    for (train, test), fit, score in zip(
        GroupKFold(4).split(x, y, groups), found["estimator"], found["test_score"], strict=True
    ):
        scaler = StandardScaler().fit(x[train])
        want = stonet.PostStoNetRegressor(interval="fast").fit(
            scaler.transform(x[train]), y[train], d[train], groups[train]
        )
        assert score == want.score(scaler.transform(x[test]), y[test], d[test])
        assert fit[-1]._head.needs_prediction()
    grid = GridSearchCV(head, {"folds": [3, 5]}, cv=GroupKFold(4)).fit(x, y, prediction=d, groups=groups)
    assert grid.best_estimator_._metadata_request == head._metadata_request
    with pytest.raises(ValueError, match=r"prediction.* explicitly"):
        cross_validate(stonet.PostStoNetRegressor(interval="fast"), x, y, params={"prediction": d})
    with pytest.raises(TypeError):
        head.set_fit_request(sample_weight=True)  # type: ignore[call-arg]


@pytest.mark.usefixtures("routing")
def test_routing_of_classifiers_and_aliases(classes: Any) -> None:
    z, y = classes
    noise = np.random.default_rng(1).normal(size=(600, 2))
    sure = stonet.PostStoNetClassifier(method="temperature")
    sure.set_fit_request(features="hidden").set_predict_request(features="hidden")
    sure.set_predict_proba_request(features="hidden").set_score_request(features="hidden", sample_weight=True)
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    line = make_pipeline(scaler, sure).fit(z, y, hidden=noise)
    assert line.predict_proba(z, hidden=noise).shape == (600, 3)
    assert (
        cross_validate(line, z, y, params={"hidden": noise, "sample_weight": np.ones(600)})["test_score"].mean() > 0.4
    )
    copy = clone(sure)
    assert copy._metadata_request == sure._metadata_request and copy._metadata_request is not sure._metadata_request


def test_requests_need_routing_to_be_on() -> None:
    with pytest.raises(RuntimeError, match="enable_metadata_routing=True"):
        stonet.SplitConformal().set_fit_request(prediction=True)


def test_scikit_learn_draws_our_estimators() -> None:
    page = estimator_html_repr(make_pipeline(StandardScaler(), stonet.SplitConformal(prediction_column=0)))
    assert "SplitConformal" in page
