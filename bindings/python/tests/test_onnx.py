"""ONNX networks in Python: run on arrays, put in front of heads, and heads written behind them."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import stonet
from stonet import OnnxNetwork, PostStoNetClassifier, PostStoNetRegressor


class Trained(NamedTuple):
    place: Path
    x: Any
    y: Any
    features: Any
    output: Any


def command(place: Path, *arguments: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "stonet._cli", *arguments], cwd=place, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


def write(path: Path, names: list[str], *columns: Any) -> None:
    np.savetxt(path, np.column_stack(columns), delimiter=",", header=",".join(names), comments="", fmt="%.9g")


def train(place: Path, task: str) -> Trained:
    """A network that the command has trained, and what it gives for the rows by `stonet features`."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(400, 3)).round(6)
    y = x[:, 0] + np.tanh(x[:, 1]) + 0.3 * rng.normal(size=400)
    if task == "classification":
        y = np.digitize(y, [-0.5, 0.5])
    write(place / "raw.csv", ["a", "b", "c", "y"], x, y)
    command(
        place, "train", "raw.csv", "--task", task, "--target", "y", "--hidden", "8", "--epochs", "5", "-o", "net.onnx"
    )
    command(place, "features", "net.onnx", "raw.csv", "--keep", "y", "-o", "f.csv")
    found = np.genfromtxt(place / "f.csv", delimiter=",", names=True)
    features = np.column_stack([found[n] for n in found.dtype.names if n[0] == "f"])
    output = np.column_stack([found[n] for n in found.dtype.names if n[0] == "z" or n == "prediction"])
    return Trained(place, x, y, features, output)


