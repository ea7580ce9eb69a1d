// SPDX-License-Identifier: Apache-2.0
// One process: collects what the samples of a window say of it, in whatever order sources deliver them, and recognises its phases.
#pragma once

#include <atalaya/plugin.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/shared/analysis/phases/assemble.h"
#include "plugins/translators/phases/program.h"

namespace atalaya::phases {

struct ProcessName {
  std::string host, process, pid;
  bool operator==(const ProcessName &) const = default;
};

class WatchedProcess {
 public:
  WatchedProcess(ProcessName name, std::shared_ptr<Program> program, const CharacteriserOptions &options);

  const ProcessName &name() const { return name_; }
  Program &program() { return *program_; }
  // The pid, but not the process, is the same.
  bool is_other(std::string_view process, std::optional<int64_t> start_ns) const;

  void add_stack(int64_t time_ns, int64_t duration_ns, std::string_view profile, std::string_view folded, double samples);
  void add_metrics(int64_t time_ns, int64_t duration_ns, const Sample &sample, const Host &host);
  // Takes the windows before the last one: the sources of a pipeline deliver the samples of one window at different times.
  void process_complete(std::vector<Occurrence> &changed) { process_until(last_seen_ns_ - interval_ns_ / 2, changed); }
  void finish(std::vector<Occurrence> &changed);

  // The recognised phase now.
  std::optional<size_t> phase() const { return characteriser_.phase(); }
  int64_t last_seen_ns() const { return last_seen_ns_; }
  int64_t interval_ns() const { return interval_ns_; }  // of its last samples
  size_t buffered() const { return characteriser_.buffered(); }
  // The size of the trace since the last call, as interned numbers with counts, in bits.
  uint64_t reset_trace_bits() { return std::exchange(trace_bits_, 0); }

 private:
  static constexpr size_t kMaxPending = 8;
  void process_until(int64_t time_ns, std::vector<Occurrence> &changed);
  Assembled *pending_at(int64_t time_ns, int64_t duration_ns);
  void take(int64_t time_ns, Assembled &window, std::vector<Occurrence> &changed);

  const ProcessName name_;
  std::shared_ptr<Program> program_;
  Characteriser characteriser_;
  std::map<int64_t, Assembled> pending_;  // by end of the window
  Undumped undumped_;
  std::string profile_;  // of the stacks; "": none seen
  std::optional<int64_t> start_ns_;
  int64_t taken_ns_ = 0, sampled_ns_ = 0, last_seen_ns_ = 0, interval_ns_ = 0;
  uint64_t trace_bits_ = 0;
};

}  // namespace atalaya::phases
