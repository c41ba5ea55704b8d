"""Intervals that cover within groups."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stonet
from stonet import PostStoNetRegressor

REGIONS = np.array(["north", "south", "west"])
NOISE = np.array([0.3, 1.0, 3.0])


def rows(count: int, seed: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    x, group = rng.normal(size=(count, 3)), rng.integers(3, size=count)
    return x, x[:, 0] + NOISE[group] * rng.normal(size=count), REGIONS[group]


def fitted(**more: Any) -> PostStoNetRegressor:
    x, y, region = rows(600, 1)
    return PostStoNetRegressor(interval="fast", **more).fit(x, y, within=region)


def test_every_group_is_covered_and_lengths_follow_the_noise() -> None:
    head = fitted()
    x, y, region = rows(3000, 2)
    _, bounds = head.predict_interval(x, within=region)
    inside = (bounds[:, 0, 0] <= y) & (y <= bounds[:, 1, 0])
    length = bounds[:, 1, 0] - bounds[:, 0, 0]
    means = [length[region == r].mean() for r in REGIONS]
    assert means[0] * 2 < means[1] and means[1] * 2 < means[2]
    for r in REGIONS:
        assert abs(inside[region == r].mean() - 0.9) < 0.06
    assert "within each of 3 groups (north:" in head.guarantee_.text
    assert head.predict_std(x[:4], within=region[:4]).shape == (4,)
    assert head.predict(x, within=region).shape == (3000,)
    assert list(head.predict_frame(x[:2], within=region[:2]).columns) == ["prediction", "lower_90", "upper_90"]


def test_rows_do_not_depend_on_each_other_and_unknown_groups_are_pooled() -> None:
    head = fitted()
    x, _, region = rows(200, 3)
    order = np.random.default_rng(4).permutation(200)
    _, bounds = head.predict_interval(x, within=region)
    _, moved = head.predict_interval(x[order], within=region[order])
    assert (bounds[order] == moved).all()
    _, unknown = head.predict_interval(x, within=["elsewhere"] * 200)
    assert (unknown != bounds).any()


def test_frames_have_names_and_files_bring_groups_back(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    x, y, region = rows(600, 1)
    within = pandas.DataFrame({"region": region, "site": np.arange(600) % 2})
    frame = pandas.DataFrame(x, columns=["f0", "f1", "f2"])
    head = PostStoNetRegressor(interval="split", hidden=(3,), settings={"stonet": {"steps": 50}})
    head.fit(frame, y, within=within)
    path = tmp_path / "head.stonet"
    head.save(path)
    again = PostStoNetRegressor.load(path)
    expected = head.predict_interval(frame, within=within)[1]
    assert (again.predict_interval(frame, within=within)[1] == expected).all()
    about = json.loads(again._head.about())
    assert about["columns"]["within"] == ["region", "site"]
    # Batches find the columns by name.
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.Table.from_pandas(pandas.concat([frame, within], axis=1), preserve_index=False)
    scored = pyarrow.table(stonet.score(table, path))
    assert (np.asarray(scored["lower_90"]) == expected[:, 0, 0]).all()


def test_reports_show_before_and_after() -> None:
    head = fitted()
    x, y, region = rows(1500, 5)
    found = stonet.report(head, x, y, within=region)
    column, groups = found["subgroups"]
    assert column == "within"
    west = next(g for g in groups if g["name"] == "west")
    assert west["coverage"]["value"] > 0.84 > west["pooled"]["coverage"]["value"]
    assert west["mean_length"] > west["pooled"]["mean_length"]


def test_small_groups_are_warned_about() -> None:
    x, y, region = rows(300, 6)
    region = region.astype(object)
    region[:4] = "tiny"
    with pytest.warns(UserWarning, match="1 of 4 groups has fewer than the 9 ranked rows .*tiny"):
        PostStoNetRegressor(interval="fast").fit(x, y, within=region)


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    head = fitted()
    x, y, region = rows(300, 7)
    with pytest.raises(ValueError, match="fitted within groups, but the rows have no groups"):
        head.predict_interval(x)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        head.predict_interval(x, within=region[:5])
    with pytest.raises(ValueError, match="is missing"):
        head.predict_interval(x[:1], within=[None])
    with pytest.raises(ValueError, match="ready takes no groups and no functions"):
        head.ready()
    with pytest.raises(ValueError, match="ranks of its own for each group"):
        head.to_onnx(tmp_path / "head.onnx")
    with pytest.raises(ValueError, match="stack, fast, cv\\+ or split"):
        PostStoNetRegressor(interval="cv").fit(x, y, within=region)
    with pytest.raises(ValueError, match="within is given, but this head was fitted without it"):
        PostStoNetRegressor(interval="fast").fit(x, y).predict_interval(x, within=region)
    with pytest.raises(ValueError, match="has no ranks within groups"):
        stonet.SplitConformal().fit(x, y, x[:, 0]).predict_interval(x, x[:, 0], within=region)


def test_overlapping_groups_and_functions_with_split() -> None:
    rng = np.random.default_rng(8)

    def some(count: int) -> tuple[Any, Any, Any]:
        x, inside = rng.normal(size=(count, 3)), (rng.random((count, 2)) < [0.4, 0.3]).astype(float)
        return x, x[:, 0] + (1 + inside @ [2.0, 1.5]) * rng.normal(size=count), inside

    x, y, inside = some(900)
    settings: dict[str, Any] = {"learned_scale": False, "stonet": {"steps": 50}}
    head = PostStoNetRegressor(interval="split", hidden=(3,), settings=settings).fit(x, y, conditional=inside)
    new, truth, where = some(3000)
    _, bounds = head.predict_interval(new, conditional=where)
    hit = (bounds[:, 0, 0] <= truth) & (truth <= bounds[:, 1, 0])
    for k in range(2):
        assert hit[where[:, k] == 1].mean() > 0.84
    length = bounds[:, 1, 0] - bounds[:, 0, 0]
    assert length[where.sum(axis=1) == 0].mean() * 1.5 < length[where.sum(axis=1) == 2].mean()
    order = rng.permutation(3000)
    assert (head.predict_interval(new[order], conditional=where[order])[1] == bounds[order]).all()
    assert "split conditional conformal" in head.guarantee_.text
    with pytest.raises(ValueError, match="covers for functions of a row, but the rows have none"):
        head.predict_interval(new)
    with pytest.raises(ValueError, match="1 columns, but this head was fitted with 2"):
        head.predict_interval(new, conditional=where[:, 0])
    with pytest.raises(ValueError, match="split to cover for functions"):
        PostStoNetRegressor(interval="fast").fit(x, y, conditional=inside)
