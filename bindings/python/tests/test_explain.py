"""Explanations: parts add up, columns that make noise are named, strange rows are strange, and files agree."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import stonet


def rows(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    return x, x[:, 0] + np.exp(0.9 * x[:, 1]) * rng.normal(size=n)


@pytest.fixture(scope="module")
def head():
    return stonet.PostStoNetRegressor(interval="fast").fit(*rows(800, 1))


def test_parts_add_up_and_name_what_makes_noise(head):
    x, _ = rows(200, 2)
    told = head.explain(x)
    np.testing.assert_allclose(told.model_share + told.noise_share, 1.0)
    np.testing.assert_allclose(np.exp(told.contributions.sum(axis=1)), told.width_ratio)
    assert told.terms[:4] == ["c0", "c1", "c2", "c3"] and told.missing == []
    wide = [row[0][0] for row, v in zip(told.widest(1), x[:, 1], strict=True) if v > 1.3]
    assert wide.count("c1") > 0.8 * len(wide)
    assert (told.novelty > 0).all() and (told.novelty <= 0.05).mean() < 0.15
    assert (head.explain(x + 9).novelty < 0.01).all()


def test_the_frame_is_that_of_the_command(head, tmp_path):
    x, _ = rows(30, 3)
    frame = pd.DataFrame(x, columns=[f"c{i}" for i in range(4)])
    head.save(tmp_path / "head.stonet")
    frame.to_csv(tmp_path / "new.csv", index=False)
    line = ["predict", tmp_path / "head.stonet", tmp_path / "new.csv", "-o", tmp_path / "why.csv", "--explain", "-q"]
    subprocess.run([sys.executable, "-m", "stonet._cli", *map(str, line)], check=True)
    written = pd.read_csv(tmp_path / "why.csv").iloc[:, 3:].fillna("")
    own = head.explain(frame.to_numpy()).to_frame()
    assert list(written.columns) == list(own.columns)
    for name in own.columns:
        if not pd.api.types.is_numeric_dtype(own[name]):
            assert list(written[name]) == list(own[name])
        else:
            np.testing.assert_allclose(written[name], own[name], rtol=1e-9)


def test_what_a_head_cannot_tell_is_left_out_or_refused():
    x, y = rows(300, 4)
    split = stonet.PostStoNetRegressor(interval="split", fingerprints=False).fit(x, y)
    with pytest.warns(UserWarning, match="single model"):
        told = split.explain(x)
    assert told.model_share is None and told.novelty is None and told.width_ratio is not None
    z, labels = x[:, :3], (y > 0).astype(int) + (x[:, 1] > 1)
    one = stonet.TemperatureScaling(fingerprints=False).fit(z, labels)
    with pytest.raises(ValueError, match="nothing to tell"):
        one.explain(z)
    with pytest.warns(UserWarning, match="single model"):
        assert len(stonet.TemperatureScaling().fit(z, labels).explain(z).novelty) == 300


def test_several_targets_have_an_axis(head):
    x, y = rows(400, 5)
    two = stonet.PostStoNetRegressor(interval="fast").fit(x, np.column_stack([y, x[:, 2] + 0.1 * y]))
    told = two.explain(x[:7])
    assert told.model_share.shape == (7, 2) and told.contributions.shape[:2] == (7, 2)
    assert {"y0_width_ratio", "y1_wide_3_factor", "novelty"} <= set(told.to_frame().columns)
