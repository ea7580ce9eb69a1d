// SPDX-License-Identifier: Apache-2.0
// Emits the samples of processes and flows.
#pragma once

#include <atalaya/plugin.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/files.h"
#include "plugins/shared/host/cgroup/cgroup_paths.h"
#include "plugins/sources/net/backend.h"
#include "plugins/sources/net/flow_table.h"
#include "plugins/sources/net/net_metrics.h"
#include "plugins/sources/net/socket_model.h"

namespace atalaya::net {

struct CollectorOptions {
  std::string backend = "auto";  // auto, bpf, diag
  BackendOptions sockets;
  ModelOptions model;
  bool processes = true, flows = true;
  size_t exited_groups = 100;  // maximum groups of ended processes per window
};

class Collector {
 public:
  Collector(Host host, CollectorOptions options);
  void start();
  void stop();
  void collect(const Window &window, Batch &batch);

 private:
  std::unique_ptr<Backend> open_backend();
  // Opens the backend "diag" after BPF failed for `reason`. Null, logged once, if it fails too.
  std::unique_ptr<Backend> open_fallback(const std::string &reason);
  void read(const Window &window);
  void split_processes();
  // Returns true if the last window had a sample with its pid.
  bool was_reported(const Owner &owner) const;
  void add_exited(const NetProcess &process);
  // Returns true if the process is alive at the end of the window.
  bool is_alive(const NetProcess &process) const;
  bool is_in_group(const Owner &owner) const;
  // Returns the group in which an ended process is reported.
  Owner group_of(const Owner &owner) { return owner.group(cgroups_.same(owner.cgroup)); }

  enum class State { living, ended };
  void emit(const NetProcess &process, State state, Batch &batch);
  void add_tcp(const NetProcess &process, State state, Sample &sample, Batch &batch);
  // Adds the four metrics of system calls that start at index `first`.
  void add_calls(NetMetric first, const Traffic &moved, Sample &sample, Batch &batch) const;
  void emit_flows(Batch &batch);
  void emit(const Flow &flow, Batch &batch);
  void emit_lost(Batch &batch);

  void add_owner(const Owner &owner, Sample &sample, Batch &batch);
  void add_ends(const FlowKey &key, Sample &sample, Batch &batch) const;
  static void add_number(uint32_t tag, uint64_t number, Sample &sample, Batch &batch);
  void rate(NetMetric metric, uint64_t amount, double scale, Sample &sample, Batch &batch) const;
  void count(NetMetric metric, uint64_t amount, Sample &sample, Batch &batch) const;
  void add_mean_rtt(NetMetric metric, const Traffic &moved, Sample &sample, Batch &batch) const;
  uint32_t id(NetMetric metric) const { return ids_[static_cast<size_t>(metric)]; }

  Host host_;
  CollectorOptions options_;
  std::array<uint32_t, kNetMetricCount> ids_{};
  uint32_t pid_id_, process_id_, cgroup_id_, local_id_, remote_id_, port_id_, protocol_id_, direction_id_, netns_id_;

  std::unique_ptr<Backend> backend_;
  core::Descriptor procfs_;
  cgroup::CgroupPaths cgroups_;
  uint32_t own_netns_ = 0;
  std::unique_ptr<SocketModel> model_;
  FlowTable reported_flows_;
  std::vector<const NetProcess *> alive_, ended_,
      ended_in_groups_;             // processes of this window: alive; ended, with a separate series; ended, reported in a group
  std::vector<NetProcess> exited_;  // ended processes summed by name and cgroup
  // pid and start of the processes that were reported in the last window, and in this one
  std::vector<std::pair<int32_t, uint64_t>> reported_before_, reported_now_;
  uint64_t walks_ = 0;
  int64_t previous_ns_ = 0, elapsed_ns_ = 0;  // 0: no window yet
  uint64_t lost_before_ = 0;
  uint64_t lost_ = 0, vanished_ = 0;  // counts that no sample has reported yet
};

}  // namespace atalaya::net
