"""Arguments that are wrong: the error names the argument and what is allowed, in Python's words."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest

import stonet
from stonet import PostStoNetRegressor, _arguments

# Words of the Rust crates that users of Python have never met.
RAW = ("invalid type", "invalid value", "unknown variant", "unknown field", "line 1", "usize", "f64", "`")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"folds": "5"}, "folds is '5'; it must be a whole number of at least 2"),
        ({"folds": 5.0}, "folds is 5.0; it must be a whole number"),
        ({"folds": True}, "folds is True"),
        ({"folds": 1}, "folds is 1; it must be a whole number of at least 2"),
        ({"folds": None}, "folds is None"),
        ({"kappa": np.nan}, "kappa is nan; it must be 'cv', a finite number of at least 0"),
        ({"kappa": [0.01, np.inf]}, "kappa is inf"),
        ({"kappa": -1}, "kappa is -1"),
        ({"kappa": [0.2, 0.1]}, "strictly ascending"),
        ({"kappa": []}, "kappa is []"),
        ({"kappa": "best"}, "kappa is 'best'"),
        ({"kappa": None}, "kappa is None"),
        ({"hidden": "20"}, "hidden is '20'; it must be a whole number"),
        ({"hidden": (20, 0)}, "hidden is 0"),
        ({"hidden": 2.5}, "hidden is 2.5"),
        ({"trainer": "adam"}, "trainer is 'adam'; it must be one of 'asghmc', 'iro', 'asghmc+iro'"),
        ({"interval": "best"}, "interval is 'best'; it must be one of 'stack', 'cv+'"),
        ({"interval": 3}, "interval is 3"),
        ({"level": "0.9"}, "level is '0.9'; it must be a number strictly between 0 and 1"),
        ({"level": 90}, "level is 90; it must be a number strictly between 0 and 1"),
        ({"level": np.nan}, "level is nan"),
        ({"level": None}, "level is None"),
        ({"random_state": "a"}, "random_state is 'a'; it must be a whole number of at least 0"),
        ({"random_state": -1}, "random_state is -1"),
        ({"settings": [1]}, "settings is [1]; it must be None or a dict"),
        ({"settings": {"stonet": 3}}, "settings['stonet'] is 3; it must be a dict"),
        ({"settings": {"step": 3}}, 'settings has no "step"; it has kind, folds, learned_scale'),
        ({"settings": {"stonet": {"step": 3}}}, 'settings["stonet"] has no "step"; it has hidden'),
        (
            {"settings": {"stonet": {"steps": "many"}}},
            'settings["stonet"]["steps"] is "many"; it must be a whole number of',
        ),
        ({"settings": {"stonet": {"steps": -1}}}, 'settings["stonet"]["steps"] is -1; it must be a whole number of'),
        ({"settings": {"learned_scale": "no"}}, 'settings["learned_scale"] is "no"; it must be True or False'),
        ({"settings": {"split_share": "x", "nested": False}}, 'settings["split_share"] is "x"; it must be a number'),
        ({"settings": {"split_share": np.nan}}, "settings['split_share'] is nan; it must be a finite number"),
        ({"settings": {"split_share": {1, 2}}}, "settings['split_share'] is {1, 2}"),
        ({"prediction_column": 1.5}, "prediction_column is 1.5"),
        ({"train_error": "a"}, "train_error is 'a'; it must be a number"),
        ({"n_jobs": "2"}, "n_jobs is '2'; it must be None, -1 or a whole number"),
        ({"n_jobs": 1.5}, "n_jobs is 1.5"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"fingerprints": "no"}, "fingerprints is 'no'; it must be True or False"),
    ],
)
def test_a_wrong_argument_is_named(regression: Any, arguments: dict[str, Any], words: str) -> None:
    x, y, _ = regression
    with pytest.raises((ValueError, TypeError)) as found:
        PostStoNetRegressor(**{"interval": "fast", **arguments}).fit(x, y)
    assert words in str(found.value)
    assert not [raw for raw in RAW if raw in str(found.value)]


def test_wrong_settings_of_baselines_are_named(regression: Any) -> None:
    x, y, d = regression
    cases: list[tuple[Any, str]] = [
        (
            stonet.CQR(settings={"network": {"steps": "x"}}),
            'settings["network"]["steps"] is "x"; it must be a whole number',
        ),
        (stonet.CQR(settings={"net": {}}), 'settings has no "net"; it has'),
        (stonet.NormalisedConformal(settings={"floor": None}), 'settings["floor"] is None; it must be a number'),
        (stonet.SplitConformal(settings={"folds": 3}), "SplitConformal has none"),
        (stonet.LastLayerLaplace(settings={"folds": 3}), "LastLayerLaplace has none"),
        (stonet.CQR(level=1), "level is 1; it must be a number strictly between 0 and 1"),
        (stonet.CQR(settings="fast"), "settings is 'fast'"),
        (stonet.CQR(n_jobs="2"), "n_jobs is '2'"),  # type: ignore[arg-type]
    ]
    for estimator, words in cases:
        with pytest.raises(ValueError) as found:  # noqa: PT011
            estimator.fit(x, y, d)
        assert words in str(found.value) and not [raw for raw in RAW if raw in str(found.value)], str(found.value)


def test_wrong_arguments_of_predictions_are_named(regression: Any) -> None:
    x, y, _ = regression
    head = PostStoNetRegressor(interval="fast").fit(x, y)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"side": "middle"}, "side is 'middle'; it must be one of 'both', 'lower', 'upper'"),
        ({"confidence_level": "high"}, "confidence_level is 'high'; it must be a number strictly between 0 and 1"),
        ({"confidence_level": [0.5, 1.0]}, "confidence_level is 1.0"),
        ({"confidence_level": []}, "confidence_level is empty"),
        ({"confidence_level": True}, "confidence_level is True"),
    ]
    for arguments, words in cases:
        with pytest.raises(ValueError) as found:  # noqa: PT011
            head.predict_interval(x, **arguments)
        assert words in str(found.value)
    for act in (lambda: head.guarantee(90), lambda: stonet.report(head, x, y, confidence_level=90)):
        with pytest.raises(ValueError, match="confidence_level is 90; it must be a number strictly between 0 and 1"):
            act()


def test_types_list_what_the_library_knows(regression: Any, classes: Any) -> None:
    """Every text of a Literal type is a name in Rust, and Rust knows no other."""
    x, y, _ = regression
    made = PostStoNetRegressor(interval="fast").fit(x, y)
    from stonet import _core
    from stonet._base import to_json

    def known(setting: dict[str, Any]) -> set[str]:
        columns = to_json({"features": [f"c{i}" for i in range(6)], "prediction": [], "targets": ["y"]})
        with pytest.raises(ValueError, match="there are") as found:
            _core.Regression.fit(
                x, y.reshape(-1, 1), None, None, settings=to_json(setting), columns=columns, level=0.9, seed=1
            )
        return set(str(found.value).split("there are ")[1].replace(" and ", ", ").replace("`", "").split(", "))

    assert known({"kind": "?"}) == set(get_args(_arguments.Interval))
    assert known({"stonet": {"algorithm": "?"}}) == set(get_args(_arguments.Trainer))
    for side in get_args(_arguments.Side):
        made.predict_interval(x[:2], side=side)
    with pytest.raises(ValueError, match="there are") as found:
        stonet.PostStoNetClassifier(method="?").fit(*classes)  # type: ignore[arg-type]
    names = str(found.value).split("there are ")[1].replace(" and ", ", ").replace("`", "").split(", ")
    assert set(names) == set(get_args(_arguments.Method))


def test_weights_of_rows_are_refused_with_the_reason(regression: Any, classes: Any) -> None:
    x, y, d = regression
    weights = np.ones(len(y))
    for estimator, rows in (
        (PostStoNetRegressor(interval="fast"), (x, y, d)),
        (stonet.SplitConformal(), (x, y, d)),
        (stonet.TemperatureScaling(), classes),
    ):
        with pytest.raises(TypeError, match=r"does not take sample_weight: .* w / w.max\(\)"):
            estimator.fit(*rows, sample_weight=weights if estimator._type == "regressor" else np.ones(600))
        with pytest.raises(TypeError, match="unexpected keyword argument 'group'"):
            estimator.fit(*rows, group=weights)
        # Scores take them: a row of weight 2 is a row that is there twice.
        estimator.fit(*rows)
        count = np.arange(len(rows[1])) % 3
        beside = {"prediction": rows[2]} if len(rows) > 2 else {}
        twice = {n: np.repeat(v, count, axis=0) for n, v in beside.items()}
        weighted = estimator.score(rows[0], rows[1], sample_weight=count, **beside)
        repeated = estimator.score(np.repeat(rows[0], count, axis=0), np.repeat(rows[1], count), **twice)
        np.testing.assert_allclose(weighted, repeated, rtol=1e-12)
        with pytest.raises(ValueError, match="sample_weight has shape"):
            estimator.score(rows[0], rows[1], sample_weight=[1.0], **beside)
