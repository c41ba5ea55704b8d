"""The pairs of calls in docs/coming-from.md, run beside the packages they come from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stonet

LEVELS = [0.8, 0.9]


@pytest.fixture(scope="module")
def rows() -> Any:
    from sklearn.neural_network import MLPRegressor

    rng = np.random.default_rng(1)
    x = rng.normal(size=(900, 4))
    y = np.sin(2 * x[:, 0]) + x[:, 1] + (0.2 + 0.3 * np.abs(x[:, 2])) * rng.normal(size=900)
    network = MLPRegressor(hidden_layer_sizes=(20,), max_iter=50, random_state=1, tol=0).fit(x[:300], y[:300])
    return x, y, network, np.maximum(x @ network.coefs_[0] + network.intercepts_[0], 0), network.predict(x)


@pytest.fixture(scope="module")
def classes() -> Any:
    rng = np.random.default_rng(2)
    z = 1.5 * rng.normal(size=(2000, 4))
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    labels = (p.cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1).clip(0, 3)
    return 2 * z, labels


@pytest.mark.filterwarnings("ignore")
def test_mapie_regression(rows: Any) -> None:
    mapie = pytest.importorskip("mapie.regression")
    from mapie.metrics.regression import regression_coverage_score, regression_mean_width_score

    x, y, network, features, d = rows
    held, new = slice(300, 600), slice(600, 900)
    split = mapie.SplitConformalRegressor(network, confidence_level=LEVELS, prefit=True)
    point, theirs = split.conformalize(x[held], y[held]).predict_interval(x[new])
    ours = stonet.SplitConformal().fit(features[held], y[held], d[held])
    y_pred, intervals = ours.predict_interval(features[new], d[new], confidence_level=LEVELS)
    assert point.shape == y_pred.shape and theirs.shape == intervals.shape == (300, 2, 2)
    assert np.abs(theirs - intervals).max() < 1e-9
    assert stonet.metrics.coverage(y[new], intervals) == pytest.approx(regression_coverage_score(y[new], theirs))
    assert stonet.metrics.mean_length(intervals) == pytest.approx(regression_mean_width_score(theirs))
    cross = mapie.CrossConformalRegressor(network, confidence_level=0.9).fit_conformalize(x[held], y[held])
    head = stonet.PostStoNetRegressor(interval="fast").fit(features[held], y[held], d[held])
    assert cross.predict_interval(x[new])[1].shape == head.predict_interval(features[new], d[new])[1].shape
    assert stonet.CQR().fit(features[held], y[held], d[held]).predict_interval(features[new], d[new])[1].shape == (
        300,
        2,
        1,
    )


@pytest.mark.filterwarnings("ignore")
def test_mapie_classification(classes: Any) -> None:
    mapie = pytest.importorskip("mapie.classification")
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Softmax(ClassifierMixin, BaseEstimator):
        classes_ = np.arange(4)
        is_fitted_ = True

        def fit(self, X: Any, y: Any) -> Any:
            return self

        def predict_proba(self, X: Any) -> Any:
            return np.exp(X) / np.exp(X).sum(axis=1, keepdims=True)

        def predict(self, X: Any) -> Any:
            return X.argmax(axis=1)

    logits, labels = classes
    split = mapie.SplitConformalClassifier(Softmax(), confidence_level=0.9, prefit=True, conformity_score="lac")
    theirs = split.conformalize(logits[:1000], labels[:1000]).predict_set(logits[1000:])[1]
    rule = {"rule": {"score": "lac", "never_empty": False}}
    head = stonet.PostStoNetClassifier(method="none", kind="logits", sets=rule).fit(logits[:1000], labels[:1000])
    ours = head.predict_set(logits[1000:], confidence_level=0.9)[1]
    assert theirs.shape == ours.shape == (1000, 4, 1)
    assert (theirs == ours).all()


def test_crepes(rows: Any) -> None:
    crepes = pytest.importorskip("crepes")
    _, y, _, features, d = rows
    held, new = slice(300, 600), slice(600, 900)
    theirs = crepes.ConformalRegressor().fit(y[held] - d[held]).predict_int(d[new], confidence=0.9)
    ours = stonet.SplitConformal().fit(features[held], y[held], d[held]).predict_interval(features[new], d[new])[1]
    assert theirs.shape == ours[:, :, 0].shape
    assert np.abs(theirs - ours[:, :, 0]).max() < 1e-9
    head = stonet.PostStoNetRegressor(interval="fast").fit(features[held], y[held], d[held])
    assert head.predict_quantile(features[new], d[new], quantiles=[0.05, 0.5, 0.95]).shape[0] == 300
    assert head.predict_cdf(features[new], d[new], values=0.0).shape[0] == 300


def test_netcal(classes: Any) -> None:
    scaling = pytest.importorskip("netcal.scaling", reason="netcal is not installed: its pairs were not run")
    from netcal.metrics import ECE

    logits, labels = classes
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    theirs = scaling.TemperatureScaling().fit(p[:1000], labels[:1000]).transform(p[1000:])
    ours = stonet.TemperatureScaling(kind="probabilities").fit(p[:1000], labels[:1000]).predict_proba(p[1000:])
    assert np.abs(theirs - ours).max() < 1e-2
    assert stonet.metrics.ece(labels[1000:], ours) == pytest.approx(ECE(15).measure(ours, labels[1000:]), abs=1e-12)


def test_laplace(rows: Any) -> None:
    _, y, _, features, d = rows
    held, new = slice(300, 600), slice(600, 900)
    head = stonet.LastLayerLaplace().fit(features[held], y[held], d[held])
    assert head.predict_interval(features[new], d[new])[1].shape == (300, 2, 1)
    assert head.predict_std(features[new], d[new]).shape == (300,)
