"""Many fits, and the paper's protocol, here and as an engine would spread them."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import timeless
from test_files import command, write_csv

import stonet
from stonet import (
    CQR,
    LastLayerLaplace,
    PostStoNetClassifier,
    PostStoNetRegressor,
    SplitConformal,
    TemperatureScaling,
    _many,
    metrics,
)


def carried(function: Callable[[Any, Any], Any], shared: Any, tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Do the last task first, everything carried as bytes, as between processes."""
    sent, kept = pickle.dumps(function), pickle.dumps(shared)
    for i in reversed(range(len(tasks))):
        result = pickle.loads(sent)(pickle.loads(kept), pickle.loads(pickle.dumps(tasks[i])))
        yield i, pickle.loads(pickle.dumps(result))


def processes(function: Callable[[Any, Any], Any], shared: Any, tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Do the tasks in processes that begin with nothing."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        places = {pool.submit(function, shared, task): i for i, task in enumerate(tasks)}
        for future in as_completed(places):
            yield places[future], future.result()


SPREADS = [_many.serial, carried]


@pytest.mark.parametrize("spread", [*SPREADS, processes])
def test_kappas_by_folds_are_the_fits_of_this_process(spread: Any, regression: Any) -> None:
    x, y, d = regression
    quick = {"stonet": {"steps": 100}}
    heads = {f"kappa={k}": PostStoNetRegressor(0.8, "cv", kappa=k, folds=3, settings=quick) for k in (0.5, 2.0)}
    fits = _many.fit_many(spread, heads, x, y, prediction=d, splits=3, keep_heads=True, random_state=4)
    assert [(f.name, f.split) for f in fits] == [(name, i) for name in heads for i in range(3)]
    tested = []
    for fit, (train, test) in zip(fits, _many._splits.folds(3, len(x), None, 4) * 2, strict=True):
        here = PostStoNetRegressor(**heads[fit.name].get_params()).fit(x[train], y[train], d[train])
        assert fit.estimator._head.to_bytes() == here._head.to_bytes()
        assert fit.estimator.get_params() == here.get_params()
        point, intervals = here.predict_interval(x[test], d[test])
        want = {
            "coverage": metrics.coverage(y[test], intervals),
            "mean_length": metrics.mean_length(intervals),
            "median_length": metrics.median_length(intervals),
            "winkler": metrics.winkler(y[test], intervals, 0.8),
            "rmse": np.sqrt(np.mean((y[test] - point) ** 2)),
        }
        assert fit.scores == want and fit.seconds > 0
        tested += list(test)
    assert sorted(tested) == sorted([*range(len(x))] * 2)
    assert not hasattr(heads["kappa=0.5"], "kappa_")


def test_tables_for_frames(regression: Any) -> None:
    pandas = pytest.importorskip("pandas")
    x, y, d = regression
    heads = [SplitConformal(), PostStoNetRegressor(interval="fast")]
    fits = stonet.fit_many(heads, x, y, prediction=d, splits=4, level=0.8)
    table, summary = pandas.DataFrame(fits.table()), pandas.DataFrame(fits.summary())
    assert list(table.columns) == [
        "name",
        "split",
        "coverage",
        "mean_length",
        "median_length",
        "winkler",
        "rmse",
        "seconds",
    ]
    assert list(summary.name) == ["SplitConformal()", "PostStoNetRegressor(interval='fast')"]
    # 400 rows, 4.5 standard deviations of a mean.
    assert np.all(np.abs(summary.coverage - 0.8) < 4.5 * 0.02)
    assert all(f.estimator is None for f in fits) and len(fits[1:3]) == 2
    by_name = table.groupby("name", sort=False)
    for score in ("coverage", "winkler", "rmse"):
        np.testing.assert_allclose(summary[score], by_name[score].mean())
        np.testing.assert_allclose(summary[f"{score}_se"], by_name[score].sem())


def test_all_rows_give_heads(regression: Any) -> None:
    pandas = pytest.importorskip("pandas")
    x, y, d = regression
    frame = pandas.DataFrame(x, columns=list("abcdef")).assign(net=d)
    target = pandas.Series(y, name="price")
    head = PostStoNetRegressor(interval="fast", prediction_column="net", random_state=np.random.default_rng(3))
    (fit,) = _many.fit_many(carried, head, frame, target)
    seed = np.random.default_rng(3).integers(0, 2**63 - 1)
    here = PostStoNetRegressor(interval="fast", prediction_column="net", random_state=seed).fit(frame, target)
    assert fit.estimator._head.to_bytes() == here._head.to_bytes() and fit.estimator.n_jobs is None
    np.testing.assert_array_equal(fit.estimator.predict(frame), here.predict(frame))
    np.testing.assert_array_equal(fit.estimator.coef_, here.coef_)
    assert fit.split is None and fit.scores == {} and list(fit.estimator.feature_names_in_) == list(frame.columns)
    assert stonet.fit_many(head, frame, target).summary()["fits"] == [1]


def test_a_generator_is_asked_once_per_estimator(regression: Any) -> None:
    x, y, d = regression
    heads = []
    for spread in SPREADS:
        head = PostStoNetRegressor(interval="fast", random_state=np.random.RandomState(3))
        fits = _many.fit_many(spread, head, x, y, prediction=d, splits=3, keep_heads=True)
        heads.append([f.estimator._head.to_bytes() for f in fits])
    assert heads[0] == heads[1]


def test_groups_are_whole(regression: Any) -> None:
    x, y, d = regression
    groups = np.array([f"subject {i % 37}" for i in range(len(x))])
    head = PostStoNetRegressor(interval="fast", folds=3)
    fits = _many.fit_many(carried, head, x, y, prediction=d, groups=groups, splits=5, keep_heads=True)
    for fit, (train, test) in zip(
        fits, _many._splits.folds(5, 400, _many._splits.numbered(groups, 400), 1), strict=True
    ):
        assert not set(groups[train]) & set(groups[test]) and len(train) + len(test) == 400
        here = PostStoNetRegressor(interval="fast", folds=3).fit(x[train], y[train], d[train], groups[train])
        assert fit.estimator._head.to_bytes() == here._head.to_bytes()
    with pytest.raises(ValueError, match="split 0 cuts a group"):
        stonet.fit_many(head, x, y, groups=groups, splits=[(np.arange(200), np.arange(200, 400))])
    with pytest.raises(ValueError, match="splits is 38; with 37 groups it must be between 2 and 37"):
        stonet.fit_many(head, x, y, groups=groups, splits=38)


def test_splits_of_others(regression: Any) -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    x, y, _ = regression
    head, folds = LastLayerLaplace(), selection.KFold(3, shuffle=True, random_state=1)
    want = stonet.fit_many(head, x, y, splits=folds.split(x))
    for splits in (folds, list(folds.split(x)), [(~np.isin(np.arange(400), t), t) for _, t in folds.split(x)]):
        assert [f.scores for f in stonet.fit_many(head, x, y, splits=splits)] == [f.scores for f in want]
    groups = np.arange(400) // 10
    assert len(stonet.fit_many(head, x, y, groups=groups, splits=selection.GroupKFold(4))) == 4
    bad = {
        "row 3 is fitted on and judged on": [([1, 2, 3], [3, 4])],
        "count from 0 to 399": [([0, 1], [400])],
        "some on both sides": [([0, 1], [])],
        "splits is 'five'": "five",
        "splits is empty": [],
        "split 1 has 3 parts": [([0, 1], [2]), ([0], [1], [2])],
        "splits is 0.5": 0.5,
        "between 2 and 400": 1,
    }
    for text, splits in bad.items():
        with pytest.raises(ValueError, match=text):
            stonet.fit_many(head, x, y, splits=splits)


@pytest.mark.parametrize("spread", SPREADS)
def test_classes(spread: Any, classes: Any) -> None:
    z, labels = classes
    y = np.array(["cat", "dog", "eel"])[labels]
    heads = {"T": TemperatureScaling(), "vector": PostStoNetClassifier("vector", sets="split")}
    fits = _many.fit_many(spread, heads, z, y, splits=4, keep_heads=True, level=0.8)
    for fit, (train, test) in zip(fits, _many._splits.folds(4, 600, None, 1) * 2, strict=True):
        here = type(heads[fit.name])(**heads[fit.name].get_params()).fit(z[train], y[train])
        p = here.predict_proba(z[test])
        np.testing.assert_array_equal(fit.estimator.predict_proba(z[test]), p)
        for score, value in fit.scores.items():
            assert value == getattr(metrics, score)(y[test], p, classes=here.classes_), score
    assert set(fits[0].scores) == {"accuracy", "nll", "brier", "ece", "class_wise_ece", "adaptive_ece"}
    assert fits[-1].estimator.predict_set(z[:5])[1].shape == (5, 3, 1) and fits[-1].estimator.level == 0.8


def test_features_beside_logits(classes: Any) -> None:
    z, y = classes
    more = np.column_stack([z[:, 0] ** 2, z[:, 1]])
    head = PostStoNetClassifier("post-linear", folds=3)
    (fit, *_) = _many.fit_many(carried, head, z, y, features=more, splits=3, keep_heads=True)
    train, test = _many._splits.folds(3, 600, None, 1)[0]
    here = PostStoNetClassifier("post-linear", folds=3).fit(z[train], y[train], more[train])
    np.testing.assert_array_equal(
        fit.estimator.predict_proba(z[test], more[test]), here.predict_proba(z[test], more[test])
    )


@pytest.mark.parametrize("spread", SPREADS)
def test_a_failure_names_estimator_and_split(spread: Any, regression: Any) -> None:
    x, y, d = regression
    heads = {"good": SplitConformal(), "bad": PostStoNetRegressor(interval="widest")}
    with pytest.raises(ValueError, match=r"^estimator `bad`, split \d: .*widest"):
        _many.fit_many(spread, heads, x, y, prediction=d, splits=3)
    with pytest.raises(ValueError, match=r"^estimator `SplitConformal\(\)`: .*give prediction="):
        _many.fit_many(spread, SplitConformal(), x, y)
    names = np.array(["a"] * 399 + ["b"])
    # A class that the other folds have never seen.
    with pytest.raises(ValueError, match=r"^estimator `T`, split \d: "):
        _many.fit_many(spread, {"T": TemperatureScaling()}, x[:, :2], names, splits=3)


def test_what_is_refused_before_any_fit(regression: Any) -> None:
    x, y, d = regression

    def never(function: Any, shared: Any, tasks: Any) -> Any:
        raise AssertionError("nothing should be spread")

    for heads, error, text in (
        ([], ValueError, "no estimators"),
        ([CQR(), CQR()], ValueError, "the same"),
        ({"a": CQR(), "b": TemperatureScaling()}, ValueError, "regressors and classifiers"),
        ({"a": 7}, TypeError, "estimator `a` is 7"),
    ):
        with pytest.raises(error, match=text):
            _many.fit_many(never, heads, x, y)
    with pytest.raises(ValueError, match=r"features="):
        _many.fit_many(never, TemperatureScaling(), x, y > 0, prediction=d)
    with pytest.raises(ValueError, match="inconsistent"):
        _many.fit_many(never, CQR(), x, y, prediction=d[:-1])
    spoiled = x.copy()
    spoiled[311, 2] = np.nan
    with pytest.raises(ValueError, match="row 311, column 2"):
        _many.fit_many(never, CQR(), spoiled, y, splits=3)


def test_engines_that_repeat_or_forget(regression: Any) -> None:
    x, y, _ = regression
    closed = []

    def twice(function: Any, shared: Any, tasks: Any) -> Any:
        for i in (1, 1, 0):
            yield i, function(shared, tasks[i])

    def forgetful(function: Any, shared: Any, tasks: Any) -> Any:
        yield 0, function(shared, tasks[0])

    def watched(function: Any, shared: Any, tasks: Any) -> Any:
        try:
            yield from _many.serial(function, shared, tasks)
        finally:
            closed.append(True)

    seen: list[tuple[int, int]] = []
    done = _many.fit_many(
        twice, LastLayerLaplace(), x, y, splits=2, progress=lambda done, total: seen.append((done, total))
    )
    assert [f.split for f in done] == [0, 1] and seen == [(1, 2), (2, 2)]
    with pytest.raises(RuntimeError, match=r"without estimator `LastLayerLaplace\(\)`, split 1"):
        _many.fit_many(forgetful, LastLayerLaplace(), x, y, splits=2)
    with pytest.raises(ValueError, match="split 0"):
        _many.fit_many(watched, PostStoNetRegressor(interval="no"), x, y, splits=2)
    assert closed == [True]


def test_a_worker_of_another_version_says_so(regression: Any, tmp_path: Path) -> None:
    x, y, _ = regression

    def older(function: Any, shared: Any, tasks: Any) -> Any:
        shared = shared._replace(work=json.dumps({**json.loads(shared.work), "version": "0.0.1"}))
        return _many.serial(function, shared, tasks)

    with pytest.raises(ValueError, match=r"the driver 0\.0\.1"):
        _many.benchmark(older, x, y, epochs=2, splits=1, out=tmp_path)


@pytest.fixture(scope="module")
def told(tmp_path_factory: Any, regression: Any) -> tuple[Path, dict[str, Any]]:
    """What the command says of a small table, and where."""
    folder = tmp_path_factory.mktemp("command")
    x, y, _ = regression
    groups = np.arange(200) % 50 + 7
    write_csv(folder / "small.csv", ["a", "b", "who", "price"], [x[:200, 0], x[:200, 1], groups, y[:200]])
    flags = ["--target", "price", "--epochs", 3, "--splits", 3, "--seed", 5, "--level", 0.8, "--groups", "who"]
    printed = command("benchmark", folder / "small.csv", *flags, "--out", folder / "out", "--json")
    return folder, json.loads(printed)


def settings(regression: Any, out: Path, **more: Any) -> dict[str, Any]:
    x, y, _ = regression
    same = {"name": "small.csv", "target": "price", "epochs": 3, "splits": 3, "seed": 5, "level": 0.8, "out": out}
    groups = [f"who {i}" for i in np.arange(200) % 50 + 7]
    return {"X": x[:200, :2], "y": y[:200], "groups": groups, **same, **more}


def lines(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "benchmark.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("spread", [carried, processes])
def test_the_benchmark_of_the_command(spread: Any, regression: Any, told: Any, tmp_path: Path) -> None:
    folder, want = told
    found = _many.benchmark(spread, **settings(regression, tmp_path))
    assert timeless(found) == timeless(want)
    assert json.loads((tmp_path / "benchmark.json").read_text()) == found
    theirs = (folder / "out" / "benchmark.md").read_text().splitlines()
    ours = (tmp_path / "benchmark.md").read_text().splitlines()
    assert ours[0] == theirs[0] and len(ours) == len(theirs)
    # The same journals, in whatever order.
    by_index = [sorted(lines(where)[1:], key=lambda r: r["index"]) for where in (tmp_path, folder / "out")]
    assert lines(tmp_path)[0] == lines(folder / "out")[0] and timeless(by_index[0]) == timeless(by_index[1])


def test_the_benchmark_goes_on_where_it_was(regression: Any, told: Any, tmp_path: Path) -> None:
    _, want = told

    def killed(function: Any, shared: Any, tasks: Any) -> Any:
        for i, task in enumerate(tasks):
            if i == 1:
                raise ConnectionError("the cluster is gone")
            yield i, function(shared, task)

    with pytest.raises(ConnectionError, match="gone"):
        _many.benchmark(killed, **settings(regression, tmp_path))
    first = lines(tmp_path)
    assert len(first) == 2 and not (tmp_path / "benchmark.json").exists()
    given: list[Any] = []
    seen: list[tuple[int, int]] = []

    def counted(function: Any, shared: Any, tasks: Any) -> Any:
        given.extend(tasks)
        return carried(function, shared, tasks)

    more = settings(regression, tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert timeless(_many.benchmark(counted, **more)) == timeless(want)
    assert given == [1, 2] and seen == [(2, 3), (3, 3)] and lines(tmp_path)[:2] == first
    # There is nothing left to do.
    assert timeless(_many.benchmark(killed, **more)) == timeless(want) and given == [1, 2]


def test_python_and_the_command_continue_each_other(regression: Any, told: Any, tmp_path: Path) -> None:
    folder, want = told
    flags = ["--target", "price", "--epochs", 3, "--seed", 5, "--level", 0.8, "--groups", "who", "--json"]
    run = ["benchmark", folder / "small.csv", *flags, "--out", tmp_path]
    command(*run, "--splits", 1)
    first = lines(tmp_path)
    stonet.benchmark(**settings(regression, tmp_path, splits=2))
    second = lines(tmp_path)
    assert len(first) == 2 and len(second) == 3 and second[:2] == first
    assert timeless(json.loads(command(*run, "--splits", 3))) == timeless(want)
    assert lines(tmp_path)[:3] == second


def test_journals_of_other_rows_and_settings(regression: Any, told: Any, tmp_path: Path) -> None:
    folder, _ = told
    (tmp_path / "benchmark.jsonl").write_bytes((folder / "out" / "benchmark.jsonl").read_bytes())
    given = settings(regression, tmp_path)
    for changed in ({"X": given["X"] + 1.0}, {"groups": np.arange(200) % 49}):
        with pytest.raises(ValueError, match=r"`small\.csv \(price\)` comes from other rows; choose another out="):
            stonet.benchmark(**{**given, **changed})
    with pytest.raises(ValueError, match="other settings; choose another out="):
        stonet.benchmark(**{**given, "seed": 6})


def test_what_a_benchmark_refuses(regression: Any, tmp_path: Path) -> None:
    x, y, _ = regression
    out = tmp_path / "out"
    for more, text in (
        ({"splits": 0}, "splits is 0"),
        ({"epochs": 0}, "epochs is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"level": 90}, "between 0 and 1"),
        ({"y": np.column_stack([y, y])}, "run one per target"),
        ({"groups": [1, 2]}, "inconsistent"),
    ):
        with pytest.raises(ValueError, match=text):
            stonet.benchmark(**{"X": x, "y": y, "out": out, **more})
    assert not out.exists()
    with pytest.raises(ValueError, match="split 0: 20 rows cannot be split"):
        stonet.benchmark(x[:20], y[:20], out=out)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        stonet.benchmark(x, y, out=tmp_path / "file")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_ctrl_c_ends_a_benchmark(regression: Any, tmp_path: Path) -> None:
    x, y, _ = regression
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        stonet.benchmark(x, y, epochs=1_000_000, splits=1, out=tmp_path)
    assert len(lines(tmp_path)) == 1
