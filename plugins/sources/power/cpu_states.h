// SPDX-License-Identifier: Apache-2.0
// Reads CPU values from /sys and /proc: frequency, idle states, throttling, interrupts, Intel
// uncore and graphics frequency.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/shared/host/power/numbers.h"
#include "plugins/shared/host/procfs/cpus.h"
#include "plugins/shared/host/procfs/host_counters.h"
#include "plugins/sources/power/output.h"

namespace atalaya::power {

// Interrupts of each CPU, in the order of the header line of /proc/interrupts.
struct CpuInterrupts {
  int32_t cpu = 0;
  uint64_t count = 0;
};
std::vector<CpuInterrupts> parse_interrupts(std::string_view text);

class CpuStates {
 public:
  struct Wanted {
    bool cstates = true, interrupts = true;
  };
  CpuStates(const procfs::Tree &tree, Wanted wanted) : tree_(tree), wanted_(wanted) {}

  // Sets the CPUs to read; CPUs that were read before keep their state.
  void follow(const std::vector<procfs::Cpu> &cpus);
  void forget();
  void collect(int64_t now_ns, Output &out);

  bool has_frequencies() const { return frequencies_; }
  bool has_cstates() const { return !states_.empty(); }

 private:
  struct Throttle {
    procfs::Count core, package;
  };
  struct CpuFiles {
    procfs::Cpu cpu;
    NumberFile frequency, core_throttles, package_throttles;
    procfs::Last<Throttle> throttle;
  };
  struct Residency {
    procfs::Count microseconds, entries;
  };
  struct State {
    int32_t cpu;
    std::string name;
    NumberFile time, usage;
    procfs::Last<Residency> last;
  };
  struct Uncore {
    int32_t package;
    NumberFile frequency;
  };
  struct Sleep {
    procfs::Count milliseconds;
  };
  struct Graphics {
    std::string name;
    NumberFile frequency, actual, rc6;
    procfs::Last<Sleep> last;
  };
  struct Interrupts {
    procfs::Count count;
  };

  using KnownStates = std::map<std::pair<int32_t, std::string>, procfs::Last<Residency>>;

  void find_states(int32_t cpu, const KnownStates &known);
  void find_uncore();
  void find_graphics();
  void collect_states(int64_t now_ns, Output &out);
  void collect_interrupts(int64_t now_ns, Output &out);
  void collect_graphics(int64_t now_ns, Output &out);

  const procfs::Tree &tree_;
  Wanted wanted_;
  std::vector<CpuFiles> cpus_;
  std::vector<State> states_;
  std::vector<Uncore> uncore_;
  std::vector<Graphics> graphics_;
  procfs::PersistentFile interrupts_file_{"proc/interrupts"};
  std::vector<char> buffer_;
  procfs::History<Interrupts> interrupts_;
  bool frequencies_ = false;
};

}  // namespace atalaya::power
