"""Networks with their heads: of torch where it is installed, and of any library by functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stonet


def test_functions_make_a_network(regression: Any, classes: Any) -> None:
    x, y, d = regression
    both = stonet.PostStoNet(lambda x: x, lambda x: x[:, 0] + 0.1, interval="fast").fit(x, y)
    want = stonet.PostStoNetRegressor(interval="fast").fit(x, y, d)
    np.testing.assert_array_equal(both.predict_interval(x)[1], want.predict_interval(x, d)[1])
    z, labels = classes
    sure = stonet.PostStoNet(lambda z: z, lambda z: z, method="temperature", sets="split").fit(z, labels)
    np.testing.assert_allclose(sure.predict_proba(z).sum(axis=1), 1)
    assert sure.predict_set(z)[1].shape == (600, 3, 1)
    with pytest.raises(ValueError, match="give output"):
        stonet.PostStoNet(lambda z: z).fit(z, labels)
    with pytest.raises(ValueError, match="no targets"):
        stonet.PostStoNet(lambda z: z).fit(z)
    with pytest.raises(ValueError, match="not fitted"):
        stonet.PostStoNet(lambda z: z).predict(z)


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
        classes = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))
        labels = torch.distributions.Categorical(logits=classes(x)).sample()
        sure = stonet.torch.PostStoNet(classes, method="temperature").fit([(x, labels)])
        assert sure.predict_proba(x).shape == (300, 3) and sure.predict([x]).dtype == np.int64
