"""Load on `stonet serve` over the loopback: latency and rows per second, for JSON and Arrow bodies of several sizes.

usage: python benches/serve.py STONET [--requests 2000] [--connections 1,8]

STONET is the command, built with its server. Everything stays on this machine, and the number of requests is bounded.
pyarrow is needed for Arrow bodies; they are left out without it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import pathlib
import platform
import subprocess
import tempfile
import threading
import time

import numpy as np

FEATURES = 100


def table(rows: int, seed: int) -> dict[str, np.ndarray]:
    """Return features of which thirteen matter, a prediction and a target."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, FEATURES))
    mean = x[:, :13].sum(axis=1) / 3
    columns = {f"f{i}": x[:, i] for i in range(FEATURES)}
    return {**columns, "prediction": mean + 0.3 * rng.normal(size=rows), "y": mean + 0.5 * rng.normal(size=rows)}


def write(path: pathlib.Path, columns: dict[str, np.ndarray]) -> None:
    """Write a CSV file."""
    values = np.column_stack(list(columns.values()))
    np.savetxt(path, values, delimiter=",", header=",".join(columns), comments="", fmt="%.17g")


def bodies(rows: int) -> dict[str, tuple[str, bytes]]:
    """Return the same rows as JSON and, where pyarrow is installed, as an Arrow stream."""
    columns = {name: values for name, values in table(rows, 2).items() if name != "y"}
    text = json.dumps({"columns": {name: values.tolist() for name, values in columns.items()}}).encode()
    found = {"JSON": ("application/json", text)}
    try:
        import pyarrow as pa
    except ImportError:
        return found
    batch = pa.RecordBatch.from_pydict(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return {**found, "Arrow": ("application/vnd.apache.arrow.stream", sink.getvalue().to_pybytes())}


def load(address: str, kind: str, body: bytes, requests: int, connections: int) -> tuple[list[float], float]:
    """Send so many requests over so many connections; return the seconds of each, and of all."""
    times: list[float] = []

    def client(count: int) -> None:
        connection = http.client.HTTPConnection(address, timeout=60)
        for _ in range(count):
            begin = time.perf_counter()
            connection.request("POST", "/predict", body, {"Content-Type": kind})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, answer.status
            times.append(time.perf_counter() - begin)
        connection.close()

    threads = [threading.Thread(target=client, args=(requests // connections,)) for _ in range(connections)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times, time.perf_counter() - begin


def main() -> None:
    """Fit a head, serve it, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stonet")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--connections", default="1,8")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows, head = pathlib.Path(folder, "rows.csv"), pathlib.Path(folder, "head.stonet")
        write(rows, table(2000, 1))
        fit = ["fit", rows, "--task", "regression", "--inputs", "f*", "--prediction", "prediction", "--target", "y", "-o", head]
        subprocess.run([given.stonet, *map(str, fit), "--quiet"], check=True, stdout=subprocess.DEVNULL)
        serve = [given.stonet, "serve", str(head), "--port", "0", "--json"]
        server = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        said = ""
        while "}" not in said:
            said += server.stdout.readline()
        address = json.loads(said)["address"]
        print(f"default head of 2000 rows x {FEATURES} features; {platform.machine()}, Python client in the same machine\n")
        print("| body | rows per request | connections | requests | p50, ms | p99, ms | requests/s | rows/s |")
        print("|---|---|---|---|---|---|---|---|")
        for size in (1, 100, 10_000):
            for name, (kind, body) in bodies(size).items():
                for connections in map(int, given.connections.split(",")):
                    requests = max(given.requests // (1 if size < 10_000 else 20), connections)
                    load(address, kind, body, 20, 1)
                    times, seconds = load(address, kind, body, requests, connections)
                    p50, p99 = (1000 * np.quantile(times, q) for q in (0.5, 0.99))
                    rate = len(times) / seconds
                    print(
                        f"| {name} | {size:,} | {connections} | {len(times)} | {p50:.2f} | {p99:.2f} | {rate:,.0f} | {rate * size:,.0f} |"
                    )
        server.terminate()
        assert server.wait(30) == 0


if __name__ == "__main__":
    main()
