"""Class probabilities, their intervals, and sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stonet
from stonet import PostStoNetClassifier, metrics

SKIP = {"skip": {"hidden": 8, "asghmc": {"epochs": 20}}}


def softmax(z: Any) -> Any:
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def test_temperature_finds_that_the_logits_are_twice_too_large(classes: Any) -> None:
    z, y = classes
    head = stonet.TemperatureScaling().fit(z, y)
    p = head.predict_proba(z)
    ratio = np.log(p[:, 0] / p[:, 1]) / (z[:, 0] - z[:, 1])
    # All rows tell the same 1/T; it is within 4.5 standard errors (about 0.03 for 600 rows) of a half.
    assert np.ptp(ratio) < 1e-9 and abs(ratio[0] - 0.5) < 0.15
    assert metrics.nll(y, p) < metrics.nll(y, softmax(z)) and metrics.ece(y, p) < metrics.ece(y, softmax(z))


def test_kinds_agree(classes: Any) -> None:
    z, y = classes
    want = PostStoNetClassifier(method="temperature", kind="logits").fit(z, y).predict_proba(z)
    for kind, x in {"probabilities": softmax(z), "log-probabilities": np.log(softmax(z)), "auto": softmax(z)}.items():
        head = PostStoNetClassifier(method="temperature", kind=kind).fit(x, y)
        assert head.kind_ == (kind if kind != "auto" else "probabilities")
        np.testing.assert_allclose(head.predict_proba(x), want, atol=1e-6)
    hidden = np.tanh(z @ np.random.default_rng(3).normal(size=(3, 7)))
    with pytest.warns(UserWarning, match="taken for features"):
        assert PostStoNetClassifier(method="post-linear").fit(hidden, y).kind_ == "features"
    with pytest.raises(ValueError, match="probabilities"):
        PostStoNetClassifier(method="temperature", kind="logits").fit(softmax(z), y)


@pytest.mark.parametrize("kind", ["logits", "probabilities", "log-probabilities"])
def test_one_column_of_a_binary_classifier_is_that_of_the_second_class(kind: str) -> None:
    rng = np.random.default_rng(3)
    z = 4 * rng.normal(size=(400, 1))
    y = np.where(rng.random(400) < 1 / (1 + np.exp(-z[:, 0] / 3)), "yes", "no")
    both = np.hstack([np.zeros_like(z), z])
    want = PostStoNetClassifier(method="temperature", kind="logits").fit(both, y)
    one = {"logits": z, "probabilities": softmax(both)[:, 1:], "log-probabilities": np.log(softmax(both)[:, 1:])}[kind]
    head = PostStoNetClassifier(method="temperature", kind=kind).fit(one, y)
    assert head.kind_ == kind and list(head.classes_) == ["no", "yes"]
    np.testing.assert_allclose(head.predict_proba(one), want.predict_proba(both), atol=1e-6)
    assert head.score(one, y) == want.score(both, y)
    np.testing.assert_allclose(head.predict_proba(one[:1]), want.predict_proba(both[:1]), atol=1e-6)


def test_the_stack_names_its_members_and_its_classes(classes: Any) -> None:
    z, y = classes
    names = np.array(["cat", "dog", "eel"])
    head = PostStoNetClassifier(settings=SKIP, progress=lambda done, total: None).fit(z, names[y])
    assert list(head.classes_) == list(names) and set(head.predict(z)) <= set(names)
    assert abs(sum(m["weight"] for m in head.members_) - 1) < 1e-6
    np.testing.assert_allclose(head.predict_proba(z).sum(axis=1), 1.0)
    assert head.score(z, names[y]) == metrics.accuracy(names[y], head.predict_proba(z), classes=names)
    assert {"label", "kappas", "loss", "chosen"} <= set(head.cv_results_[0])


def test_frames_have_the_commands_columns(classes: Any) -> None:
    pandas = pytest.importorskip("pandas")
    z, y = classes
    rows = pandas.DataFrame(z, columns=["z0", "z1", "z2"], index=np.arange(600) + 5)
    head = stonet.VectorScaling().fit(rows, np.array(["cat", "dog", "eel"])[y])
    found = head.predict_frame(rows)
    assert list(found.columns) == ["class", "p_cat", "p_dog", "p_eel"] and found.index.equals(rows.index)


def test_sets_hold_the_true_class(classes: Any) -> None:
    z, y = classes
    for sets in ("cv+", "split", {"rule": {"score": {"aps": {"part": "random"}}}}):
        head = PostStoNetClassifier(method="temperature", sets=sets).fit(z[:300], y[:300])
        guess, found = head.predict_set(z[300:], confidence_level=[0.5, 0.9])
        assert found.shape == (300, 3, 2) and found.dtype == bool and guess.shape == (300,)
        held = found[np.arange(300), y[300:], 1].mean()
        judges = 300 if sets != "split" else 90
        assert held > 0.9 - 4.5 * np.sqrt(0.09 / 300 + 0.09 / judges)
        assert (found[:, :, 0] <= found[:, :, 1]).all()
        assert head.guarantee(0.9).coverage <= 0.9
    plain = PostStoNetClassifier(method="temperature").fit(z, y)
    assert plain.guarantee() is None
    with pytest.raises(ValueError, match="fit with sets="):
        plain.predict_set(z)


def test_intervals_of_probabilities(classes: Any) -> None:
    z, y = classes
    head = PostStoNetClassifier(method="temperature", intervals=True).fit(z, y)
    p, bounds = head.predict_proba_interval(z, confidence_level=[0.5, 0.95])
    assert bounds.shape == (600, 3, 2, 2) and "cover at their level" in head.trust_
    assert (bounds[:, :, 0] <= p[..., None]).all() and (p[..., None] <= bounds[:, :, 1]).all()
    with pytest.raises(ValueError, match="fit with intervals=True"):
        PostStoNetClassifier(method="temperature").fit(z, y).predict_proba_interval(z)
    with pytest.warns(UserWarning, match="isotonic"):
        without = PostStoNetClassifier(method="isotonic", intervals=True).fit(z, y)
    with pytest.raises(ValueError, match="isotonic"):
        without.predict_proba_interval(z)


def test_features_beside_the_logits(classes: Any) -> None:
    z, y = classes
    more = np.column_stack([y == 0, np.arange(600) % 7]).astype(float)
    head = PostStoNetClassifier(method="post-linear").fit(z, y, features=more)
    assert head.score(z, y, features=more) > PostStoNetClassifier(method="post-linear").fit(z, y).score(z, y)
    with pytest.raises(ValueError, match="features"):
        head.predict(z)


def test_a_class_without_rows_keeps_its_column(classes: Any) -> None:
    z, y = classes
    seen = y != 1
    head = PostStoNetClassifier(method="temperature", kind="logits").fit(z[seen], y[seen])
    assert list(head.classes_) == [0, 1, 2] and head.predict_proba(z).shape == (600, 3)


@pytest.mark.parametrize(
    "make",
    [
        stonet.TemperatureScaling,
        stonet.VectorScaling,
        stonet.MatrixScaling,
        stonet.SmoothedTemperatureScaling,
        stonet.EnsembleTemperatureScaling,
        stonet.StructuredVectorScaling,
        stonet.StructuredMatrixScaling,
        stonet.MatrixScalingODIR,
        stonet.IsotonicCalibration,
        stonet.PostLinear,
    ],
)
def test_methods_calibrate(classes: Any, make: Any) -> None:
    z, y = classes
    head = make().fit(z[:400], y[:400])
    p = head.predict_proba(z[400:])
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert metrics.brier(y[400:], p) < metrics.brier(y[400:], softmax(z[400:]))
    with pytest.raises(ValueError, match="3 different labels"):
        stonet.TemperatureScaling(kind="logits").fit(z[:, :2], y)


def test_bad_classes_are_named(classes: Any) -> None:
    z, y = classes
    head = PostStoNetClassifier(method="temperature")
    cases = [
        ("Unknown label type", lambda: head.fit(z, y + 0.5)),
        ("one class", lambda: head.fit(z, np.zeros(600, dtype=int))),
        ("y should be a 1d", lambda: head.fit(z, np.column_stack([y, y]))),
        ("contains NaN", lambda: head.fit(z, np.where(y == 1, np.nan, y))),
        ("must be one of", lambda: PostStoNetClassifier(kind="logit").fit(z, y)),
        ("there are none, temperature", lambda: PostStoNetClassifier(method="best").fit(z, y)),
        ("sets is 'all'", lambda: PostStoNetClassifier(sets="all").fit(z, y)),
    ]
    for words, act in cases:
        with pytest.raises(ValueError) as found:  # noqa: PT011
            act()
        assert words in str(found.value), (words, str(found.value))


def test_venn_abers_has_bounds_of_its_own(classes: Any) -> None:
    z, y = classes
    two, label = z[:, :2], (y > 0).astype(int)
    head = stonet.VennAbers(kind="logits").fit(two[:400], label[:400])
    p, bounds = head.predict_proba(two[400:]), head.predict_bounds(two[400:])
    assert bounds.shape == (200, 2) and (bounds[:, 0] < bounds[:, 1]).all()
    np.testing.assert_allclose(p[:, 1], bounds[:, 1] / (1 - bounds[:, 0] + bounds[:, 1]))
    with pytest.raises(ValueError, match="2 for Venn-Abers prediction"):
        stonet.VennAbers(kind="logits").fit(z, y)
