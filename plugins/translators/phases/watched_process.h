// SPDX-License-Identifier: Apache-2.0
// Recognises the phases of one process. It assembles the values of a window from the samples of several sources, in any order of
// arrival.
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
  // Whether this is another process that reuses the pid.
  bool is_other(std::string_view process, std::optional<int64_t> start_ns) const;

  void add_stack(int64_t time_ns, int64_t duration_ns, std::string_view profile, std::string_view folded, double samples);
  void add_metrics(int64_t time_ns, int64_t duration_ns, const Sample &sample, const Host &host);
  // Processes the windows before the last one: the sources of a pipeline deliver the samples of one window at different times.
  void process_complete(std::vector<Occurrence> &changed) { process_until(last_seen_ns_ - interval_ns_ / 2, changed); }
  void finish(std::vector<Occurrence> &changed);

  // The phase that was recognised last; absent: none.
  std::optional<size_t> phase() const { return characteriser_.phase(); }
  int64_t last_seen_ns() const { return last_seen_ns_; }
  int64_t interval_ns() const { return interval_ns_; }  // length of the window of its last samples
  size_t buffered() const { return characteriser_.buffered(); }
  // Returns the size in bits of the trace since the last call, if functions are stored as numbers with counts.
  uint64_t reset_trace_bits() { return std::exchange(trace_bits_, 0); }

 private:
  static constexpr size_t kMaxPending = 8;
  void process_until(int64_t time_ns, std::vector<Occurrence> &changed);
  Assembled *pending_at(int64_t time_ns, int64_t duration_ns);
  void process_window(int64_t time_ns, Assembled &window, std::vector<Occurrence> &changed);

  const ProcessName name_;
  std::shared_ptr<Program> program_;
  Characteriser characteriser_;
  std::map<int64_t, Assembled> pending_;  // windows that are not complete yet, by their end
  WindowsWithoutDump windows_without_dump_;
  std::string profile_;  // tag `profile` of the stacks; "": no stacks yet
  std::optional<int64_t> start_ns_;
  int64_t processed_until_ns_ = 0, sampled_ns_ = 0, last_seen_ns_ = 0, interval_ns_ = 0;
  uint64_t trace_bits_ = 0;
};

}  // namespace atalaya::phases
