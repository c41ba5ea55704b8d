"""MLflow models: the numbers of the head, rules and parameters, and refusals."""

import numpy as np
import pandas as pd
import pytest

import stonet

mlflow = pytest.importorskip("mlflow.pyfunc", reason="needs mlflow-skinny")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    x = pd.DataFrame(rng.normal(size=(500, 3)), columns=["a", "b", "c"])
    return x, (x["a"] + 0.3 * rng.normal(size=500)).rename("price")


@pytest.fixture(scope="module")
def head(rows):
    return stonet.PostStoNetRegressor(interval="fast").fit(rows[0][:300], rows[1][:300])


def test_a_saved_model_gives_the_numbers_of_the_head(head, rows, tmp_path):
    import stonet.mlflow

    stonet.mlflow.save_model(head, tmp_path / "model", level=[0.8, 0.95])
    found = mlflow.load_model(str(tmp_path / "model")).predict(rows[0][300:])
    own = head.predict_frame(rows[0][300:], confidence_level=[0.8, 0.95])
    pd.testing.assert_frame_equal(found, own)
    again = stonet.mlflow.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(rows[0]), head.predict(rows[0]))


def test_a_rule_is_kept(head, rows, tmp_path):
    import stonet.mlflow

    rule = stonet.control(head, rows[0][300:], rows[1][300:], want="wrong<=0.3")
    stonet.mlflow.save_model(head, tmp_path / "model", rule=rule)
    found = mlflow.load_model(str(tmp_path / "model")).predict(rows[0][:20])
    assert list(found["decision"] == "answer") == list(rule.decide(head, rows[0][:20]))


def test_what_is_wrong_is_named(head, tmp_path):
    import stonet.mlflow

    with pytest.raises(TypeError, match="there is no levels"):
        stonet.mlflow.save_model(head, tmp_path / "model", levels=0.9)
    with pytest.raises(TypeError, match="head is a int"):
        stonet.mlflow.save_model(3, tmp_path / "model")
    assert not (tmp_path / "model").exists()
