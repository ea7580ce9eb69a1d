# SPDX-License-Identifier: Apache-2.0
"""Applications with one planted cause each, and a healthy one. Spark runs this file: spark-submit spark_jobs.py NAME SIZE."""

import sys

from pyspark.sql import SparkSession

HASHES = "sha2(repeat(sha2(cast(id as string), 512), 20), 512)"  # some microseconds of CPU time for each row


def join(spark, size):
    left = spark.range(0, size, 1, 4).selectExpr("id", "id % 1000 as key")
    right = spark.range(0, 1000, 1, 4).selectExpr("id as key", "id * 2 as value")
    left.join(right, "key").groupBy("value").count().orderBy("value").collect()


def skew(spark, size):
    """Four fifths of the rows have one key, so one task of the second stage has them."""
    rows = spark.range(0, size, 1, 4).selectExpr("id", "if(id % 5 < 4, 0, id) as key")
    rows.repartition(8, "key").selectExpr(f"max({HASHES})").collect()
    rows.repartition(8, "key").sortWithinPartitions("id").selectExpr(HASHES + " as hash").groupBy().count().collect()
    rows.repartition(8, "key").rdd.mapPartitions(lambda part: [sum(hash(row.id * 31) for row in part)]).collect()


def failing(spark, size):
    spark.range(0, size, 1, 4).selectExpr("if(id = 7, raise_error('planted error'), id)").collect()


def gc(spark, size):
    rows = spark.range(0, size, 1, 4).selectExpr(f"id % {size // 20} as key", "uuid() as value")
    rows.groupBy("key").agg({"value": "collect_list"}).selectExpr("max(size(`collect_list(value)`))").collect()


def one_partition(spark, size):
    spark.range(0, size, 1, 1).selectExpr(f"max({HASHES})").collect()


def main():
    name, size = sys.argv[1], int(sys.argv[2])
    spark = SparkSession.builder.appName(name).getOrCreate()
    try:
        {"join": join, "skew": skew, "failing": failing, "gc": gc, "one-partition": one_partition}[name](spark, size)
    finally:
        spark.stop()


main()
