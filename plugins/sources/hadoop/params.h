// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

namespace atalaya::hadoop {

inline constexpr Param kPattern[] = {param::string("pattern", "A key, glob or ~regular expression; a leading ! excludes")};
inline constexpr Param kRack[] = {param::string("rack", "The host's rack, \"/dc1/r1\" or \"/r1\"")};
inline constexpr Param kHostName[] = {param::string("host", "Name of this host in metrics")};
inline constexpr Param kTls[] = {
    param::string("ca", "PEM file of trusted certificate authorities (default: the system's)").unit("input file"),
    param::string("certificate", "PEM file of this agent's certificate (and chain)").unit("input file"),
    param::string("key", "PEM file of the certificate's private key").unit("input file"),
};
inline constexpr Param kParams[] = {
    param::string(
        "path", "A history, a folder (recursive), a glob, webhdfs://HOST:PORT/FOLDER (several name nodes with commas), or \"auto\"")
        .required(),
    param::boolean("follow", "Follows new histories and those of running jobs; false: ends when all histories are read")
        .defaults("true"),
    param::duration("look_every", "Interval of scans of the folders; longer if a scan takes long")
        .defaults("10s")
        .range(1e8, 8.64e13),
    param::duration("max_age", "Maximum age of the last change of a history (default: no limit)").range(1e9, 9.2e18),
    param::map("racks", kRack, "Racks of hosts, { n1 = \"/dc1/r1\" }, to compute data locality that a history lacks"),
    param::map(
        "hosts", kHostName,
        "Names in metrics of hosts in histories, { [\"10.0.0.1\"] = \"n1\" }; { [\".example.org\"] = \"\" } removes a domain"),
    param::list("facts", kPattern, "Settings of jobs to report as facts; settings that may hold secrets or command lines never are")
        .defaults(
            "mapreduce.task.io.sort.*,mapreduce.map.memory.mb,mapreduce.reduce.memory.mb,mapreduce.job.maps,mapreduce.job.reduces,"
            "mapreduce.map.sort.spill.percent,mapreduce.map.output.compress*,mapreduce.reduce.shuffle.*,mapreduce.*.speculative,"
            "mapreduce.job.reduce.slowstart.*,mapreduce.*.cpu.vcores,io.sort.*,io.file.buffer.size,mapred.reduce.tasks,"
            "mapred.map.tasks,mapred.*.compress*,dfs.blocksize,dfs.replication,spark.executor.memory*,spark.executor.cores,"
            "spark.executor.instances,spark.driver.memory*,spark.memory.*,spark.shuffle.*,spark.sql.shuffle.partitions,"
            "spark.sql.adaptive.enabled,spark.dynamicAllocation.*,spark.default.parallelism,spark.serializer,"
            "spark.io.compression.codec,spark.speculation*,spark.locality.wait*,spark.cores.max,"
            "spark.sql.execution.pythonUDF.arrow.enabled"),
    param::integer("max_names", "Maximum distinct names of counters, which jobs may choose; further counters are left out")
        .defaults("20000")
        .unit("names")
        .range(16, 500000),
    param::string("user", "webhdfs://: value of user.name, for servers that trust it"),
    param::duration("timeout", "webhdfs://: maximum time of one request, including the connection")
        .defaults("10s")
        .range(1e8, 3.6e12),
    param::record("tls", kTls, "Certificates for swebhdfs://; host names are verified"),
    param::string("root", "With path = \"auto\": the folder to use as /").defaults("/"),
};

}  // namespace atalaya::hadoop
