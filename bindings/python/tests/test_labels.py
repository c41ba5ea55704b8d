"""Labels and columns: which class a column belongs to, what columns are, and which type labels have."""

from __future__ import annotations

import datetime
import os
import pathlib
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import stonet
from stonet import PostStoNetClassifier, TemperatureScaling

CIFAR = ["plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def outputs(rows: int, columns: int, classes: int, right: float = 0.9, seed: int = 1) -> tuple[Any, Any]:
    """Return logits of a network that is right in a share of the rows, and the classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    said = np.where(rng.random(rows) < right, y, rng.integers(0, columns, rows))
    return rng.normal(size=(rows, columns)) + 6 * np.eye(columns)[said], y


def silent(act: Any) -> Any:
    """Return what is returned without a warning of ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        return act()


def test_absent_classes_keep_their_logits() -> None:
    z, y = outputs(250, 100, 90, 0.75)
    with pytest.warns(UserWarning, match=r"taken for logits.*kind=\"features\""):
        head = TemperatureScaling().fit(z, y)
    assert head.kind_ == "logits" and list(head.classes_) == list(range(100)) and head.classes_.dtype == y.dtype
    np.testing.assert_array_equal(head.predict(z), z.argmax(axis=1))
    assert silent(lambda: TemperatureScaling(kind="logits").fit(z, y)).predict_proba(z).shape == (250, 100)


def test_features_with_whole_numbers_stay_features() -> None:
    rng = np.random.default_rng(2)
    y = np.arange(500) % 10
    x = rng.normal(size=(500, 64)) + 3 * np.eye(64)[30 + y]
    with pytest.warns(UserWarning, match=r"taken for features.*kind=\"logits\""):
        head = PostStoNetClassifier(method="post-linear").fit(x, y)
    assert head.kind_ == "features" and len(head.classes_) == 10 and head.score(x, y) > 0.9
    silent(lambda: PostStoNetClassifier(method="post-linear", kind="features").fit(x, y))


def test_real_logits_with_ninety_of_a_hundred_classes() -> None:
    data = os.environ.get("STONET_DATA")
    if data is None:
        pytest.skip("STONET_DATA does not name a directory with logits/")
    path = pathlib.Path(data) / "logits" / "netcal_densenetbc100_c100.csv.gz"
    rows = np.loadtxt(path, delimiter=",", skiprows=1)
    z, y = rows[:, 1:-1], rows[:, -1].astype(int)
    fit = np.flatnonzero((np.arange(len(y)) < 5000) & (y < 90))[:250]
    test = slice(5000, 10000)
    with pytest.warns(UserWarning, match="taken for logits"):
        head = TemperatureScaling().fit(z[fit], y[fit])
    assert head.predict_proba(z[test]).shape == (5000, 100)
    assert head.score(z[test], y[test]) == np.mean(z[test].argmax(axis=1) == y[test]) > 0.72


@pytest.mark.parametrize(
    "method", ["temperature", "vector", "matrix-odir", "post-linear", "isotonic", "none", "skip-linear"]
)
def test_folds_without_a_class_are_finite(method: str) -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    z, y = outputs(160, 12, 12, 0.8)
    y = np.where(
        np.arange(160) == 7, 11, np.where(y == 11, 10, y)
    )  # one row of class 11, so that one fold is fitted without it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = selection.cross_val_score(
            PostStoNetClassifier(method=method), z, y, cv=selection.KFold(4), error_score="raise"
        )
    assert np.isfinite(found).all()
    seen = y != 11
    head = PostStoNetClassifier(method=method, kind="logits").fit(z[seen], y[seen])
    p = head.predict_proba(z)
    assert p.shape == (160, 12) and np.isfinite(p).all() and np.isfinite(head.score(z, y))


def test_classes_in_the_order_of_the_columns() -> None:
    z, y = outputs(500, 10, 10)
    names = np.array(CIFAR)[y]
    with pytest.warns(UserWarning, match="another order") as found:
        assert TemperatureScaling().fit(z, names).score(z, names) < 0.4
    assert f"classes={str(CIFAR).replace(chr(39), chr(34))}" in str(found[0].message)
    head = silent(lambda: TemperatureScaling(classes=CIFAR).fit(z, names))
    assert list(head.classes_) == CIFAR and head.score(z, names) > 0.85
    few = y < 8
    head = silent(lambda: PostStoNetClassifier(method="temperature", classes=np.array(CIFAR)).fit(z[few], names[few]))
    assert head.predict_proba(z).shape == (500, 10) and head.score(z[few], names[few]) > 0.85
    with pytest.warns(UserWarning, match="name all 10 classes in the order of the columns by classes="):
        assert PostStoNetClassifier(method="post-linear").fit(z[few], names[few]).kind_ == "features"


