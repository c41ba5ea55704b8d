"""Rows, a head and the command's predictions, for the tests of engines; large enough that many tasks are needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import stonet

OUTPUTS = ["prediction", "lower_80", "upper_80", "lower_95", "upper_95"]
LEVELS = [0.8, 0.95]


class Rows(NamedTuple):
    folder: Path
    head: Path
    expected: pa.Table


def rows(place: Path, count: int, files: int = 16) -> Rows:
    """A folder of Parquet files, a head on disk, and what the command predicts, in the order of the key."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 100))
    y = x[:, 0] + np.tanh(x[:, 1]) + 0.3 * np.exp(0.5 * x[:, 2]) * rng.normal(size=400)
    settings = {"stonet": {"steps": 50}}
    head = stonet.PostStoNetRegressor(kappa=0.01, settings=settings).fit(x, y, x[:, 0])
    head.save(place / "head.stonet")
    names = [f"c{i}" for i in range(100)]
    folder = place / "rows"
    folder.mkdir()
    keys = rng.permutation(count)
    for part in range(files):
        some = keys[part::files]
        columns = {"key": some, "group": [f"g{k % 7}" for k in some]}
        values = np.random.default_rng([2, part]).normal(size=(100, len(some))).astype(np.float32)
        columns |= dict(zip(names, values, strict=True))
        pq.write_table(pa.table({**columns, "prediction": values[0]}), folder / f"part-{part:02}.parquet")
    command = [sys.executable, "-m", "stonet._cli", "predict", "head.stonet", "rows", "-o", "expected.parquet"]
    subprocess.run([*command, "--level", "0.8,0.95", "--keep", "key"], cwd=place, check=True, capture_output=True)
    return Rows(folder, place / "head.stonet", pq.read_table(place / "expected.parquet").sort_by("key"))


def trained(place: Path) -> tuple[pa.Table, Path, Path]:
    """Rows of raw inputs, a network that the command has trained on them, and a head behind it."""

    def run(arguments: str) -> None:
        command = [sys.executable, "-m", "stonet._cli", *arguments.split()]
        subprocess.run(command, cwd=place, check=True, capture_output=True)

    rng = np.random.default_rng(4)
    x = rng.normal(size=(300, 3))
    rows = pa.table({"key": np.arange(300), **{f"x{i}": x[:, i] for i in range(3)}})
    pq.write_table(rows.append_column("y", pa.array(x[:, 0] + rng.normal(size=300))), place / "raw.parquet")
    run("train raw.parquet --task regression --inputs x* --hidden 8 --epochs 5 -o net.onnx")
    run("features net.onnx raw.parquet --keep y -o f.parquet")
    run("fit f.parquet --task regression --inputs f* --prediction prediction --interval fast -o behind.stonet")
    return rows, place / "net.onnx", place / "behind.stonet"


def classified(place: Path) -> tuple[pa.Table, Path, dict[str, Any]]:
    """Rows of logits, a classifier with prediction sets and bounds of accuracy, and what is asked of it."""
    rng = np.random.default_rng(5)
    z = 2 * rng.normal(size=(900, 3))
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    names = np.array(["ant", "bee", "cat|dog"])
    head = stonet.PostStoNetClassifier(method="temperature", sets="split", set_score="aps", accuracy_bounds=True)
    head.fit(z[:400], names[y[:400]]).save(place / "classes.stonet")
    rows = pa.table({"key": np.arange(500), **{f"c{k}": z[400:, k] for k in range(3)}})
    return rows, place / "classes.stonet", {"sets": True, "accuracy": True, "level": LEVELS}


def same(found: pa.Table, expected: pa.Table) -> None:
    """Fail unless all rows are the same, bit by bit, in the order of the key."""
    found, expected = (t.select(expected.column_names).sort_by("key") for t in (found, expected))
    assert found.num_rows == expected.num_rows
    for name in expected.column_names:
        a, b = (t.column(name).combine_chunks().cast(expected.schema.field(name).type) for t in (found, expected))
        assert a.equals(b), name


def other_version(place: Path) -> Path:
    """A folder with the package as it would be in another version."""
    folder = place / "other"
    shutil.copytree(Path(stonet.__file__).parent, folder / "stonet")
    init = folder / "stonet" / "__init__.py"
    init.write_text(init.read_text() + '\nfrom . import _core\n\n_core.__version__ = __version__ = "0.0.1"\n')
    return folder


def processes(words: str) -> list[int]:
    """The processes whose command line holds these words."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if words in line:
                found.append(int(entry.name))
    return found


def wait_for(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


def spark_session(place: Path, executors: int = 2, **config: str) -> Any:
    """A session on a cluster of so many executors of one core, each a process of its own."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_WORKER_DIR"] = str(place / "spark-work")
    builder = SparkSession.builder.master(f"local-cluster[{executors},1,1024]").appName("stonet")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.warehouse.dir": str(place / "warehouse"),
        **config,
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


@contextmanager
def ray_cluster(nodes: int, store: int) -> Iterator[Any]:
    """A cluster of so many nodes of one core with so many bytes of objects each, and one that only leads."""
    import ray
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": store})
    for _ in range(nodes):
        made.add_node(num_cpus=1, object_store_memory=store)
    ray.init(made.address, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    try:
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


def dying(
    work: Callable[[], None], when: Callable[[], bool], kill: Callable[[], None], seconds: float = 120.0
) -> tuple[float, float]:
    """Seconds to the kill, which has to come before the work is over, and to its end; an error of the work is raised here."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    begin = time.perf_counter()
    thread = threading.Thread(target=run)
    thread.start()
    wait_for(lambda: when() or not thread.is_alive(), seconds)
    assert thread.is_alive(), raised or "over before anything could be killed"
    kill()
    at = time.perf_counter() - begin
    thread.join()
    if raised:
        raise raised[0]
    return at, time.perf_counter() - begin


def later(head: bytes) -> bytes:
    """The bytes of a head as a later program would write them: another format version, and the checksum that belongs to it."""
    head = head.replace(b'"format_version":"2"', b'"format_version":"9"').replace(
        b'"needs":"0.1.0"', b'"needs":"9.9.0"'
    )
    place = head.index(b'"checksum":"') + len(b'"checksum":"')
    blank = head[:place] + b"0" * 16 + head[place + 16 :]
    digest = 0xCBF29CE484222325
    for byte in blank:
        digest = (digest ^ byte) * 0x100000001B3 % 2**64
    return head[:place] + f"{digest:016x}".encode() + head[place + 16 :]
