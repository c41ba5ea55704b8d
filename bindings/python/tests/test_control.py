"""Rules of answers: from a wish to decisions, alike on arrays, in tables and in files."""

import json
import pickle

import numpy as np
import pytest

import stonet


def messages(rows, seed):
    rng = np.random.default_rng(seed)
    z = 2.0 * rng.normal(size=(rows, 2))
    return z, np.where(z[:, 1] - z[:, 0] + rng.logistic(size=rows) > 0, "spam", "ham")


@pytest.fixture(scope="module")
def head():
    return stonet.TemperatureScaling().fit(*messages(500, 1))


@pytest.fixture(scope="module")
def rule(head):
    return stonet.control(head, *messages(2000, 2), want="precision[spam]>=0.9", confidence=0.9)


def test_a_rule_tells_what_it_keeps(rule):
    assert (rule.want, rule.confidence, rule.level) == ("precision[spam]>=0.9", 0.9, None)
    assert 0 < rule.threshold < 1 and rule.chosen["bound"] <= 0.1
    assert "at least 90 % of the rows that the rule takes as `spam`" in rule.guarantee.text
    assert rule.curve["risk"].shape == rule.curve["threshold"].shape
    assert "precision[spam]>=0.9" in repr(rule)


def test_decisions_are_those_of_the_probabilities(head, rule):
    z, _ = messages(400, 3)
    p = head.predict_proba(z)[:, list(head.classes_).index("spam")]
    np.testing.assert_array_equal(rule.decide(head, z), p >= rule.threshold)


def test_tables_and_files_decide_alike(head, rule, tmp_path):
    pa = pytest.importorskip("pyarrow")
    z, _ = messages(400, 3)
    names = json.loads(head._fitted_head().about())["columns"]["logits"]
    table = pa.table({name: z[:, k] for k, name in enumerate(names)})
    found = stonet.score(table, head, rule=rule)
    assert found.column_names[-1] == "decision"
    expected = np.where(rule.decide(head, z), "answer", "abstain")
    np.testing.assert_array_equal(found["decision"].to_numpy(zero_copy_only=False), expected)
    rule.save(tmp_path / "rule.json")
    again = stonet.load_rule(tmp_path / "rule.json")
    assert again == rule == pickle.loads(pickle.dumps(rule))
    assert stonet.score(table, head, rule=tmp_path / "rule.json").equals(found)
    head.to_onnx(tmp_path / "decided.onnx", rule=rule)
    assert b"decision" in (tmp_path / "decided.onnx").read_bytes()


def test_intervals_are_answered_by_their_length(tmp_path):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(2400, 2))
    y = x[:, 0] + (0.1 + np.abs(x[:, 1])) * rng.normal(size=2400)
    head = stonet.PostStoNetRegressor(interval="fast").fit(x[:400], y[:400])
    page = tmp_path / "page.html"
    rule = stonet.control(head, x[400:2000], y[400:2000], want="wrong<=0.04", level=0.8, report=page)
    assert "conformal risk control" in rule.guarantee.text and "Risk and answers" in page.read_text()
    _, ends = head.predict_interval(x[2000:], confidence_level=0.8)
    length = ends[:, 1, 0] - ends[:, 0, 0]
    answered = rule.decide(head, x[2000:])
    np.testing.assert_array_equal(answered, length <= -rule.threshold)
    assert 0 < answered.mean() < 1


def test_refusals_are_words(head, rule):
    z, y = messages(300, 5)
    with pytest.raises(stonet.WishError, match="cannot be promised with a confidence of 99 %") as refused:
        stonet.control(head, z, y, want="precision[spam]>=0.999", confidence=0.99)
    assert len(refused.value.curve["risk"]) > 10
    with pytest.raises(ValueError, match="give confidence"):
        stonet.control(head, z, y, want="accuracy>=0.9")
    with pytest.raises(ValueError, match="there are ham, spam"):
        stonet.control(head, z, y, want="recall[egg]>=0.9")
    with pytest.raises(ValueError, match="allow_seen=True"):
        stonet.control(head, *messages(500, 1), want="wrong<=0.2")
    other = stonet.VectorScaling().fit(*messages(500, 1))
    with pytest.raises(ValueError, match="rule was made for another head"):
        rule.decide(other, z)
    with pytest.raises(TypeError, match="give a Rule"):
        head.to_onnx("never.onnx", rule=3)
