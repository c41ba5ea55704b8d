"""Networks with their heads: of torch where it is installed, and of any library by functions."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stonet
from stonet._network import guessed_task


def test_functions_make_a_network(regression: Any, classes: Any) -> None:
    x, y, d = regression
    both = stonet.PostStoNet(lambda x: x, lambda x: x[:, 0] + 0.1, interval="fast").fit(x, y)
    want = stonet.PostStoNetRegressor(interval="fast").fit(x, y, d, also=x)
    np.testing.assert_array_equal(both.predict_interval(x)[1], want.predict_interval(x, d, also=x)[1])
    z, labels = classes
    sure = stonet.PostStoNet(lambda z: z, lambda z: z, method="temperature", sets="split").fit(z, labels)
    np.testing.assert_allclose(sure.predict_proba(z).sum(axis=1), 1)
    assert sure.predict_set(z)[1].shape == (600, 3, 1)
    with pytest.raises(ValueError, match="give output"):
        stonet.PostStoNet(lambda z: z, task="classification").fit(z, labels)
    with pytest.raises(ValueError, match="no targets"):
        stonet.PostStoNet(lambda z: z).fit(z)
    with pytest.raises(ValueError, match="not fitted"):
        stonet.PostStoNet(lambda z: z).predict(z)


def test_arguments_of_rows_reach_the_head(regression: Any, classes: Any) -> None:
    x, y, d = regression
    regions = np.where(x[:, 1] > 0, "north", "south")
    rows: dict[str, Any] = {"within": regions, "lower": d - 1.0, "upper": d + 1.5}
    both = stonet.PostStoNet(lambda x: x, lambda x: x[:, 0] + 0.1, interval="fast", also=None).fit(x, y, **rows)
    want = stonet.PostStoNetRegressor(interval="fast").fit(x, y, d, **rows)
    for name in ("predict", "predict_interval", "predict_quantile"):
        np.testing.assert_array_equal(getattr(both, name)(x, **rows)[-1], getattr(want, name)(x, d, **rows)[-1])
    np.testing.assert_array_equal(both.predict_cdf(x, values=0.5, **rows), want.predict_cdf(x, d, values=0.5, **rows))
    assert both.report(x + 1e-6, y, **rows)["rows"] == len(y)
    with pytest.raises(ValueError, match="lower and upper must be given"):
        both.predict_interval(x, within=regions)
    with pytest.raises(TypeError, match="unexpected keyword argument 'inside'"):
        stonet.PostStoNet(lambda x: x).fit(x, y, inside=regions)
    z, labels = classes
    sure = stonet.PostStoNet(lambda z: z, lambda z: z, method="temperature")
    with pytest.raises(ValueError, match="within is for regression"):
        sure.fit(z, labels, within=labels)
    with pytest.raises(ValueError, match="within is for regression"):
        sure.fit(z, labels).predict(z, within=labels)


def test_parameters_of_classifiers_make_classes_and_groups_and_weights_are_told(regression: Any, classes: Any) -> None:
    z, labels = classes
    binary, score = (labels > 0).astype(np.int64), z[:, 1:].max(axis=1) - z[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sure = stonet.PostStoNet(lambda s: s, lambda s: s, method="temperature", kind="logits").fit(
            score[:, None], binary
        )
    assert sure.predict_proba(score[:, None]).shape == (len(z), 2)
    x, y, d = regression
    groups = np.arange(len(y)) // 4
    both = stonet.PostStoNet(lambda x: x, lambda x: x[:, 0] + 0.1, interval="fast").fit(x, y, groups=groups)
    want = stonet.PostStoNetRegressor(interval="fast").fit(x, y, d, groups=groups, also=x)
    np.testing.assert_array_equal(both.predict_interval(x)[1], want.predict_interval(x, d, also=x)[1])
    with pytest.raises(ValueError, match="groups is for regression"):
        stonet.PostStoNet(lambda z: z, lambda z: z).fit(z, labels, groups=labels)
    with pytest.raises(TypeError, match="does not take sample_weight"):
        stonet.PostStoNet(lambda x: x, interval="fast").fit(x, y, sample_weight=np.ones(len(y)))


def test_whole_numbers_are_not_taken_for_classes_in_silence(regression: Any, classes: Any) -> None:
    x, y, _ = regression
    ages = np.round(40 + 10 * y).astype(np.int64)
    one = lambda x: x[:, 0]  # noqa: E731
    for output in (None, one, lambda x: x[:, :1]):
        with pytest.warns(UserWarning, match='task="regression"'):
            both = stonet.PostStoNet(lambda x: x, output, interval="fast").fit(x, ages)
        assert both.predict_interval(x)[1].shape == (400, 2, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        both = stonet.PostStoNet(lambda x: x, one, task="regression", interval="fast").fit(x, ages)
        assert isinstance(both.head_, stonet.PostStoNetRegressor)
        # One output per class: nothing else fits.
        for labels in (classes.y, classes.y.astype(np.uint8), classes.y + 1):
            sure = stonet.PostStoNet(lambda z: z, lambda z: z, method="temperature").fit(classes.logits, labels)
            assert isinstance(sure.head_, stonet.PostStoNetClassifier)
        # A class without a row is a class.
        assert guessed_task(np.where(classes.y == 2, 0, classes.y), classes.logits) == "classification"
        texts = np.array(["cat", "dog", "eel"])[classes.y]
        sure = stonet.PostStoNet(lambda z: z, lambda z: z, method="temperature").fit(classes.logits, texts)
        assert isinstance(sure.head_, stonet.PostStoNetClassifier)
    with pytest.raises(ValueError, match=r'from 14 to .* 3 outputs; say what they are by task="classification"'):
        stonet.PostStoNet(lambda z: z, lambda z: z).fit(classes.logits, np.arange(14, 614))
    with pytest.raises(ValueError, match="task is 'classes'; it must be one of 'regression', 'classification'"):
        stonet.PostStoNet(lambda z: z, task="classes").fit(x, y)  # type: ignore[arg-type]


def test_a_network_has_parameters_a_name_a_file_and_a_report(regression: Any, classes: Any, tmp_path: Path) -> None:
    x, y, _ = regression
    output = lambda x: x[:, 0] + 0.1  # noqa: E731
    both = stonet.PostStoNet(np.tanh, output, interval="fast", level=0.8)
    params = both.get_params()
    own = {"features": np.tanh, "output": output, "task": None, "also": "auto"}
    assert params == {**own, "interval": "fast", "level": 0.8}
    assert stonet.PostStoNet(**params).get_params() == params
    assert repr(stonet.PostStoNet(np.tanh, interval="fast")) == "PostStoNet(features=<ufunc 'tanh'>, interval='fast')"
    assert both.set_params(level=0.9, task="regression") is both and both.get_params()["level"] == 0.9
    with pytest.raises(ValueError, match="Invalid parameter 'levels' for PostStoNet"):
        both.set_params(levels=0.9)
    assert "not fitted" in both._repr_html_()
    with pytest.raises(ValueError, match="not fitted"):
        both.save(tmp_path / "head.stonet")
    both.fit(x[:200], y[:200])
    assert "PostStoNetRegressor" in both._repr_html_() and "<script" not in both._repr_html_()
    both.save(tmp_path / "head.stonet")
    back = stonet.PostStoNet.load(tmp_path / "head.stonet", np.tanh, output)
    assert back.task == "regression" and back.get_params()["interval"] == "fast"
    np.testing.assert_array_equal(back.predict_interval(x)[1], both.predict_interval(x)[1])
    found = both.report(x[200:], y[200:], tmp_path / "page.html", confidence_level=0.8)
    want = stonet.report(
        both.head_, np.tanh(x[200:]), y[200:], prediction=output(x[200:]), also=x[200:], confidence_level=0.8
    )
    assert found["overall"] == want["overall"] and (tmp_path / "page.html").exists()
    with pytest.raises(ValueError, match="no targets"):
        both.report(x)
    z, labels = classes
    sure = stonet.PostStoNet(lambda z: z, lambda z: z, method="temperature").fit(z[:300], labels[:300])
    assert "accuracy" in str(sure.report(z[300:], labels[300:]))
    with pytest.raises(ValueError, match="allow_seen=True"):
        sure.report(z[:300], labels[:300])
    with pytest.raises(AttributeError, match="has a PostStoNetClassifier, which has no predict_interval"):
        sure.predict_interval(z)


def test_a_module_has_parameters_and_a_short_name(regression: Any, tmp_path: Path) -> None:
    """Without torch: what is asked for here does not run the module."""

    class Net:
        def __repr__(self) -> str:
            return "layer\n" * 50

    net = Net()
    both = stonet.torch.PostStoNet(net, batch_size=64, interval="fast")
    assert repr(both) == "PostStoNet(model=Net, batch_size=64, interval='fast')"
    own = {"model": net, "layer": None, "batch_size": 64, "task": None, "also": "auto"}
    assert both.get_params() == {**own, "interval": "fast"}
    assert both.set_params(layer="3", level=0.8).layer == "3"
    x, y, _ = regression
    stonet.PostStoNetRegressor(interval="fast").fit(x, y).save(tmp_path / "head.stonet")
    back = stonet.torch.PostStoNet.load(tmp_path / "head.stonet", net, "3")
    assert back.model is net and back.layer == "3" and back.head_.interval == "fast"
    assert "Net" in repr(back) and "<details>" in back._repr_html_()


class TestTorch:
    @pytest.fixture
    def torch(self) -> Any:
        return pytest.importorskip("torch")

    @pytest.fixture
    def model(self, torch: Any) -> Any:
        torch.manual_seed(1)
        layers = (torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
        return torch.nn.Sequential(*layers)

    def test_the_input_of_the_last_linear_is_tapped_and_nothing_changes(self, torch: Any, model: Any) -> None:
        x = torch.randn(50, 6)
        model[1].eval()
        modes = [m.training for m in model.modules()]
        found = stonet.torch.tap(model, x, batch_size=7)
        np.testing.assert_allclose(found.features, torch.relu(model[0](x)).detach().numpy(), rtol=1e-6)
        np.testing.assert_allclose(
            found.output, found.features @ model[3].weight.detach().numpy().T + model[3].bias.item(), rtol=1e-5
        )
        assert found.target is None and [m.training for m in model.modules()] == modes
        named = stonet.torch.features(model, x.numpy().astype(np.float64), layer="0")
        np.testing.assert_allclose(named, model[0](x).detach().numpy(), rtol=1e-6)
        assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
        assert all(p.grad is None and p.requires_grad for p in model.parameters())

    def test_errors_leave_the_model_as_it_was(self, torch: Any, model: Any) -> None:
        modes = [m.training for m in model.modules()]
        for words, act in {
            "mat1 and mat2": lambda: stonet.torch.features(model, torch.randn(5, 4)),
            "no layer 'head'": lambda: stonet.torch.features(model, torch.randn(5, 6), layer="head"),
            "no Linear ran": lambda: stonet.torch.features(torch.nn.ReLU(), torch.randn(5, 6)),
            "no rows": lambda: stonet.torch.features(model, []),
        }.items():
            with pytest.raises((ValueError, RuntimeError), match=words):
                act()
            assert [m.training for m in model.modules()] == modes
            assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())

    def test_a_loader_gives_intervals_and_probabilities(self, torch: Any, model: Any) -> None:
        from torch.utils.data import DataLoader, TensorDataset

        x = torch.randn(300, 6)
        y = model.eval()(x).detach() + 0.3 * torch.randn(300, 1)
        loader = DataLoader(TensorDataset(x[:200], y[:200, 0]), batch_size=32)
        both = stonet.torch.PostStoNet(model, interval="fast").fit(loader)
        point, intervals = both.predict_interval(x[200:])
        assert point.shape == (100,) and intervals.shape == (100, 2, 1)
        assert stonet.metrics.coverage(y[200:].numpy(), intervals) > 0.75
        same = stonet.torch.PostStoNet(model, interval="fast").fit(x[:200], y[:200, 0])
        np.testing.assert_allclose(same.predict(x[200:]), point, rtol=1e-5)
        # The module's inputs stand beside its features, whatever they come in.
        assert both.head_.n_also_in_ == same.head_.n_also_in_ == 6
        tapped = stonet.torch.tap(model, x)
        want = stonet.PostStoNetRegressor(interval="fast").fit(
            tapped.features[:200], y[:200, 0].numpy(), tapped.output[:200], also=x[:200].double().numpy()
        )
        np.testing.assert_array_equal(
            want.predict_interval(tapped.features[200:], tapped.output[200:], also=x[200:])[1], intervals
        )
        for also, interval, count in (
            (None, "fast", 0),
            ("auto", "cv", 0),
            (lambda x: np.asarray(x)[:, :2], "fast", 2),
        ):
            other = stonet.torch.PostStoNet(model, also=also, interval=interval, hidden=(3,)).fit(x[:200], y[:200, 0])
            assert other.head_.n_also_in_ == count and other.predict(x[200:]).shape == (100,)
        with pytest.raises(ValueError, match="x is no table that holds them"):
            both.predict([{"input": x[200:]}])
        classes = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))
        labels = torch.distributions.Categorical(logits=classes(x)).sample()
        sure = stonet.torch.PostStoNet(classes, method="temperature").fit([(x[:200], labels[:200])])
        assert sure.predict_proba(x).shape == (300, 3) and sure.predict([x]).dtype == np.int64
        assert sure.report([(x[200:], labels[200:])])["rows"] == 100
        assert both.report(x[200:], y[200:, 0])["rows"] == 100
        # Fewer rows, more columns and whole numbers stay out of it.
        assert stonet.torch.PostStoNet(model, interval="fast").fit(x[:190], y[:190, 0]).head_.n_also_in_ == 0
        from stonet.torch import _table

        assert _table(torch.zeros(3, 101), 100) is None and _table(torch.zeros(3, 4, dtype=torch.int64), 100) is None
        assert _table(torch.zeros(3, 2, 2), 100) is None and _table([torch.zeros(3, 2)], 100) is None
        assert _table(torch.zeros(3, 101), np.inf).shape == (3, 101)
