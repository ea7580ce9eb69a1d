// SPDX-License-Identifier: Apache-2.0
// The source "inventory": hardware, software and configuration of the host, and their changes.
#include <atalaya/plugin.hpp>

#include <array>
#include <string>
#include <vector>

#include "plugins/shared/io/match/patterns.h"
#include "plugins/sources/inventory/collector.h"
#include "plugins/sources/inventory/inventory_metrics.h"

namespace atalaya::inventory {
namespace {

Options options_of(const Host &host) {
  return {.root = host.text("root"),
          .jdks = host.texts("jdks"),
          .configurations = {.places = host.texts("configurations"), .keys = io::read_patterns(host, "keys")},
          .repeat_ns = host.integer("repeat")};
}

constexpr Param kFolder[] = {param::string("folder", "A folder")};
constexpr Param kPlace[] = {param::string("place", "A folder or a file")};
constexpr Param kPattern[] = {param::string("pattern", "A key, glob or ~regular expression")};

class Inventory final : public CollectingSource<Collector> {
 public:
  static constexpr Param params[] = {
      param::string("root", "Folder that holds proc, sys and etc: the host's root in a container, or a recorded tree")
          .defaults("/"),
      param::list("jdks", kFolder, "Folders that contain JDKs").defaults("/usr/lib/jvm,/usr/java,/opt"),
      param::list("configurations", kPlace,
                  "Configuration files of Hadoop (.xml) and Spark, or folders with *-site.xml and spark-defaults.conf")
          .defaults("/etc/hadoop/conf,/etc/hadoop,/opt/hadoop/etc/hadoop,/usr/local/hadoop/etc/hadoop,"
                    "/usr/lib/hadoop/etc/hadoop,/etc/spark/conf,/opt/spark/conf,/usr/local/spark/conf,/usr/lib/spark/conf"),
      param::list("keys", kPattern, "Configuration keys to report; keys that name a secret are never reported")
          .defaults("dfs.replication,dfs.blocksize,dfs.block.size,dfs.*.handler.count,dfs.datanode.max.transfer.threads,"
                    "dfs.datanode.balance.*,dfs.client.read.shortcircuit,io.file.buffer.size,io.sort.*,"
                    "io.compression.codecs,mapred.*.tasks.maximum,mapreduce.*.memory.mb,mapreduce.*.cpu.vcores,"
                    "mapreduce.*.io.sort.*,mapreduce.*.sort.*,mapreduce.task.io.*,mapreduce.*.shuffle.*,"
                    "mapreduce.*.compress*,mapreduce.*.speculative,mapreduce.job.reduces,mapreduce.job.maps,"
                    "mapreduce.*slowstart*,mapreduce.framework.name,mapreduce.input.*split*,mapreduce.*.jvm.numtasks,"
                    "yarn.nodemanager.resource.*,yarn.nodemanager.*-check-enabled,yarn.nodemanager.vmem-pmem-ratio,"
                    "yarn.scheduler.*,yarn.resourcemanager.scheduler.class,tez.*.memory.mb,tez.runtime.*,tez.grouping.*,"
                    "spark.executor.cores,spark.executor.memory*,spark.executor.instances,spark.driver.cores,"
                    "spark.driver.memory*,spark.memory.*,spark.default.parallelism,spark.sql.shuffle.partitions,"
                    "spark.sql.adaptive.*,spark.shuffle.*,spark.io.compression.*,spark.reducer.*,spark.locality.*,"
                    "spark.speculation*,spark.dynamicAllocation.*,spark.serializer,spark.master"),
      param::duration("repeat", "Interval at which all current facts are emitted again, for stores with a short retention")
          .defaults("1d")
          .range(1e9, 365.0 * 86400e9),
  };
  static constexpr Need needs[] = {
      need::file("/proc", "no processors, memory and kernel"),
      need::optional_file("/sys", "no disks, interfaces, caches and NUMA nodes"),
  };
  static constexpr Description description = {.name = "inventory"_str,
                                              .summary = "Hardware, software and configuration of the host, and their changes"_str,
                                              .params = params,
                                              .metrics = kMetrics,
                                              .needs = needs,
                                              .flags = ATALAYA_BLOCKING};

  explicit Inventory(Host host) : CollectingSource(host, options_of(host)) {}
};

}  // namespace
}  // namespace atalaya::inventory

ATALAYA_PLUGIN("inventory", "0.1.0", "source inventory", atalaya::inventory::Inventory)
