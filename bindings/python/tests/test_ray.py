"""Ray on a cluster of two nodes: the command's rows, whatever happens, and errors that name the block."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ray", reason="ray is not installed: nothing ran on Ray")
pytest.importorskip("ray.data", reason="ray.data is not installed: nothing ran on Ray")

import engines
import pyarrow as pa
import pyarrow.parquet as pq
from conftest import timeless

import stonet
import stonet.ray

QUICK = {"stonet": {"steps": 20}}
ROWS = int(os.environ.get("STONET_TEST_ROWS", "200000"))
STORE = 200 * 2**20


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> engines.Rows:
    return engines.rows(tmp_path_factory.mktemp("ray-rows"), ROWS)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with engines.ray_cluster(2, STORE) as made:
        yield made


def dataset(rows: int = 40, **changes: Any) -> Any:
    import ray

    rng = np.random.default_rng(3)
    columns: dict[str, Any] = {"key": np.arange(rows), **{f"c{i}": rng.normal(size=rows) for i in range(100)}}
    return ray.data.from_arrow(pa.table({**columns, "prediction": rng.normal(size=rows), **changes}))


def collect(scored: Any) -> pa.Table:
    import ray

    return pa.concat_tables(ray.get(scored.to_arrow_refs()))


def test_exactly_the_rows_of_the_command(cluster: Any, data: engines.Rows, tmp_path: Path) -> None:
    import ray

    rows = ray.data.read_parquet(str(data.folder))
    scored = stonet.ray.score(rows, data.head, level=engines.LEVELS)
    assert scored.schema().names == ["key", "group", *engines.OUTPUTS], "what does not go in is kept"
    scored.write_parquet(str(tmp_path / "out"))
    engines.same(pq.read_table(tmp_path / "out"), data.expected)
    head = stonet.load(data.head)
    by_estimator = stonet.ray.score(rows, head, level=engines.LEVELS, keep=["key"], options={"batch_size": 777})
    engines.same(collect(by_estimator), data.expected)


def test_a_node_dies_and_no_row_is_lost(cluster: Any, data: engines.Rows, tmp_path: Path) -> None:
    import ray

    # Blocks of their own, or Ray reads and scores files as small as these in one task.
    whole = pq.read_table(data.folder)
    size = -(-whole.num_rows // 48)
    rows = ray.data.from_arrow([whole.slice(i, size) for i in range(0, whole.num_rows, size)])
    scored = stonet.ray.score(rows, data.head, level=engines.LEVELS, keep=["key"])
    out = tmp_path / "out"
    engines.dying(
        lambda: scored.write_parquet(str(out)),
        lambda: len(list(out.glob("*.parquet"))) >= 3,
        lambda: cluster.remove_node(sorted(cluster.worker_nodes, key=id)[0], allow_graceful=False),
    )
    cluster.add_node(num_cpus=1, object_store_memory=STORE)
    engines.same(pq.read_table(out), data.expected)


def test_sets_and_bounds_of_classes(cluster: Any, tmp_path: Path) -> None:
    import ray

    rows, head, asked = engines.classified(tmp_path)
    here = stonet.score(rows, head, keep=["key"], **asked)
    parts = [rows.slice(i, 150) for i in range(0, 500, 150)]
    there = collect(stonet.ray.score(ray.data.from_arrow(parts), head, **asked))
    assert there.column_names == here.column_names and {"set_80", "accuracy_lower_95"} <= set(here.column_names)
    engines.same(there, here)


def test_blocks_of_pandas(cluster: Any, data: engines.Rows) -> None:
    import ray

    frame = dataset().to_pandas()
    scored = stonet.ray.score(ray.data.from_pandas(frame), data.head).to_pandas()
    expected = stonet.score(frame, data.head, keep=["key"])
    np.testing.assert_array_equal(scored.to_numpy(), expected.to_numpy())


def test_empty_blocks_and_wrong_columns(cluster: Any, data: engines.Rows) -> None:
    few = dataset().filter(lambda row: row["key"] < 10)
    assert stonet.ray.score(few, data.head).count() == 10
    with pytest.raises(ValueError, match="dataset: 2 columns are missing: `c3`"):
        stonet.ray.score(dataset().drop_columns(["c3", "c4"]), data.head)
    with pytest.raises(ValueError, match=r"column `c3`: .*Utf8"):
        stonet.ray.score(dataset(c3=[str(i) for i in range(40)]), data.head)


def test_bad_rows_name_block_row_and_column(cluster: Any, data: engines.Rows) -> None:
    from ray.exceptions import RayTaskError

    rows = dataset(c7=[None if i == 25 else 1.0 for i in range(40)])
    with pytest.raises(RayTaskError) as info:
        stonet.ray.score(rows, data.head).materialize()
    assert "block 0, row 25 (from 0), column `c7`: missing value" in str(info.value)


def test_many_fits_and_the_benchmark_are_those_of_one_machine(cluster: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(150, 4))
    y = x[:, 0] + rng.normal(size=150)
    heads = {kind: stonet.PostStoNetRegressor(interval=kind, settings=QUICK) for kind in ("fast", "cv")}
    here, there = stonet.fit_many(heads, x, y, splits=3), stonet.ray.fit_many(heads, x, y, splits=3)
    assert len(there) == 6 and [f.scores for f in there] == [f.scores for f in here]
    with pytest.raises(ValueError, match=r"estimator `bad`, split [01]: .*folds"):
        stonet.ray.fit_many({"bad": stonet.PostStoNetRegressor(folds=100)}, x, y, splits=2)
    given: dict[str, Any] = {"splits": 2, "epochs": 3}
    found = stonet.ray.benchmark(x, y, out=tmp_path / "there", **given)
    expected = stonet.benchmark(x, y, out=tmp_path / "here", **given)
    assert timeless(found) == timeless(expected)


def test_a_worker_of_another_version(cluster: Any, data: engines.Rows, tmp_path: Path) -> None:
    from ray.exceptions import RayTaskError

    other = {"env_vars": {"PYTHONPATH": str(engines.other_version(tmp_path))}}
    with pytest.raises(RayTaskError) as info:
        stonet.ray.score(dataset(), data.head, options={"runtime_env": other}).materialize()
    text = str(info.value)
    assert "block 0: stonet 0.0.1 is installed on" in text
    assert f"the driver has {stonet.__version__}; install the same version" in text
