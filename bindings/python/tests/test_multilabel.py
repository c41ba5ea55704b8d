"""Many labels: one probability for each, by a binary head of its own."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stonet
from stonet import MultiLabelClassifier


def make(rows: int, seed: int) -> Any:
    """Logits that are three times too large, and the labels."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(rows, 3))
    return 3 * z, (rng.random((rows, 3)) < 1 / (1 + np.exp(-z))).astype(int)


def test_each_label_is_calibrated_and_files_keep_it(tmp_path: Path) -> None:
    z, y = make(2000, 1)
    new, truth = make(2000, 2)
    head = MultiLabelClassifier(method="temperature").fit(z, y)
    p = head.predict_proba(new)
    assert p.shape == (2000, 3) and head.kind_ == "logits" and head.labels_ == ["y0", "y1", "y2"]
    # The true slope is a third of that of the network.
    np.testing.assert_allclose(p, 1 / (1 + np.exp(-new / 3)), atol=0.1)
    np.testing.assert_array_equal(head.predict(new), (p >= 0.5).astype(int))
    path = tmp_path / "head.stonet"
    head.save(path)
    for again in (stonet.load(path), pickle.loads(pickle.dumps(head))):
        assert isinstance(again, MultiLabelClassifier)
        np.testing.assert_array_equal(again.predict_proba(new), p)
    refitted = MultiLabelClassifier(**stonet.load(path).get_params()).fit(z, y)
    np.testing.assert_array_equal(refitted.predict_proba(new), p)
    for other in (stonet.PostStoNetClassifier, stonet.PostStoNetRegressor):
        with pytest.raises(ValueError, match="many labels"):
            other.load(path)
    with pytest.raises(ValueError, match="many labels"):
        stonet.PostStoNet.load(path, None)
    assert abs(truth.mean() - p.mean()) < 0.05


def test_what_does_not_fit_is_named() -> None:
    z, y = make(50, 1)
    with pytest.raises(ValueError, match="X has 2 columns and Y has 3"):
        MultiLabelClassifier().fit(z[:, :2], y)
    wrong = y.copy()
    wrong[4, 1] = 2
    with pytest.raises(ValueError, match="row 4, column 1 is 2"):
        MultiLabelClassifier().fit(z, wrong)
    with pytest.raises(ValueError, match="label `b` is present in no row"):
        MultiLabelClassifier(labels=["a", "b", "c"]).fit(z, y * [1, 0, 1])
    with pytest.raises(ValueError, match="labels has 1 names"):
        MultiLabelClassifier(labels=["a"]).fit(z, y)
    head = MultiLabelClassifier(method="temperature").fit(z, y)
    with pytest.raises(ValueError, match="2"):
        head.predict_proba(z[:, :2])
