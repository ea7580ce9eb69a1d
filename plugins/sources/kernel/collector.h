// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/sources/kernel/cgroup_watch.h"
#include "plugins/sources/kernel/kernel_log.h"
#include "plugins/sources/kernel/kernel_metrics.h"
#include "plugins/sources/kernel/marks.h"
#include "plugins/sources/kernel/read_only.h"
#include "plugins/sources/kernel/victims.h"

namespace atalaya::kernel {

struct Options {
  std::string root = "/";
  bool throttled = true;
};

class Collector {
 public:
  Collector(Host host, Options options);
  void start();
  void stop();
  void collect(const Window &window, Batch &batch);

 private:
  struct Names {
    explicit Names(Host host);
    uint32_t event, process, pid, cgroup, container, kind, file, disk, mount, cause, memory, throttled, periods;
  };
  // An event that becomes a span; empty members become no tags.
  struct Event {
    std::string_view name;
    int64_t time_ns = 0, duration_ns = 0;  // time_ns: start, Unix time
    std::vector<std::pair<uint32_t, std::string_view>> tags;
  };
  struct LoggedCrash {
    int64_t time_ns = 0, thread = 0;
    std::string process, kind, file;
  };
  struct Episode {  // an interval in which a cgroup was throttled
    int64_t start_ns = 0;
    uint64_t time_ns = 0, periods = 0;
    bool continues = false;
  };

  void open_log();
  void read_log(const Window &window);
  bool knows_victims() const { return log_.is_open() || marks_ != nullptr; }
  int64_t unix_time(int64_t monotonic_ns) const;
  Sample &emit(Batch &batch, const Event &event, uint32_t fields) const;
  void emit_victims(const Window &window, Batch &batch);
  void emit_crashes(Batch &batch);
  void emit_throttled(const Window &window, Batch &batch);
  void emit_read_only(const Window &window, Batch &batch);
  void emit_log_metrics(Batch &batch) const;

  Host host_;
  const Options options_;
  const Names names_;
  const io::MetricEmitter<kMetrics> emitter_;
  KernelLog log_;
  std::unique_ptr<Marks> marks_;
  CgroupWatch cgroups_;
  bool has_cgroups_ = false;
  ReadOnlyWatch read_only_;
  std::optional<Victims> victims_;
  std::vector<LoggedCrash> crashes_;
  std::vector<std::string> failed_devices_;  // devices that failed in this window
  std::map<std::string, Episode, std::less<>> episodes_;
  uint64_t lost_messages_ = 0;
  int64_t last_ns_ = 0;  // time of the last collection, monotonic
  int64_t unix_offset_ns_ = 0;
};

}  // namespace atalaya::kernel