def test_names_of_columns_tell_the_classes() -> None:
    pandas = pytest.importorskip("pandas")
    z, y = outputs(500, 10, 10)
    frame = pandas.DataFrame(z, columns=[f"logit_{n}" for n in CIFAR])
    head = silent(lambda: TemperatureScaling().fit(frame, np.array(CIFAR)[y]))
    assert list(head.classes_) == CIFAR and head.score(frame, np.array(CIFAR)[y]) > 0.85


def test_texts_of_numbers_go_by_value() -> None:
    z, y = outputs(600, 12, 12)
    head = silent(lambda: TemperatureScaling().fit(z, y.astype(str)))
    assert list(head.classes_) == [str(k) for k in range(12)] and head.score(z, y.astype(str)) > 0.85


def test_wrong_classes_are_named() -> None:
    z, y = outputs(100, 3, 3)
    cases = [
        ("classes is 'abc'", "abc"),
        ("classes is 3", 3),
        ("kind text, and y of kind integer", ["a", "b", "c"]),
        ("row 2 (from 0): `2` is not among the classes", [0, 1, 5]),
        ("are both called `1`", [0, 1, 1]),
    ]
    for words, classes in cases:
        with pytest.raises(ValueError) as found:  # noqa: PT011
            TemperatureScaling(classes=classes).fit(z, y)
        assert words in str(found.value), (words, str(found.value))
    with pytest.raises(ValueError, match=r"2 of 3 classes occur.*classes=.*kind=\"features\""):
        TemperatureScaling(kind="logits").fit(z, np.array(["a", "b"])[y % 2])


KINDS: list[tuple[str, Any]] = [
    ("int64", np.array([3, 7])),
    ("uint8", np.array([0, 1], dtype=np.uint8)),
    ("texts with zeros in front", np.array(["01", "02"])),
    ("objects", np.array(["a", "b"], dtype=object)),
    ("texts with blanks", np.array([" a", "a"])),
    ("texts like numbers", np.array(["1", "1.0"])),
    ("bytes", np.array([b"x", b"y"])),
    ("booleans", np.array([False, True])),
    ("booleans as objects", np.array([False, True], dtype=object)),
    ("float64", np.array([1.0, 2.0])),
    ("float32", np.array([1.0, 2.0], dtype=np.float32)),
    ("days", np.array(["2024-02-28", "2024-02-29"], dtype="M8[D]")),
    ("months", np.array(["2024-01", "2024-02"], dtype="M8[M]")),
    ("nanoseconds", np.array(["2024-02-28T12:00", "2024-02-29"], dtype="M8[ns]")),
    ("dates", np.array([datetime.date(2024, 2, 28), datetime.date(2024, 2, 29)], dtype=object)),
    ("times", np.array([datetime.datetime(2024, 2, 28, 1), datetime.datetime(2024, 2, 29)], dtype=object)),
]


@pytest.mark.parametrize("labels", [k[1] for k in KINDS], ids=[k[0] for k in KINDS])
def test_labels_keep_their_type(labels: Any, tmp_path: Any) -> None:
    z, y = outputs(200, 2, 2)
    head = PostStoNetClassifier(method="temperature", kind="logits").fit(z, labels[y])
    assert head.score(z, labels[y]) > 0.85
    head.save(tmp_path / "head.stonet")
    for back in (PostStoNetClassifier.load(tmp_path / "head.stonet"), pickle.loads(pickle.dumps(head))):
        for other in (head, back):
            assert other.classes_.dtype.kind == labels.dtype.kind and list(other.classes_) == list(labels)
            assert type(other.classes_[0]) is type(labels[0])
        np.testing.assert_array_equal(back.predict(z), head.predict(z))
        assert back.predict(z).dtype == head.predict(z).dtype and back.score(z, labels[y]) == head.score(z, labels[y])


def test_scores_have_the_kind_of_the_labels() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    z, y = outputs(200, 2, 2)
    table = pyarrow.table({"c0": z[:, 0], "c1": z[:, 1]})
    types = {
        "int64": pyarrow.int64(),
        "texts with zeros in front": pyarrow.string(),
        "texts like numbers": pyarrow.string(),
        "booleans": pyarrow.bool_(),
        "float64": pyarrow.float64(),
        "days": pyarrow.date32(),
        "nanoseconds": pyarrow.timestamp("us"),
        "months": pyarrow.string(),
    }
    for name, labels in KINDS:
        if name not in types:
            continue
        head = PostStoNetClassifier(method="temperature", kind="logits").fit(z, labels[y])
        found = stonet.score(table, head)["class"]
        assert found.type == types[name], name
        empty = stonet.score(table.slice(0, 0), head)
        assert empty["class"].type == types[name] and empty.num_rows == 0
        if name != "months":
            np.testing.assert_array_equal(np.asarray(found.to_pylist(), dtype=labels.dtype), head.predict(z))


