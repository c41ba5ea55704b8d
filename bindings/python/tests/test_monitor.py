"""Monitors: alarms, states that go on and are the command's, and what is refused."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import stonet


def rows(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    return x, x[:, 0] - x[:, 1] + 0.5 * rng.normal(size=n) + shift


@pytest.fixture(scope="module")
def head():
    return stonet.PostStoNetRegressor(interval="fast").fit(*rows(400, 1))


def test_changes_raise_alarms_and_no_change_does_not(head):
    watch = stonet.Monitor(head)
    assert not watch.update(*rows(1000, 2)).alarmed
    report = watch.report()
    assert report["rows"] == report["answered"] == 1000 and report["alarm"] == 0.01
    assert all(q["calibration_rows"] > 0 for q in report["answers"]["quantities"])
    (coverage,) = report["measures"]
    assert coverage["lower"] < 0.9 < coverage["upper"]
    assert watch.update(*rows(1000, 3, shift=0.7)).alarmed
    assert 1000 < watch.alarm_row() <= 2000 and watch.alarm_row("inputs") is None
    assert "ALARM" in str(watch) and "alarm after row" in watch.verdict
    inputs = stonet.Monitor(head)
    x, _ = rows(1000, 4)
    x[:, 1] = 0.0
    assert inputs.update(x).alarmed and inputs.answered == 0
    assert inputs.report()["moved_columns"] == ["c1"]


def test_states_are_those_of_the_command(head, tmp_path):
    x, y = rows(600, 5, shift=0.1)
    head.save(tmp_path / "head.stonet")
    table = pd.DataFrame(x, columns=["c0", "c1", "c2"]).assign(y=y)
    table[:250].to_csv(tmp_path / "one.csv", index=False)
    table[250:].to_csv(tmp_path / "two.csv", index=False)
    line = ["monitor", "head.stonet", "one.csv", "--state", "watch.json", "-q"]
    subprocess.run([sys.executable, "-m", "stonet._cli", *line], check=True, cwd=tmp_path)
    one = stonet.Monitor(head).update(x[:250], y[:250])
    one.save(tmp_path / "python.json")
    assert (tmp_path / "python.json").read_bytes() == (tmp_path / "watch.json").read_bytes()
    stonet.monitor(head, x[250:], y[250:], state=tmp_path / "watch.json", report=tmp_path / "watch.html")
    whole = stonet.Monitor(head).update(x, y)
    assert stonet.Monitor.load(tmp_path / "watch.json", head).report() == whole.report()
    assert "No alarm" in (tmp_path / "watch.html").read_text()
    # Loaded heads go on too.
    assert stonet.Monitor.load(tmp_path / "watch.json", stonet.load(tmp_path / "head.stonet")).rows == 600


def test_one_process_at_a_time_goes_on_with_a_state(head, tmp_path):
    state = tmp_path / "watch.json"
    with stonet._core.StateClaim(str(state)), pytest.raises(ValueError, match="another process"):
        stonet.monitor(head, *rows(100, 2), state=state)
    assert list(tmp_path.iterdir()) == []
    stonet.monitor(head, *rows(100, 2), state=state)
    assert [p.name for p in tmp_path.iterdir()] == ["watch.json"]
    with pytest.raises(OSError, match="absent"):
        stonet.monitor(head, *rows(100, 2), state=tmp_path / "absent" / "watch.json")


def test_what_does_not_fit_is_refused(head, tmp_path):
    path = tmp_path / "watch.json"
    watch = stonet.Monitor(head, alarm=0.05)
    watch.update(*rows(50, 6))
    before = watch.report()
    with pytest.raises(ValueError, match="samples"):
        watch.update(rows(50, 7)[0], rows(49, 7)[1])
    with pytest.raises(ValueError, match="features"):
        watch.update(np.zeros((5, 4)))
    assert watch.report() == before
    watch.save(path)
    with pytest.raises(ValueError, match=r"begun with alarm 0\.05, and not 0\.01"):
        stonet.monitor(head, rows(5, 1)[0], state=path, alarm=0.01)
    other = stonet.PostStoNetRegressor(interval="fast").fit(*rows(300, 8))
    with pytest.raises(ValueError, match="another head"):
        stonet.Monitor.load(path, other)
    state = json.loads(path.read_text())
    path.write_text(path.read_text().replace('"rows":50', '"rows":49', 1))
    with pytest.raises(ValueError, match=r"watch\.json"):
        stonet.Monitor.load(path, head)
    state["checksum"] = "0" * 16
    path.write_text(json.dumps(state, separators=(",", ":")))
    with pytest.raises(ValueError, match="checksum"):
        stonet.Monitor.load(path, head)
    with pytest.raises(ValueError, match="alarm"):
        stonet.Monitor(head, alarm=2.0)
    with pytest.raises(TypeError, match="monitor watches"):
        stonet.Monitor("head")
    with pytest.raises(ValueError, match="answers"):
        watch.alarm_row("rows")


def test_classifiers_are_watched_and_heads_without_counts_compare_new_rows_alone():
    rng = np.random.default_rng(9)
    z = rng.normal(size=(2500, 3))
    y = np.array(["ant", "bee", "cat"])[(z + rng.gumbel(size=z.shape)).argmax(axis=1)]
    head = stonet.PostStoNetClassifier(method="temperature", sets="cv+").fit(z[:600], y[:600])
    watch = stonet.Monitor(head).update(z[600:1600], y[600:1600])
    assert not watch.alarmed and {m["name"] for m in watch.report()["measures"]} >= {"accuracy", "calibration error"}
    assert watch.update(z[1600:], rng.permutation(y[1600:])).alarmed
    bare = stonet.TemperatureScaling(fingerprints=False).fit(z[:600], y[:600])
    assert all(q["calibration_rows"] == 0 for q in stonet.Monitor(bare).report()["inputs"]["quantities"])
