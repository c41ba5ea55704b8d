"""Spark Connect, as a program: a process has one kind of session. Ends with 0 where its numbers are those of one machine."""

from __future__ import annotations

import os
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

import stonet
import stonet.spark


def main() -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 3))
    y = x[:, 0] + rng.normal(size=300)
    head = stonet.PostStoNetRegressor(interval="fast").fit(x, y)
    table = pa.table({"key": np.arange(300), **{f"c{i}": x[:, i] for i in range(3)}})
    df = spark.createDataFrame(table)
    there = stonet.spark.score(df.repartition(3), head, level=0.8).toArrow().sort_by("key")
    here = stonet.score(table, head, level=0.8, keep=["key"])
    assert there.to_pydict() == here.to_pydict()
    heads = {"fast": head, "laplace": stonet.LastLayerLaplace()}
    fits = stonet.spark.fit_many(spark, heads, x, y, splits=2)
    assert [f.scores for f in fits] == [f.scores for f in stonet.fit_many(heads, x, y, splits=2)]
    missing = df.withColumn("c1", df["c1"] * float("nan"))
    with pytest.raises(PythonException, match=r"partition \d+, row 0 \(from 0\), column `c1`: missing value"):
        stonet.spark.score(missing, head).collect()
    spark.stop()


if __name__ == "__main__":
    main()
