// SPDX-License-Identifier: Apache-2.0
// The source "inventory": what the host is made of and how it is set up, and when that changed.
#include <atalaya/plugin.hpp>

#include <array>
#include <string>
#include <vector>

#include "plugins/sources/inventory/collector.h"
#include "plugins/sources/inventory/inventory_metrics.h"

namespace atalaya::inventory {
namespace {

core::MatcherList matchers(const Host &host, const char *name) {
  const std::vector<std::string> patterns = host.texts(name);
  auto list = core::MatcherList::parse(patterns);
  if (!list) throw Failure(Code::bad_config, std::string(name) + ": " + list.error());
  return std::move(*list);
}

Options options_of(const Host &host) {
  return {.root = host.text("root"),
          .jdks = host.texts("jdks"),
          .configurations = {.places = host.texts("configurations"), .keys = matchers(host, "keys")},
          .repeat_ns = host.integer("repeat")};
}

constexpr Param kFolder[] = {{.name = "folder"_str, .type = ATALAYA_STRING, .summary = "A folder."_str}};
constexpr Param kPlace[] = {{.name = "place"_str, .type = ATALAYA_STRING, .summary = "A folder or a file."_str}};
constexpr Param kPattern[] = {
    {.name = "pattern"_str, .type = ATALAYA_STRING, .summary = "A key, glob or ~regular expression."_str}};

class Inventory final : public Source {
 public:
  static constexpr std::array params = {
      Param{.name = "root"_str,
            .type = ATALAYA_STRING,
            .default_text = "/"_str,
            .summary =
                "The folder that holds proc, sys and etc: another host's recorded tree, or the host's root in a container."_str},
      Param{.name = "jdks"_str,
            .type = ATALAYA_LIST,
            .default_text = "/usr/lib/jvm,/usr/java,/opt"_str,
            .summary = "Folders with JDKs in them."_str,
            .items = kFolder,
            .item_count = 1,
            .item_size = sizeof(Param)},
      Param{.name = "configurations"_str,
            .type = ATALAYA_LIST,
            .default_text =
                "/etc/hadoop/conf,/etc/hadoop,/opt/hadoop/etc/hadoop,/usr/local/hadoop/etc/hadoop,/usr/lib/hadoop/etc/hadoop,"
                "/etc/spark/conf,/opt/spark/conf,/usr/local/spark/conf,/usr/lib/spark/conf"_str,
            .summary = "Files of Hadoop (.xml) and Spark, or folders with core-, hdfs-, yarn-, mapred-, tez-, httpfs-, "
                       "hbase-site.xml and spark-defaults.conf."_str,
            .items = kPlace,
            .item_count = 1,
            .item_size = sizeof(Param)},
      Param{.name = "keys"_str,
            .type = ATALAYA_LIST,
            .default_text =
                "dfs.replication,dfs.blocksize,dfs.block.size,dfs.*.handler.count,dfs.datanode.max.transfer.threads,"
                "dfs.datanode.balance.*,dfs.client.read.shortcircuit,io.file.buffer.size,io.sort.*,"
                "io.compression.codecs,mapred.*.tasks.maximum,mapreduce.*.memory.mb,mapreduce.*.cpu.vcores,"
                "mapreduce.*.io.sort.*,mapreduce.*.sort.*,mapreduce.task.io.*,mapreduce.*.shuffle.*,mapreduce.*.compress*,"
                "mapreduce.*.speculative,mapreduce.job.reduces,mapreduce.job.maps,mapreduce.*slowstart*,"
                "mapreduce.framework.name,mapreduce.input.*split*,mapreduce.*.jvm.numtasks,"
                "yarn.nodemanager.resource.*,yarn.nodemanager.*-check-enabled,yarn.nodemanager.vmem-pmem-ratio,"
                "yarn.scheduler.*,yarn.resourcemanager.scheduler.class,tez.*.memory.mb,tez.runtime.*,tez.grouping.*,"
                "spark.executor.cores,spark.executor.memory*,spark.executor.instances,spark.driver.cores,"
                "spark.driver.memory*,spark.memory.*,spark.default.parallelism,spark.sql.shuffle.partitions,"
                "spark.sql.adaptive.*,spark.shuffle.*,spark.io.compression.*,spark.reducer.*,spark.locality.*,"
                "spark.speculation*,spark.dynamicAllocation.*,spark.serializer,spark.master"_str,
            .summary = "Keys of them that are told; one that names a secret never is."_str,
            .items = kPattern,
            .item_count = 1,
            .item_size = sizeof(Param)},
      Param{.name = "repeat"_str,
            .type = ATALAYA_DURATION,
            .flags = ATALAYA_BOUNDED,
            .default_text = "1d"_str,
            .summary = "How often all facts that hold are told again, for stores that keep only what came lately."_str,
            .min = 1e9,
            .max = 365.0 * 86400e9},
  };
  static constexpr Need needs[] = {
      {ATALAYA_NEED_FILE, 0, "/proc"_str, "processors, memory and the kernel are read from it"_str},
      {ATALAYA_NEED_FILE, 1, "/sys"_str, "disks, interfaces, caches and NUMA nodes"_str},
  };
  static constexpr Description description = {.name = "inventory"_str,
                                              .summary = "What the host is made of and how it is set up, and when that changed"_str,
                                              .params = params,
                                              .metrics = kMetrics,
                                              .needs = needs,
                                              .flags = ATALAYA_BLOCKING};

  explicit Inventory(Host host) : collector_(host, options_of(host)) {}
  void start() override { collector_.start(); }
  Code collect(const Window &window, Batch &batch) override {
    collector_.collect(window, batch);
    return Code::ok;
  }

 private:
  Collector collector_;
};

}  // namespace
}  // namespace atalaya::inventory

ATALAYA_PLUGIN("inventory", "0.1.0", "source inventory", atalaya::inventory::Inventory)
