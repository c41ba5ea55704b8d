"""Further columns beside the features: in fits and predictions, in files, behind networks, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stonet
from stonet import PostStoNet, PostStoNetRegressor

F, X = slice(0, 3), slice(3, 6)


@pytest.fixture(scope="module")
def fitted(regression: Any) -> PostStoNetRegressor:
    x, y, d = regression
    return PostStoNetRegressor(interval="fast").fit(x[:, F], y, d, also=x[:, X])


def test_they_are_columns_like_others(regression: Any, fitted: PostStoNetRegressor, tmp_path: Path) -> None:
    x, y, d = regression
    want = PostStoNetRegressor(interval="fast").fit(x, y, d)
    assert (fitted.n_features_in_, fitted.n_also_in_, fitted.also_names_in_) == (3, 3, None)
    point, bounds = want.predict_interval(x, d)
    for also in (x[:, X], np.asfortranarray(x[:, X])):
        found = fitted.predict_interval(x[:, F], d, also=also)
        np.testing.assert_array_equal(found[0], point)
        np.testing.assert_array_equal(found[1], bounds)
    np.testing.assert_array_equal(fitted.predict(x[:, F], d, also=x[:, X]), want.predict(x, d))
    np.testing.assert_array_equal(fitted.predict_std(x[:, F], d, also=x[:, X]), want.predict_std(x, d))
    assert fitted.score(x[:, F], y, d, also=x[:, X]) == want.score(x, y, d)
    np.testing.assert_array_equal(fitted.coef_, want.coef_)
    np.testing.assert_array_equal(fitted.ready()(x, prediction=d)[1], bounds)
    with pytest.warns(UserWarning, match="are among the rows"):
        found = stonet.report(fitted, x[:, F], y, prediction=d, also=x[:, X], allow_seen=True)
    with pytest.warns(UserWarning, match="are among the rows"):
        same = stonet.report(want, x, y, prediction=d, allow_seen=True)
    assert found["overall"] == same["overall"]
    fitted.save(tmp_path / "head.stonet")
    back = PostStoNetRegressor.load(tmp_path / "head.stonet")
    assert (back.n_features_in_, back.n_also_in_, back.also_names_in_) == (3, 3, None)
    np.testing.assert_array_equal(back.predict_interval(x[:, F], d, also=x[:, X])[1], bounds)
    # One column of X holds the network's own prediction.
    within = PostStoNetRegressor(interval="fast", prediction_column=0).fit(np.c_[d, x[:, F]], y, also=x[:, X])
    np.testing.assert_array_equal(within.predict_interval(np.c_[d, x[:, F]], also=x[:, X])[1], bounds)
    np.testing.assert_array_equal(within.ready()(np.c_[d, x])[1], bounds)


def test_frames_are_read_by_name(regression: Any, tmp_path: Path) -> None:
    pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    x, y, d = regression
    features = pd.DataFrame(x[:, F], columns=["f0", "f1", "f2"])
    also = pd.DataFrame(x[:, X], columns=["size", "age", "rooms"])
    head = PostStoNetRegressor(interval="fast").fit(features, y, d, also=also)
    assert list(head.also_names_in_) == ["size", "age", "rooms"]
    want = head.predict_interval(features, d, also=also)[1]
    other = also[["rooms", "age", "size"]].assign(more=1.0)
    np.testing.assert_array_equal(head.predict_interval(features, d, also=other)[1], want)
    frame = head.predict_frame(features, d, also=also)
    np.testing.assert_array_equal(frame["lower_90"], want[:, 0, 0])
    # Files find all of them by name in one table.
    head.save(tmp_path / "head.stonet")
    back = PostStoNetRegressor.load(tmp_path / "head.stonet")
    assert list(back.feature_names_in_) == ["f0", "f1", "f2"] and list(back.also_names_in_) == list(also.columns)
    table = pa.Table.from_pandas(pd.concat([also, features, pd.DataFrame({"prediction": d})], axis=1))
    scored = stonet.score(table, tmp_path / "head.stonet")
    np.testing.assert_array_equal(np.asarray(scored.column("lower_90")), want[:, 0, 0])
    with pytest.raises(ValueError, match="also has no column 'size', which the fit had"):
        head.predict(features, d, also=also[["age", "rooms"]])
    with pytest.raises(ValueError, match="both have columns called 'f1'"):
        PostStoNetRegressor(interval="fast").fit(features, y, d, also=also.rename(columns={"age": "f1"}))
    with pytest.raises(ValueError, match="both have columns called 'x0'"):
        PostStoNetRegressor(interval="fast").fit(features.rename(columns={"f0": "x0"}), y, d, also=x[:, X])
    with pytest.raises(ValueError, match="several columns of the same name"):
        PostStoNetRegressor(interval="fast").fit(features, y, d, also=also.rename(columns={"age": "size"}))


def test_what_does_not_fit_is_told(regression: Any, fitted: PostStoNetRegressor) -> None:
    x, y, d = regression
    plain = PostStoNetRegressor(interval="fast").fit(x[:, F], y, d)
    bad = x[:, X].copy()
    bad[7, 1] = np.nan
    for words, act in {
        r"also is missing: this PostStoNetRegressor was fitted with 3 further columns": lambda: fitted.predict(
            x[:, F], d
        ),
        "also has 2 columns, but this PostStoNetRegressor was fitted with 3": lambda: fitted.predict(
            x[:, F], d, also=x[:, 4:]
        ),
        "fitted without further columns, so it would be ignored": lambda: plain.predict(x[:, F], d, also=x[:, X]),
        r"inconsistent numbers of samples: \[400, 399\]": lambda: fitted.predict(x[:, F], d, also=x[1:, X]),
        "Input also contains NaN": lambda: fitted.predict(x[:, F], d, also=bad),
        "Expected 2D array": lambda: fitted.predict(x[:, F], d, also=x[:, 3]),
        "X is None": lambda: PostStoNetRegressor(interval="fast").fit(None, y, d, also=x[:, X]),
        "interval='paper' is the paper's own form": lambda: PostStoNetRegressor(interval="paper").fit(
            x[:, F], y, also=x[:, X]
        ),
        "interval='cv' is the paper's own form": lambda: PostStoNetRegressor(interval="cv").fit(x[:, F], y, also=x),
    }.items():
        with pytest.raises(ValueError, match=words):
            act()
    # A fit without them forgets them.
    again = PostStoNetRegressor(interval="fast").fit(x[:, F], y, d, also=x[:, X]).fit(x[:, F], y, d)
    np.testing.assert_array_equal(again.predict(x[:, F], d), plain.predict(x[:, F], d))


def test_baselines_and_many_fits_take_them(regression: Any) -> None:
    x, y, d = regression
    cqr = stonet.CQR().fit(x[:, F], y, also=x[:, X])
    want = stonet.CQR().fit(x, y)
    np.testing.assert_array_equal(cqr.predict_interval(x[:, F], also=x[:, X])[1], want.predict_interval(x)[1])
    with pytest.raises(ValueError, match="also is missing"):
        cqr.predict(x[:, F])
    heads = {"fast": PostStoNetRegressor(interval="fast")}
    fits = stonet.fit_many(heads, x[:, F], y, prediction=d, also=x[:, X], splits=2)
    both = stonet.fit_many(heads, x, y, prediction=d, splits=2)
    assert [f.scores for f in fits] == [f.scores for f in both]
    with pytest.raises(ValueError, match="also is for regressors"):
        stonet.fit_many(stonet.TemperatureScaling(), x[:, F], (y > 0).astype(int), also=x)


class TestNetworks:
    """Networks that are run here: their inputs join by default."""

    @staticmethod
    def hidden(x: Any) -> Any:
        return np.tanh(np.asarray(x)[:, :2])

    def test_what_joins(self, regression: Any) -> None:
        x, y, _ = regression
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(x, columns=list("abcdef"))

        def count(x: Any, y: Any = y, **more: Any) -> int:
            return int(PostStoNet(self.hidden, **{"interval": "fast", **more}).fit(x, y).head_.n_also_in_)

        assert count(x) == 6
        assert count(x, also=None) == 0
        assert count(x[:199], y[:199]) == 0 and count(x[:199], y[:199], also="inputs") == 6
        assert count(np.tile(x, 20)) == 0 and count(np.tile(x, 20), also="inputs") == 120
        assert count(x, interval="paper", hidden=(2,), settings={"stonet": {"steps": 20}}) == 0
        # A frame may hold more than the functions take of it.
        assert count(frame) == 0 and count(frame, also="inputs") == 6
        assert count(np.round(x).astype(int)) == 0
        gap = x.copy()
        gap[3, 5] = np.nan
        assert count(gap) == 0
        assert count(x, also=lambda x: x[:, 2:4] ** 2) == 2
        for words, more in {
            "also is 'all'; it must be 'auto', 'inputs' or None": {"also": "all"},
            "x is no table of numbers": {"also": "inputs"},
        }.items():
            with pytest.raises(ValueError, match=words):
                PostStoNet(lambda x: np.asarray(x)[:, :2, 0], interval="fast", **more).fit(x[:, :, None], y)
        with pytest.raises(ValueError, match="also is for regression"):
            PostStoNet(self.hidden, self.hidden, also="inputs", method="temperature").fit(x, (y > 0).astype(int))
        with pytest.raises(ValueError, match="the paper's own form"):
            PostStoNet(self.hidden, also="inputs", interval="cv").fit(x, y)

    def test_files_and_tables_know_them(self, regression: Any, tmp_path: Path) -> None:
        x, y, _ = regression
        pa = pytest.importorskip("pyarrow")
        both = PostStoNet(self.hidden, interval="fast").fit(x, y)
        assert "6 further columns" in both._repr_html_()
        want = both.predict_interval(x)[1]
        both.save(tmp_path / "head.stonet")
        back = PostStoNet.load(tmp_path / "head.stonet", self.hidden)
        np.testing.assert_array_equal(back.predict_interval(x)[1], want)
        table = pa.table({f"v{i}": x[:, i] for i in range(6)})
        for head, network in ((both, None), (tmp_path / "head.stonet", self.hidden)):
            scored = stonet.score(table, head, network=network)
            np.testing.assert_array_equal(np.asarray(scored.column("upper_90")), want[:, 1, 0])
        with pytest.raises(ValueError, match="6 of them, and the network has 5 inputs"):
            stonet.score(table.select([0, 1, 2, 3, 4]), both)
        # What a function made of the inputs is not taken for the inputs.
        made = PostStoNet(self.hidden, also=lambda x: np.asarray(x) ** 2, interval="fast").fit(x, y)
        with pytest.raises(ValueError, match="not all among the network's inputs"):
            stonet.score(table, made)
        with pytest.raises(ValueError, match="x is no table that holds them"):
            both.predict([list(row) for row in x])

    def test_a_benchmark_says_which_methods_see_them(self, regression: Any, tmp_path: Path) -> None:
        x, y, _ = regression
        found = {
            also: stonet.benchmark(x[:100], y[:100], splits=1, epochs=3, also=also, out=tmp_path / str(also))
            for also in ("auto", "inputs", None)
        }
        seeing = ["stack", "cv+", "fast", "split", "normalised-conformal", "cqr", "refit-conformal"]
        assert found["inputs"]["with_inputs"] == seeing
        assert found["auto"]["with_inputs"] == found[None]["with_inputs"] == []
        score = {
            also: {m["name"]: m["winkler"] for m in result["methods"] if m["name"] in ("fast", "paper", "laplace")}
            for also, result in found.items()
        }
        assert score["auto"] == score[None]
        assert {n for n in score[None] if score[None][n] != score["inputs"][n]} == {"fast"}
        assert "see the network's inputs" in (tmp_path / "inputs" / "benchmark.md").read_text()
        with pytest.raises(ValueError, match="also is 'all'"):
            stonet.benchmark(x, y, also="all", out=tmp_path / "no")  # type: ignore[arg-type]