@pytest.fixture(scope="module")
def regressed(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return train(tmp_path_factory.mktemp("regression"), "regression")


@pytest.fixture(scope="module")
def classified(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return train(tmp_path_factory.mktemp("classification"), "classification")


@pytest.mark.parametrize("task", ["regressed", "classified"])
def test_a_network_gives_what_the_command_writes(task: str, request: pytest.FixtureRequest) -> None:
    t: Trained = request.getfixturevalue(task)
    network = OnnxNetwork(t.place / "net.onnx")
    features = network.features(t.x)
    assert features.dtype == np.float64 and features.shape == (400, 8)
    np.testing.assert_allclose(features, t.features, rtol=1e-5, atol=1e-6)
    found = network(t.x, n_jobs=1)
    np.testing.assert_array_equal(found.features, features)
    np.testing.assert_allclose(found.output, t.output, rtol=1e-5, atol=1e-6)
    assert found.target is None
    for layout in (t.x.astype(np.float32), np.asfortranarray(t.x), t.x.tolist()):
        np.testing.assert_array_equal(network.features(layout), features)


def test_a_network_scales_taps_and_finds_columns(regressed: Trained) -> None:
    pandas = pytest.importorskip("pandas")
    path = regressed.place / "net.onnx"
    plain = OnnxNetwork(path).features(regressed.x)
    scaled = OnnxNetwork(path, scale=0.5, mean=[1.0, 2.0, 3.0], std=2.0)
    np.testing.assert_allclose(scaled.features(2 * (2 * regressed.x + [1, 2, 3])), plain, rtol=1e-4, atol=1e-5)
    frame = pandas.DataFrame(regressed.x, columns=["a", "b", "c"]).assign(id=1)[["id", "c", "a", "b"]]
    np.testing.assert_array_equal(OnnxNetwork(path).features(frame), plain)
    with pytest.raises(ValueError, match="x has no column 'b'"):
        OnnxNetwork(path).features(frame.drop(columns="b"))
    onnx = pytest.importorskip("onnx")
    tensor = onnx.load(path).graph.node[0].output[0]
    assert OnnxNetwork(path, tap=tensor).features(regressed.x).shape[0] == 400
    copy = pickle.loads(pickle.dumps(scaled))
    assert copy == scaled and np.array_equal(copy.features(regressed.x), scaled.features(regressed.x))


def test_images_keep_their_axes(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    weights = np.random.default_rng(1).normal(size=(2, 3)).astype(np.float32)
    nodes = [
        helper.make_node("GlobalAveragePool", ["x"], ["p"]),
        helper.make_node("Flatten", ["p"], ["h"]),
        helper.make_node("Gemm", ["h", "w"], ["z"], transB=1),
        helper.make_node("Neg", ["z"], ["minus"]),
    ]
    value = lambda n, s: helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, s)  # noqa: E731
    outputs = [value("z", ["N", 2]), value("minus", ["N", 2])]
    graph = helper.make_graph(
        nodes, "g", [value("x", ["N", 3, 4, 4])], outputs, [numpy_helper.from_array(weights, "w")]
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "n.onnx")
    images = np.random.default_rng(2).integers(0, 256, size=(5, 3, 4, 4), dtype=np.uint8)
    network = OnnxNetwork(tmp_path / "n.onnx", scale=1 / 255, mean=[0.4, 0.5, 0.6], std=[0.2, 0.3, 0.4], tap="h")
    want = (images.mean(axis=(2, 3)) / 255 - [0.4, 0.5, 0.6]) / [0.2, 0.3, 0.4]
    np.testing.assert_allclose(network.features(images), want, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match=r"several outputs, 'z', 'minus'; .* output="):
        network(images)
    for name, sign in (("z", 1), ("minus", -1)):
        chosen = OnnxNetwork(tmp_path / "n.onnx", tap="h", output=name)
        np.testing.assert_allclose(
            chosen(images).output, sign * chosen.features(images) @ weights.T, rtol=1e-4, atol=1e-3
        )
    with pytest.raises(ValueError, match="output is 'y'; the network has 'z', 'minus'"):
        OnnxNetwork(tmp_path / "n.onnx", tap="h", output="y")(images)


def test_bad_inputs_of_networks_are_named(regressed: Trained) -> None:
    path = regressed.place / "net.onnx"
    bad = regressed.x.copy()
    bad[7, 2] = np.nan
    huge = regressed.x.copy()
    huge[3, 1] = 1e39
    for words, act in {
        "row 7, column 2": lambda: OnnxNetwork(path).features(bad),
        "infinity.*\nIt is in row 3, column 1": lambda: OnnxNetwork(path).features(huge),
        "shape": lambda: OnnxNetwork(path).features(regressed.x[0]),
        "Complex": lambda: OnnxNetwork(path).features(regressed.x + 1j),
        "std": lambda: OnnxNetwork(path, std=0.0).features(regressed.x),
        "scale is nan": lambda: OnnxNetwork(path, scale=np.nan).features(regressed.x),
        "batch is 0": lambda: OnnxNetwork(path, batch=0).features(regressed.x),
        "runtime is 'gpu'": lambda: OnnxNetwork(path, runtime="gpu").features(regressed.x),  # type: ignore[arg-type]
        "nowhere": lambda: OnnxNetwork(path, tap="nowhere").features(regressed.x),
        "3": lambda: OnnxNetwork(path).features(regressed.x[:, :2]),
    }.items():
        with pytest.raises(ValueError, match=words):
            act()


def test_threads_share_a_network(regressed: Trained) -> None:
    network = OnnxNetwork(regressed.place / "net.onnx")
    want, found = network.features(regressed.x), []
    threads = [threading.Thread(target=lambda: found.append(network.features(regressed.x))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6 and all(np.array_equal(f, want) for f in found)


def test_a_network_with_its_head(regressed: Trained, classified: Trained) -> None:
    network = OnnxNetwork(regressed.place / "net.onnx")
    both = stonet.PostStoNet(network, interval="fast").fit(regressed.x, regressed.y)
    features, output, _ = network(regressed.x)
    want = PostStoNetRegressor(interval="fast").fit(features, regressed.y, output, also=regressed.x)
    expected = want.predict_interval(features, output, also=regressed.x)[1]
    np.testing.assert_array_equal(both.predict_interval(regressed.x)[1], expected)
    # The file of the network names its inputs.
    assert list(both.head_.also_names_in_) == ["a", "b", "c"]
    pa = pytest.importorskip("pyarrow")
    scored = stonet.score(pa.table({n: regressed.x[:, i] for i, n in enumerate("abc")}), both)
    np.testing.assert_allclose(np.asarray(scored.column("prediction")), both.predict(regressed.x), rtol=1e-6)
    sure = stonet.PostStoNet(OnnxNetwork(classified.place / "net.onnx"), method="temperature")
    assert sure.fit(classified.x, classified.y).predict_proba(classified.x).shape == (400, 3)


class TestExport:
    @pytest.fixture
    def run(self) -> Any:
        runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: exported files were not run")

        def run(path: Path, **inputs: Any) -> dict[str, Any]:
            session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
            named = {
                i.name: np.asarray(inputs.get(i.name, inputs.get("x")), dtype=np.float32) for i in session.get_inputs()
            }
            return dict(zip([o.name for o in session.get_outputs()], session.run(None, named), strict=True))

        return run

    def test_intervals_behind_their_network_and_alone(self, regressed: Trained, run: Any, tmp_path: Path) -> None:
        network = OnnxNetwork(regressed.place / "net.onnx")
        features, output, _ = network(regressed.x)
        head = PostStoNetRegressor(interval="fast").fit(features, regressed.y, output)
        point, bounds = head.predict_interval(features, output, confidence_level=0.8)
        for given in (regressed.place / "net.onnx", network):
            head.to_onnx(tmp_path / "both.onnx", network=given, level=0.8)
            found = run(tmp_path / "both.onnx", x=regressed.x)
            assert set(found) == {"stonet_prediction", "lower", "upper"} or set(found) == {
                "prediction",
                "lower",
                "upper",
            }
            np.testing.assert_allclose(found["lower"].ravel(), bounds[:, 0, 0], rtol=1e-3, atol=1e-3)
            np.testing.assert_allclose(found["upper"].ravel(), bounds[:, 1, 0], rtol=1e-3, atol=1e-3)
        head.to_onnx(tmp_path / "alone.onnx", level=0.8)
        found = run(tmp_path / "alone.onnx", features=features, network_prediction=output)
        np.testing.assert_allclose(found["prediction"].ravel(), point, rtol=1e-3, atol=1e-3)
        # The same file as the command's.
        head.save(tmp_path / "head.stonet")
        command(tmp_path, "export", "head.stonet", "-o", "command.onnx", "--level", "0.8")
        assert (tmp_path / "command.onnx").read_bytes() == (tmp_path / "alone.onnx").read_bytes()
        head.to_onnx(tmp_path / "kept.onnx", network=network, keep_outputs=True)
        assert len(run(tmp_path / "kept.onnx", x=regressed.x)) == 4

    def test_inputs_beside_the_features_are_in_the_same_file(
        self, regressed: Trained, run: Any, tmp_path: Path
    ) -> None:
        network = OnnxNetwork(regressed.place / "net.onnx")
        both = stonet.PostStoNet(network, interval="fast").fit(regressed.x, regressed.y)
        assert both.head_.n_also_in_ == 3
        want = both.predict_interval(regressed.x, confidence_level=0.8)[1]
        features, output, _ = network(regressed.x)
        some = PostStoNetRegressor(interval="fast")
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame({"c": regressed.x[:, 2], "a": regressed.x[:, 0]})
        some.fit(features, regressed.y, output, also=frame)
        bounds = some.predict_interval(features, output, confidence_level=0.8, also=frame)[1]
        for head, ends in ((both.head_, want), (some, bounds)):
            head.to_onnx(tmp_path / "both.onnx", network=network, level=0.8)
            found = run(tmp_path / "both.onnx", x=regressed.x)
            np.testing.assert_allclose(found["lower"].ravel(), ends[:, 0, 0], rtol=1e-3, atol=1e-3)
            np.testing.assert_allclose(found["upper"].ravel(), ends[:, 1, 0], rtol=1e-3, atol=1e-3)
            # The command writes the same.
            head.save(tmp_path / "head.stonet")
            net = str(regressed.place / "net.onnx")
            command(tmp_path, "export", "head.stonet", "-o", "command.onnx", "--level", "0.8", "--network", net)
            assert (tmp_path / "command.onnx").read_bytes() == (tmp_path / "both.onnx").read_bytes()
        other = PostStoNetRegressor(interval="fast").fit(
            features, regressed.y, output, also=frame.rename(columns={"a": "w"})
        )
        wide = PostStoNetRegressor(interval="fast").fit(features, regressed.y, output, also=regressed.x[:, :2])
        plain = PostStoNetRegressor(interval="fast").fit(features, regressed.y, output)
        path = tmp_path / "no.onnx"
        for words, act in {
            "not all among the network's inputs `a`, `b`, `c`": lambda: other.to_onnx(path, network=network),
            "2 of them, and the network has 3 inputs": lambda: wide.to_onnx(path, network=network),
            "2 names and 3 columns": lambda: some.to_onnx(path, network=network, inputs=["c", "a"]),
            "inputs is for a head that was fitted with also=": lambda: plain.to_onnx(
                path, network=network, inputs="abc"
            ),
            "no network; give network=": lambda: some.to_onnx(path, inputs=["c", "a"]),
        }.items():
            with pytest.raises(ValueError, match=words):
                act()
        assert not path.exists()

    def test_probabilities_behind_their_network(self, classified: Trained, run: Any, tmp_path: Path) -> None:
        network = OnnxNetwork(classified.place / "net.onnx")
        for head in (PostStoNetClassifier(method="vector"), stonet.TemperatureScaling()):
            head.fit(network(classified.x).output, classified.y)
            head.to_onnx(tmp_path / "sure.onnx", network=network)
            found = run(tmp_path / "sure.onnx", x=classified.x)
            name = next(n for n in found if n.endswith("probabilities"))
            np.testing.assert_allclose(found[name], head.predict_proba(network(classified.x).output), atol=1e-4)

    def test_isotonic_maps_behind_their_network(self, classified: Trained, run: Any, tmp_path: Path) -> None:
        network = OnnxNetwork(classified.place / "net.onnx")
        logits = network(classified.x).output
        head = stonet.IsotonicCalibration().fit(logits, classified.y)
        head.to_onnx(tmp_path / "sure.onnx", network=network)
        found = run(tmp_path / "sure.onnx", x=classified.x)
        name = next(n for n in found if n.endswith("probabilities"))
        # Rows of the fit are knots of the maps, some of them at the foot of a steep step: few of them may differ.
        apart = np.abs(found[name] - head.predict_proba(logits))
        assert apart.mean() < 1e-4
        assert np.quantile(apart, 0.95) < 1e-4

    def test_what_cannot_be_exported_is_an_error_and_no_file(self, regressed: Trained, tmp_path: Path) -> None:
        network = OnnxNetwork(regressed.place / "net.onnx")
        features, output, _ = network(regressed.x)
        head = PostStoNetRegressor(interval="fast").fit(features, regressed.y, output)
        path = tmp_path / "no.onnx"
        scaled = OnnxNetwork(regressed.place / "net.onnx", scale=2.0)
        for words, act in {
            "level has two levels of 80 %; leave one of them out": lambda: head.to_onnx(path, level=[0.8, 0.9, 0.8]),
            "side is 'left'": lambda: head.to_onnx(path, side="left"),  # type: ignore[arg-type]
            "too few": lambda: head.to_onnx(path, level=[0.9, 0.9999]),
            "no network; give network=": lambda: head.to_onnx(path, tap="h"),
            "scale, mean or std": lambda: head.to_onnx(path, network=scaled),
            "not fitted": lambda: PostStoNetRegressor().to_onnx(path),
            "strictly between": lambda: head.to_onnx(path, level=90),
            "nowhere": lambda: head.to_onnx(path, network=network, tap="nowhere"),
            "would replace": lambda: head.to_onnx(regressed.place / "net.onnx", network=network),
        }.items():
            with pytest.raises(ValueError, match=words):
                act()
        with pytest.raises(FileNotFoundError, match=r"missing\.onnx"):
            head.to_onnx(path, network="missing.onnx")
        with pytest.raises(TypeError, match="network is a dict"):
            head.to_onnx(path, network={})
        with pytest.raises(OSError, match="nowhere"):
            head.to_onnx(tmp_path / "nowhere" / "no.onnx")
        assert not path.exists() and not list(tmp_path.iterdir())

    def test_columns_in_another_order_are_not_joined(self, regressed: Trained, tmp_path: Path) -> None:
        pandas = pytest.importorskip("pandas")
        names = [f"f{i}" for i in range(regressed.features.shape[1])]
        frame = pandas.DataFrame(regressed.features, columns=names)
        head = PostStoNetRegressor(interval="fast").fit(frame[names[::-1]], regressed.y)
        with pytest.raises(ValueError, match=r"f7, f6, .* in this order"):
            head.to_onnx(tmp_path / "no.onnx", network=regressed.place / "net.onnx")
        assert not list(tmp_path.iterdir())

    def test_several_levels(self, regressed: Trained, run: Any, tmp_path: Path) -> None:
        head = PostStoNetRegressor(interval="fast").fit(regressed.features, regressed.y)
        head.to_onnx(tmp_path / "head.onnx", level=[0.8, 0.95])
        found = run(tmp_path / "head.onnx", features=regressed.features)
        bounds = head.predict_interval(regressed.features, confidence_level=[0.8, 0.95])[1]
        for i, percent in enumerate((80, 95)):
            np.testing.assert_allclose(found[f"lower_{percent}"].ravel(), bounds[:, 0, i], rtol=1e-3, atol=1e-3)
            np.testing.assert_allclose(found[f"upper_{percent}"].ravel(), bounds[:, 1, i], rtol=1e-3, atol=1e-3)
        # The same file as the command's.
        head.save(tmp_path / "head.stonet")
        command(tmp_path, "export", "head.stonet", "-o", "command.onnx", "--level", "0.8,0.95")
        assert (tmp_path / "command.onnx").read_bytes() == (tmp_path / "head.onnx").read_bytes()

    def test_one_side(self, regressed: Trained, run: Any, tmp_path: Path) -> None:
        head = PostStoNetRegressor(interval="fast").fit(regressed.features, regressed.y)
        head.to_onnx(tmp_path / "head.onnx", side="lower")
        found = run(tmp_path / "head.onnx", features=regressed.features)
        bounds = head.predict_interval(regressed.features, side="lower")[1]
        assert set(found) == {"prediction", "lower"}
        np.testing.assert_allclose(found["lower"].ravel(), bounds[:, 0, 0], rtol=1e-3, atol=1e-3)

    @pytest.mark.parametrize("interval", ["stack", "cv+", "cv", "paper", "fast", "split"])
    def test_every_kind_with_several_targets_and_joint(
        self, regressed: Trained, run: Any, tmp_path: Path, interval: Any
    ) -> None:
        y = np.column_stack([regressed.y, regressed.y - 2 * regressed.x[:, 2]])
        output = np.column_stack([regressed.output, regressed.output])
        quick = {"stonet": {"steps": 100}}
        head = PostStoNetRegressor(interval=interval, folds=3, settings=quick).fit(regressed.features, y, output)
        head.to_onnx(tmp_path / "head.onnx", level=[0.6, 0.9], joint=True)
        found = run(tmp_path / "head.onnx", features=regressed.features, network_prediction=output)
        point, bounds = head.predict_interval(regressed.features, output, confidence_level=[0.6, 0.9], joint=True)
        np.testing.assert_allclose(found["prediction"], point, rtol=1e-3, atol=1e-3)
        for i, percent in enumerate((60, 90)):
            for j, end in enumerate(("lower", "upper")):
                assert found[f"{end}_{percent}"].shape == (400, 2)
                np.testing.assert_allclose(found[f"{end}_{percent}"], bounds[:, :, j, i], rtol=1e-3, atol=1e-3)

    def test_probabilities_in(self, classified: Trained, run: Any, tmp_path: Path) -> None:
        p = np.exp(classified.output - classified.output.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        head = PostStoNetClassifier(method="temperature", kind="probabilities").fit(p, classified.y)
        head.to_onnx(tmp_path / "head.onnx")
        found = run(tmp_path / "head.onnx", network_probabilities=p)
        np.testing.assert_allclose(found["probabilities"], head.predict_proba(p), atol=1e-4)
