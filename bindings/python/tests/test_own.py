"""The network's own uncertainty: quantiles and standard deviations in fit and predict, files, reports and batches."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import stonet
from stonet import CQROwn, NormalisedOwn, PostStoNetRegressor

Arrays = dict[str, NDArray[np.float64]]


def rows(n: int, seed: int, outputs: int = 1) -> Arrays:
    """Return rows whose spread only the network knows."""
    rng = np.random.default_rng(seed)
    shape = (n,) if outputs == 1 else (n, outputs)
    d, sd = rng.normal(size=shape), np.exp(0.8 * rng.normal(size=shape))
    y = d + sd * rng.normal(size=shape)
    return {"x": rng.normal(size=(n, 2)), "d": d, "sd": sd, "y": y, "lower": d - 1.645 * sd, "upper": d + 1.645 * sd}


def own(data: Arrays, kind: str) -> Arrays:
    """Return the arguments of a kind."""
    return {"sd": data["sd"]} if kind == "sd" else {"lower": data["lower"], "upper": data["upper"]}


@pytest.mark.parametrize("kind", ["sd", "quantiles"])
def test_lengths_follow_the_networks_own_uncertainty(kind: str, tmp_path: Path) -> None:
    fit, new = rows(400, 1), rows(300, 2)
    head = PostStoNetRegressor(interval="fast").fit(fit["x"], fit["y"], fit["d"], **own(fit, kind))
    point, ends = head.predict_interval(new["x"], new["d"], **own(new, kind))
    length = (ends[:, 1] - ends[:, 0])[:, 0]
    assert np.corrcoef(np.log(length), np.log(new["sd"]))[0, 1] > 0.95
    # 300 rows; those of the fit, 400, add their own error.
    covered = float(((ends[:, 0, 0] <= new["y"]) & (new["y"] <= ends[:, 1, 0])).mean())
    assert abs(covered - 0.9) < 4.5 * np.sqrt(0.09 / 300 + 0.09 / 400)
    assert (head.predict(new["x"], new["d"], **own(new, kind)) == point).all()
    assert head.predict_std(new["x"], new["d"], **own(new, kind)).shape == (300,)
    assert head.score(new["x"], new["y"], new["d"], **own(new, kind)) > 0.1
    assert head.coef_.shape == (2,)
    again = pickle.loads(pickle.dumps(head))
    assert (again.predict_interval(new["x"], new["d"], **own(new, kind))[1] == ends).all()
    head.save(tmp_path / "head.stonet")
    loaded = PostStoNetRegressor.load(tmp_path / "head.stonet")
    assert (loaded.predict_interval(new["x"], new["d"], **own(new, kind))[1] == ends).all()
    judged = stonet.report(head, new["x"], new["y"], prediction=new["d"], **own(new, kind))
    assert judged["overall"]["coverage"]["value"] == pytest.approx(covered)
    with pytest.raises(ValueError, match="predict_interval"):
        head.ready()


def test_several_targets_and_no_prediction() -> None:
    fit, new = rows(300, 3, 2), rows(50, 4, 2)
    head = PostStoNetRegressor(interval="fast").fit(fit["x"], fit["y"], **own(fit, "quantiles"))
    ends = head.predict_interval(new["x"], side="lower", **own(new, "quantiles"))[1]
    assert ends.shape == (50, 2, 2, 1)
    frame = head.predict_frame(new["x"], **own(new, "quantiles"))
    assert list(frame.columns)[:2] == ["y0_prediction", "y0_lower_90"]
    crossed = head.predict(new["x"], lower=new["upper"], upper=new["lower"])
    assert (crossed == head.predict(new["x"], **own(new, "quantiles"))).all()


def test_files_score_by_column_names() -> None:
    pa = pytest.importorskip("pyarrow")
    fit, new = rows(300, 5), rows(40, 6)
    head = PostStoNetRegressor(interval="fast").fit(fit["x"], fit["y"], fit["d"], sd=fit["sd"])
    names = {"c0": new["x"][:, 0], "c1": new["x"][:, 1], "prediction": new["d"], "network_sd": new["sd"]}
    found = stonet.score(pa.table(names), head)
    ends = head.predict_interval(new["x"], new["d"], sd=new["sd"])[1]
    assert (np.asarray(found["lower_90"]) == ends[:, 0, 0]).all()
    names["network_sd"] = -new["sd"]
    with pytest.raises(ValueError, match="standard deviation"):
        stonet.score(pa.table(names), head)


@pytest.mark.parametrize("kind", ["sd", "quantiles"])
def test_exported_heads_read_the_same_columns(kind: str, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    fit, new = rows(300, 5), rows(40, 6)
    head = PostStoNetRegressor(interval="fast").fit(fit["x"], fit["y"], fit["d"], **own(fit, kind))
    path = tmp_path / "head.onnx"
    head.to_onnx(path)
    named = {"features": new["x"], "network_prediction": new["d"]}
    named |= {f"network_{name}": values for name, values in own(new, kind).items()}
    session = runtime.InferenceSession(str(path))
    feeds = {i.name: named[i.name].reshape(40, -1).astype(np.float32) for i in session.get_inputs()}
    assert {f"network_{name}" for name in own(new, kind)} <= feeds.keys()
    lower, upper = session.run(["lower", "upper"], feeds)
    ends = head.predict_interval(new["x"], new["d"], **own(new, kind))[1][:, :, 0]
    length = ends[:, 1] - ends[:, 0]
    # Single precision, and inputs that were rounded to it.
    assert (np.abs(lower[:, 0] - ends[:, 0]) < 1e-4 * length).all()
    assert (np.abs(upper[:, 0] - ends[:, 1]) < 1e-4 * length).all()


def test_baselines_are_the_networks_own_conformalised() -> None:
    fit, new = rows(400, 7), rows(300, 8)
    cqr = CQROwn().fit(fit["x"], fit["y"], **own(fit, "quantiles"))
    ends = cqr.predict_interval(new["x"], **own(new, "quantiles"))[1][:, :, 0]
    shift = new["lower"] - ends[:, 0]
    assert np.allclose(shift, shift[0]) and np.allclose(ends[:, 1] - new["upper"], shift[0])
    scaled = NormalisedOwn().fit(fit["x"], fit["y"], fit["d"], sd=fit["sd"])
    ends = scaled.predict_interval(new["x"], new["d"], sd=new["sd"])[1][:, :, 0]
    assert np.allclose((ends[:, 1] - ends[:, 0]) / new["sd"], (ends[0, 1] - ends[0, 0]) / new["sd"][0])
    with pytest.raises(ValueError, match="CQROwn takes lower and upper"):
        CQROwn().fit(fit["x"], fit["y"], sd=fit["sd"])
    with pytest.raises(ValueError, match="takes neither"):
        stonet.LastLayerLaplace().fit(fit["x"], fit["y"], sd=fit["sd"])


def test_what_does_not_fit_is_refused_by_name() -> None:
    data = rows(60, 9)
    x, y, d, sd = data["x"], data["y"], data["d"], data["sd"]

    def fit(**given: Any) -> PostStoNetRegressor:
        return PostStoNetRegressor(interval="fast").fit(x, y, d, **given)

    bad = sd.copy()
    bad[7] = 0.0
    for given, text in (
        ({"lower": sd}, "lower is given without upper"),
        ({"lower": d, "upper": d, "sd": sd}, "not both"),
        ({"sd": bad}, "sd is 0 in row 7, column 0"),
        ({"sd": sd[:9]}, "sd has 9 rows, and X has 60"),
        ({"sd": np.where(bad == 0, np.nan, bad)}, "sd"),
        ({"sd": np.abs(x)}, "standard deviations"),
    ):
        with pytest.raises(ValueError, match=text):
            fit(**given)
    with pytest.raises(ValueError, match="own uncertainty"):
        PostStoNetRegressor(interval="cv").fit(x, y, sd=sd)
    head = fit(sd=sd)
    with pytest.raises(ValueError, match="sd must be given"):
        head.predict(x, d)
    with pytest.raises(ValueError, match="sd must be given"):
        head.predict(x, d, lower=d, upper=d)
    with pytest.raises(ValueError, match="sd is given, but the fit had none"):
        fit().predict(x, d, sd=sd)
