"""Every block of Python in README.md, in the pages of the site and in the package's README is run, page by page, on made-up rows.

Statements about torch, Spark, Ray, MLflow and ONNX Runtime are left out here: scripts of docs/howto and tests of their own run
them where these are installed. A block of text right behind a block of Python is what it prints.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_howto import compared

import stonet

pytest.importorskip("sklearn")
TOP = Path(__file__).resolve().parents[3]
ELSEWHERE = re.compile(r"\b(spark|ray|torch|ray_cluster|mlflow|onnxruntime)\b")
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
Names = dict[str, Any]


def pages() -> list[str]:
    """The documents that hold Python."""
    docs = TOP / "docs"
    found = [TOP / "README.md", TOP / "bindings/python/README.md", *docs.glob("*.md"), *docs.glob("after/*.md")]
    return sorted(str(p.relative_to(TOP)) for p in found if BLOCK.search(p.read_text(encoding="utf-8")))


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    import sklearn

    routing = sklearn.get_config().get("enable_metadata_routing", False)
    yield
    sklearn.set_config(enable_metadata_routing=routing)


def trained(names: list[str]) -> None:
    """A file `network.onnx` with three inputs, made by the command."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(300, 3))
    y = x[:, 0] + np.sin(x[:, 1]) + 0.2 * rng.normal(size=300)
    rows = np.column_stack([x, y])
    np.savetxt("train.csv", rows, delimiter=",", header=",".join([*names, "y"]), comments="")
    # In a process of its own: the command takes over what Ctrl-C does.
    call = "train train.csv --task regression -o network.onnx --hidden 8,4 --epochs 5 -q"
    subprocess.run([sys.executable, "-m", "stonet._cli", *call.split()], check=True)


def made_up() -> Names:
    """Rows of a network in ONNX, its features and predictions, and a head of them in `head.stonet`."""
    trained(["a", "b", "c"])
    rng = np.random.default_rng(5)
    x = rng.normal(size=(900, 3))
    y = x[:, 0] + np.sin(x[:, 1]) + (0.2 + 0.2 * np.abs(x[:, 2])) * rng.normal(size=900)
    network = stonet.OnnxNetwork("network.onnx")
    features, output, _ = network(x)
    assert output is not None
    first, new, test = slice(0, 300), slice(300, 600), slice(600, 900)
    head = stonet.PostStoNetRegressor(interval="fast").fit(features[first], y[first], prediction=output[first])
    head.save("head.stonet")
    names: Names = {"stonet": stonet, "np": np, "head": head, "network": network, "rng": rng}
    parts = {"": first, "new_": new, "test_": test}
    for prefix, part in parts.items():
        names |= {f"{prefix}x": x[part], f"{prefix}y": y[part], f"{prefix}features": features[part]}
        names |= {f"{prefix}output": output[part], f"{prefix}prediction": output[part], f"{prefix}d": output[part]}
    names |= {"network_output": output[first], "network_prediction": output[first]}
    names |= {"X": features[new], "y_new": y[new], "X_new": features[test], "w": rng.random(300)}
    names |= {"row": features[0], "own": output[0], "subject": np.repeat(np.arange(60), 5)}
    return names


def tables() -> Names:
    """The same rows as tables whose columns are those of the head."""
    import pandas

    names = made_up()
    columns = [f"f{i}" for i in range(names["features"].shape[1])]
    frame = pandas.DataFrame(names["features"], columns=columns)
    frame["prediction"], frame["id"] = names["output"], range(len(frame))
    # A head of arrays calls its columns c0, c1, …, and knows the network's inputs by their names.
    frame[[f"c{i}" for i in range(len(columns))]] = names["features"]
    frame[["a", "b", "c"]] = names["x"]
    head = stonet.PostStoNetRegressor(interval="fast")
    head.fit(frame[columns], names["y"], prediction=frame[["prediction"]]).save("head.stonet")
    return {**names, "table": frame, "pandas": pandas}


def python_readme() -> Names:
    """The package's README: tables, and what its lines for scikit-learn import."""
    import sklearn
    from sklearn.model_selection import GroupKFold, cross_validate
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    known = {"GroupKFold": GroupKFold, "cross_validate": cross_validate, "sklearn": sklearn}
    return {**tables(), **known, "make_pipeline": make_pipeline, "StandardScaler": StandardScaler}


def messages() -> Names:
    """A classifier of spam, and rows with known answers that it has not seen."""
    rng = np.random.default_rng(6)
    z = rng.normal(size=(3000, 1)) * 3
    names = np.where(rng.random(3000) < 1 / (1 + np.exp(-1.5 * z[:, 0])), "spam", "mail")
    logits = np.column_stack([np.zeros(3000), 3 * z[:, 0]])
    head = stonet.TemperatureScaling().fit(logits[:1000], names[:1000])
    import pandas

    table = pandas.DataFrame(logits[2500:], columns=["c0", "c1"])
    rows = {"X": logits[1000:2500], "y": names[1000:2500], "X_new": logits[2500:], "table": table}
    return {"stonet": stonet, "head": head, **rows}


def first_page() -> Names:
    """The rows of docs/start.md, under the names of the first page."""
    names = run("docs/start.md", {})
    calibration, test = names["calibration"], names["test"]
    rows = {
        "features": names["hidden"][calibration],
        "y": names["y"][calibration],
        "d": names["prediction"][calibration],
    }
    new = {"new_features": names["hidden"][test], "new_y": names["y"][test], "new_d": names["prediction"][test]}
    return {**rows, **new}


def from_elsewhere() -> Names:
    """Rows of both tasks, for heads that are adapted."""
    known = messages()
    return {**made_up(), "classifier": known["head"], "new_logits": known["X"], "labels": known["y"]}


ROWS = {
    "README.md": first_page,
    "bindings/python/README.md": python_readme,
    "docs/after/adapt.md": from_elsewhere,
    "docs/after/control.md": messages,
    "docs/engines.md": tables,
    "docs/start.md": dict,
}


def runnable(block: str) -> list[ast.stmt]:
    """The statements of a block, without those about engines and those that need what these assign."""
    kept, absent = [], set[str]()
    for statement in ast.parse(block).body:
        used = [n for n in ast.walk(statement) if isinstance(n, ast.Name)]
        if ELSEWHERE.search(ast.get_source_segment(block, statement) or "") or any(n.id in absent for n in used):
            absent |= {n.id for n in used if isinstance(n.ctx, ast.Store)}
        else:
            kept.append(statement)
    return kept


def run(page: str, names: Names) -> Names:
    """Run all blocks of a page in one namespace."""
    for block, wanted in BLOCK.findall((TOP / page).read_text(encoding="utf-8")):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(ast.Module(runnable(block), []), page, "exec"), names)
        if wanted:
            compared(out.getvalue(), wanted)
    return names


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", pages())
def test_page(page: str) -> None:
    run(page, ROWS.get(page, made_up)())


def test_pages_are_found() -> None:
    assert {"README.md", "docs/start.md", "docs/guide.md", "docs/engines.md"} <= set(pages())