def test_frames_and_scores_name_columns_alike() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    z, y = outputs(200, 2, 2)
    for labels in (
        np.array([1.0, 2.0]),
        np.array([False, True]),
        np.array(["2024-02-28", "2024-02-29"], dtype="M8[ns]"),
    ):
        rows = pandas.DataFrame({"c0": z[:, 0], "c1": z[:, 1]})
        head = TemperatureScaling(kind="logits").fit(rows, labels[y])
        assert list(head.predict_frame(rows).columns) == stonet.score(pyarrow.table(rows), head).column_names


def test_sets_and_probabilities_survive_refused_intervals() -> None:
    z, y = outputs(300, 3, 3)
    with pytest.warns(UserWarning, match=r"without intervals.*isotonic"):
        head = PostStoNetClassifier(method="isotonic", sets="cv+", intervals=True).fit(z, y)
    for each in (head, pickle.loads(pickle.dumps(head))):
        assert each.predict_set(z)[1].any() and each.predict_proba(z).shape == (300, 3) and each.trust_ is None
        with pytest.raises(ValueError, match="isotonic"):
            each.predict_proba_interval(z)


def test_probabilities_survive_refused_sets() -> None:
    z, y = outputs(9, 3, 3)
    settings = {"scheme": {"cv-plus": {"folds": 20}}}
    with pytest.warns(UserWarning, match="without sets"):
        head = with_sets(z, y, settings)
    assert head.predict_proba(z).shape == (9, 3)
    with pytest.raises(ValueError, match="rows"):
        head.predict_set(z)
    with pytest.raises(ValueError, match="share"):
        with_sets(z, y, {"scheme": {"split": {"share": 1.5}}})


def with_sets(z: Any, y: Any, sets: Any) -> PostStoNetClassifier:
    return PostStoNetClassifier(method="temperature", kind="logits", sets=sets).fit(z, y)


def test_wrong_arguments_are_named() -> None:
    z, y = outputs(60, 3, 3)
    cases: list[tuple[str, dict[str, Any]]] = [
        ("sets is True; it must be None, 'cv+', 'split' or a dict", {"sets": True}),
        ("sets is 5", {"sets": 5}),
        ("kind is True; it must be one of 'auto', 'logits'", {"kind": True}),
        ("kind is ['logits']", {"kind": ["logits"]}),
        ("method is None; it must be one of 'stack'", {"method": None}),
        ("folds is '5'; it must be a whole number of at least 2", {"folds": "5"}),
        ("folds is 1;", {"folds": 1}),
        ("folds is True;", {"folds": True}),
        ("folds is 2.5;", {"folds": 2.5}),
        ("level is '0.9'; it must be a number strictly between 0 and 1", {"level": "0.9"}),
        ("level is 90; it must be a number strictly between 0 and 1", {"level": 90}),
        ("intervals is 'yes'; it must be True or False", {"intervals": "yes"}),
        ("settings is 'fast'; it must be None or a dict", {"settings": "fast"}),
    ]
    for words, arguments in cases:
        with pytest.raises(ValueError) as found:  # noqa: PT011
            PostStoNetClassifier(**arguments).fit(z, y)
        assert words in str(found.value), (words, str(found.value))


def test_one_column_is_the_output_of_a_binary_classifier_or_the_warning_says_what_it_is() -> None:
    rng = np.random.default_rng(3)
    z, noise = 3.0 * rng.normal(size=(300, 1)), rng.normal(size=(300, 1))
    y = np.where(z[:, 0] + rng.normal(size=300) > 0.0, "yes", "no")
    head = PostStoNetClassifier(method="temperature")
    with pytest.warns(UserWarning, match="taken for logits of the second class"):
        head.fit(z, y)
    assert list(head.classes_) == ["no", "yes"]
    assert (head.predict(z) == np.where(z[:, 0] > 0.0, "yes", "no")).all()
    told = pytest.warns(UserWarning, match='taken for a feature; .* pass kind="logits"')
    with told, pytest.raises(ValueError, match="only features"):
        head.fit(noise, y)


@pytest.mark.parametrize(("labels", "name"), [(np.zeros(40, dtype=int), "0"), (np.full(40, "cat"), "'cat'")])
def test_a_class_that_is_wrong_is_named_without_its_type(labels: Any, name: str) -> None:
    z, _ = outputs(40, 2, 2)
    with pytest.raises(ValueError, match=f"all rows are of one class, {name};"):
        TemperatureScaling().fit(z, labels)
    with pytest.raises(ValueError, match=f"y_true has the class {name}, which"):
        stonet.metrics.accuracy(labels, z, classes=np.array([1, 2]) if name == "0" else np.array(["a", "b"]))
