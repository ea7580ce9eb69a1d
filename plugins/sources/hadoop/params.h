// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

namespace atalaya::hadoop {

inline constexpr Param kPattern[] = {{.name = "pattern"_str,
                                      .type = ATALAYA_STRING,
                                      .summary = "A key, glob or ~regular expression; with ! in front: not those."_str}};
inline constexpr Param kRack[] = {
    {.name = "rack"_str, .type = ATALAYA_STRING, .summary = "The host's rack, \"/dc1/r1\" or \"/r1\"."_str}};
inline constexpr Param kHostName[] = {
    {.name = "host"_str, .type = ATALAYA_STRING, .summary = "What this host is called in metrics."_str}};
inline constexpr Param kTls[] = {
    {.name = "ca"_str, .type = ATALAYA_STRING, .summary = "PEM file of the authorities to trust; absent: the system's."_str},
    {.name = "certificate"_str,
     .type = ATALAYA_STRING,
     .summary = "PEM file of the certificate (and chain) that this agent shows."_str},
    {.name = "key"_str, .type = ATALAYA_STRING, .summary = "PEM file of that certificate's private key."_str},
};
inline constexpr Param kParams[] = {
    {.name = "path"_str,
     .type = ATALAYA_STRING,
     .flags = ATALAYA_REQUIRED,
     .summary = "A history, a folder with all below it, or a glob; webhdfs://HOST:PORT/FOLDER, several name nodes with commas; "
                "\"auto\": where this host's "
                "mapred-site.xml and spark-defaults.conf say."_str},
    {.name = "follow"_str,
     .type = ATALAYA_BOOL,
     .default_text = "true"_str,
     .summary =
         "Goes on with new histories and what is added to those of running jobs; false: ends when all that is there is read."_str},
    {.name = "look_every"_str,
     .type = ATALAYA_DURATION,
     .flags = ATALAYA_BOUNDED,
     .default_text = "10s"_str,
     .summary = "How often the folders are looked through; less often where that takes long."_str,
     .min = 1e8,
     .max = 8.64e13},
    {.name = "max_age"_str,
     .type = ATALAYA_DURATION,
     .flags = ATALAYA_BOUNDED,
     .summary = "Histories that have not changed for longer are left alone; absent: all are read."_str,
     .min = 1e9,
     .max = 9.2e18},
    {.name = "racks"_str,
     .type = ATALAYA_MAP,
     .summary = "Where hosts stand, { n1 = \"/dc1/r1\" }, to tell how far a task's data is where the history does not say."_str,
     .items = kRack,
     .item_count = 1,
     .item_size = sizeof(Param)},
    {.name = "hosts"_str,
     .type = ATALAYA_MAP,
     .summary =
         "Hosts that histories call otherwise than metrics do, { [\"10.0.0.1\"] = \"n1\" }; { [\".example.org\"] = \"\" } cuts a domain."_str,
     .items = kHostName,
     .item_count = 1,
     .item_size = sizeof(Param)},
    {.name = "facts"_str,
     .type = ATALAYA_LIST,
     .default_text =
         "mapreduce.task.io.sort.*,mapreduce.map.memory.mb,mapreduce.reduce.memory.mb,mapreduce.job.maps,mapreduce.job.reduces,"
         "mapreduce.map.sort.spill.percent,mapreduce.map.output.compress*,mapreduce.reduce.shuffle.*,mapreduce.*.speculative,"
         "mapreduce.job.reduce.slowstart.*,mapreduce.*.cpu.vcores,io.sort.*,io.file.buffer.size,mapred.reduce.tasks,"
         "mapred.map.tasks,mapred.*.compress*,dfs.blocksize,dfs.replication,spark.executor.memory*,spark.executor.cores,"
         "spark.executor.instances,spark.driver.memory*,spark.memory.*,spark.shuffle.*,spark.sql.shuffle.partitions,"
         "spark.sql.adaptive.enabled,spark.dynamicAllocation.*,spark.default.parallelism,spark.serializer,"
         "spark.io.compression.codec,spark.speculation*,spark.locality.wait*"_str,
     .summary = "Settings of jobs that become facts; those that may hold a secret or a command line never do."_str,
     .items = kPattern,
     .item_count = 1,
     .item_size = sizeof(Param)},
    {.name = "max_names"_str,
     .type = ATALAYA_INT,
     .flags = ATALAYA_BOUNDED,
     .default_text = "20000"_str,
     .unit = "names"_str,
     .summary = "Different names of counters, which jobs may choose; fields with further ones are left out."_str,
     .min = 16,
     .max = 500000},
    {.name = "user"_str, .type = ATALAYA_STRING, .summary = "webhdfs://: who asks (user.name), where the server believes it."_str},
    {.name = "timeout"_str,
     .type = ATALAYA_DURATION,
     .flags = ATALAYA_BOUNDED,
     .default_text = "10s"_str,
     .summary = "webhdfs://: for one exchange, from connecting to the last byte."_str,
     .min = 1e8,
     .max = 3.6e12},
    {.name = "tls"_str,
     .type = ATALAYA_RECORD,
     .summary = "Certificates for swebhdfs://; names are checked."_str,
     .items = kTls,
     .item_count = std::size(kTls),
     .item_size = sizeof(Param)},
    {.name = "root"_str,
     .type = ATALAYA_STRING,
     .default_text = "/"_str,
     .summary = "With path = \"auto\": the folder that stands for /."_str},
};

}  // namespace atalaya::hadoop
