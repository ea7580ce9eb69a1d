// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/code/probes/binaries.h"
#include "plugins/shared/code/probes/regions.h"
#include "plugins/shared/io/match/matcher.h"
#include "plugins/sources/uprobe/backend.h"
#include "plugins/sources/uprobe/tally.h"

namespace atalaya::uprobe {

struct Options {
  std::vector<probes::Region> regions;
  io::MatcherList processes;
  std::string job;  // empty: none
  uint64_t min_ns = 0, max_events = 10000;
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
    uint32_t name, process, pid, job, bytes, calls, time, brief, dropped, nested, orphans, missed, attached;
  };
  std::function<bool(std::string_view)> wants() const;
  void collect_runs(Batch &batch);
  void emit(const uprobe_run &run, int64_t realtime_offset_ns, Batch &batch);
  void read_counts();
  void emit_costs(Batch &batch);

  Host host_;
  const Options options_;
  const Names names_;
  // binaries_ has the attachments of the backend, so it is declared later and destroyed first.
  std::unique_ptr<Backend> backend_;
  std::optional<probes::Binaries> binaries_;
  std::optional<Tally> tally_;
};

}  // namespace atalaya::uprobe
