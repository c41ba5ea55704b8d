# needs: pyspark, pandas, pyarrow, java
"""Intervals for the rows of a Spark DataFrame."""

import os
import sys

import numpy as np
import pandas as pd

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
from pyspark.sql import SparkSession

import stonet.spark

rng = np.random.default_rng(1)
columns = ["f0", "f1", "f2"]
frame = pd.DataFrame(rng.normal(size=(3000, 3)), columns=columns)
frame["prediction"] = frame.f0 + 0.1 * frame.f1
frame["y"] = frame.f0 + (0.2 + 0.3 * frame.f2.abs()) * rng.normal(size=3000)
rows, new = frame[:1000], frame[1000:]
head = stonet.PostStoNetRegressor(interval="fast").fit(rows[columns], rows.y, rows[["prediction"]])
head.save("head.stonet")

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False).getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
scored = stonet.spark.score(spark.createDataFrame(new), "head.stonet", level=0.9, prediction="prediction", keep=["y"])
print(scored.columns)
covered = scored.where("lower_90 <= y and y <= upper_90").count() / scored.count()
print(f"coverage {covered:.2f}")
spark.stop()
