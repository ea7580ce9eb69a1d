// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/findings/checks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "plugins/shared/analysis/evidence/statistics.h"
#include "plugins/shared/analysis/jobs/reasons/resource.h"

namespace atalaya::jobs {
namespace {

// Minimum differences between a node and the others.
constexpr double kPoints = 15;        // percentage points: busy, pressure
constexpr double kStealPoints = 5;    // percentage points of CPU used by other guests
constexpr double kThrottledMs = 100;  // per second
constexpr double kProgramCpu = 20;    // % of a core that a program uses here
constexpr double kCoresShare = 0.1;   // share of the node's cores: a program that uses less does not delay tasks
constexpr double kProgramDisk = 1;    // MiB/s
constexpr double kDiskShare = 0.2;    // share of the traffic of the node's disks
constexpr double kBusy = 85;          // % of all cores: no capacity left
constexpr double kElsewhere =
    0.25;                       // if the usage on other nodes is below this share of that here, the program belongs to this node
constexpr double kShare = 0.1;  // minimum share of remote bytes, and of time in garbage collection
constexpr double kSlownessShare = 0.5;  // share of the node's slowness: minimum slowness of remote tasks compared with local ones
constexpr double kReasonChance = 0.05;  // significance level of that difference; weak, because the node is known to be slow
constexpr double kRateBelow = 0.15, kSlowAwait = 1.5, kMinAwaitMs = 2;
constexpr double kMinDisk = 0.5, kMinNet = 1;  // MiB/s, Mibit/s; smaller rates are not compared
constexpr double kAlike = 1.1;                 // maximum ratio to the other nodes that counts as equal
constexpr std::string_view kBytesPerSecond = " B/s";
constexpr double kSwapBytes = 1 << 20, kMajorFaults = 100;

struct Pair {
  double node = 0, others = 0;
  double below() const { return others > 0 ? 1 - node / others : 0; }
};

class Checker {
 public:
  Checker(const Metrics &metrics, const Sides &sides)
      : metrics_(metrics), sides_(sides), needs_(sides.needs.value_or(Needs())), has_phase_(sides.needs.has_value()) {}

  std::vector<Check> all() {
    Check of_cpu = cpu();
    const bool is_short = cpu_is_short(of_cpu);
    std::vector<Check> checks = {std::move(of_cpu), programs(is_short), garbage_collection(), memory(), remote_reads(), disk(),
                                 network()};
    // If the data comes over the network, it is checked before the disks, which wait for it.
    if (comes_over_network()) std::swap(checks[5], checks[6]);
    return checks;
  }

 private:
  std::optional<Pair> of(std::string_view metric) const {
    const auto node = metrics_.mean(metric, sides_.own), others = metrics_.mean(metric, sides_.others);
    return node && others ? std::optional(Pair{*node, *others}) : std::nullopt;
  }
  // The metric with the largest difference among those with values.
  std::optional<std::pair<std::string_view, Pair>> lowest(std::initializer_list<std::string_view> metrics, double minimum) const {
    std::optional<std::pair<std::string_view, Pair>> found;
    for (const std::string_view metric : metrics) {
      const auto pair = of(metric);
      if (pair && pair->others >= minimum && (!found || pair->below() > found->second.below())) found.emplace(metric, *pair);
    }
    return found;
  }

  static std::string comparison_text(const char *label, const Pair &pair, std::string_view unit) {
    const auto text = [&](double value) {
      return unit == kBytesPerSecond ? size_text(value) + "/s" : short_text(value) + std::string(unit);
    };
    return std::string(label) + " " + text(pair.node) + ", " + text(pair.others) + " on the other nodes";
  }
  static void add(std::string &text, const std::string &more) { text += (text.empty() ? "" : "; ") + more; }

  // Adds the result of one metric: a reason if the node exceeds the others by at least the threshold.
  void look(Check &check, std::string_view metric, const char *label, std::string_view unit, double more, double minimum) const {
    const auto pair = of(metric);
    if (!pair) return;
    const std::string text = comparison_text(label, *pair, unit);
    const bool differs = pair->node - pair->others >= more && pair->node >= minimum;
    if (check.verdict == Verdict::unknown) check.verdict = Verdict::ruled_out;
    if (differs && check.verdict != Verdict::found) {
      check.verdict = Verdict::found;
      check.text.clear();
    }
    if (differs && check.short_text.empty()) check.short_text = text;
    if (differs || check.verdict != Verdict::found) add(check.text, text);
  }
  static Check finished(Check check, const char *label, const char *missing) {
    if (check.verdict == Verdict::unknown) check.text = std::string(label) + ": not known; " + missing;
    return check;
  }

  Check cpu() const {
    Check check{.reason = Reason::cpu};
    look(check, "sys.cpu.usage", "CPU busy", " %", kPoints, 50);
    look(check, "sys.cpu.steal", "CPU time stolen by the hypervisor", " %", kStealPoints, 0);
    look(check, "sys.pressure.cpu.some.stall", "waiting for a CPU", " % of the time", kPoints, 0);
    look(check, "cgroup.cpu.throttled.time", "CPU withheld by limits", " ms/s", kThrottledMs, 0);
    return finished(std::move(check), "CPU", "run source proc (sys.cpu.usage)");
  }

  // Whether a program that computes delays the tasks.
  bool cpu_is_short(const Check &cpu) const {
    if (cpu.verdict == Verdict::found) return true;
    const auto busy = metrics_.mean("sys.cpu.usage", sides_.own);
    const auto throttled = metrics_.mean("cgroup.cpu.throttled.time", sides_.own);
    const auto delay =
        of("proc.cpu.delay");  // the sum over all programs: on more cores more programs may wait without effect on the tasks
    return busy.value_or(0) >= kBusy || throttled.value_or(0) >= kThrottledMs ||
           (delay && delay->node - delay->others >= kPoints * metrics_.cores(sides_.node));
  }

  bool disk_is_short() const {
    for (const std::string_view metric : {"sys.pressure.io.some.stall", "cgroup.pressure.io.some.stall"})
      if (const auto pair = of(metric); pair && pair->node - pair->others >= kPoints) return true;
    for (const std::string_view metric : {"sys.disk.write.await", "sys.disk.read.await"})
      if (const auto pair = of(metric); pair && is_slow(*pair)) return true;
    return false;
  }

  // Programs that use much of a scarce resource on this node, and little on other nodes.
  Check programs(bool cpu_is_short) const {
    Check check{.reason = Reason::programs};
    std::map<std::string, Program> elsewhere;
    std::map<std::string, bool> hosts;
    bool has_node = false;
    for (const Program &program : metrics_.programs(sides_.set)) {
      has_node = has_node || program.host == sides_.node;
      if (program.host == sides_.node) continue;
      hosts[program.host] = true;
      elsewhere[program.name].cpu += program.cpu;
      elsewhere[program.name].disk += program.disk;
    }
    if (!has_node || hosts.empty())
      return finished(std::move(check), "other programs", "run source proc (proc.cpu.user, proc.disk.writes.mb)");
    check.verdict = Verdict::ruled_out;
    const auto others = static_cast<double>(hosts.size());
    const double much_cpu = 100 * kCoresShare * metrics_.cores(sides_.node), much_disk = kDiskShare * moved_by_disks();
    const bool has_no_free_disk = disk_is_short();
    for (const Program &program : metrics_.programs(sides_.set)) {
      if (program.host != sides_.node) continue;
      const double cpu = elsewhere[program.name].cpu / others, disk = elsewhere[program.name].disk / others;
      if (program.cpu - cpu >= kProgramCpu && cpu <= kElsewhere * program.cpu)
        add_program(check, "\"" + program.name + "\" uses " + short_text(program.cpu) + " % of a core, " + short_text(cpu) + " %",
                    program.cpu < much_cpu ? "a small part of its cores"
                    : !cpu_is_short        ? "CPU is available"
                                           : "");
      if (program.disk - disk >= kProgramDisk && disk <= kElsewhere * program.disk)
        add_program(
            check,
            "\"" + program.name + "\" reads and writes " + short_text(program.disk) + " MiB/s, " + short_text(disk) + " MiB/s",
            program.disk < much_disk ? "a small part of the traffic of its disks"
            : !has_no_free_disk      ? "waits for its disks are not longer"
                                     : "");
    }
    if (check.text.empty()) check.text = "no program uses CPU or disks here that it does not use on the other nodes";
    return check;
  }
  // `harmless`: the reason why it does not delay the tasks; "" if it does.
  static void add_program(Check &check, const std::string &use, const std::string &harmless) {
    const std::string text = use + " on the other nodes";
    add(check.text, text + (harmless.empty() ? "" : " (but " + harmless + ")"));
    if (!harmless.empty()) return;
    check.verdict = Verdict::found;
    if (check.short_text.empty()) check.short_text = "another program, " + text;
  }
  // Throughput of all disks in MiB/s; 0 if unknown.
  double moved_by_disks() const {
    return metrics_.mean("sys.disk.read.mb", sides_.own).value_or(0) + metrics_.mean("sys.disk.write.mb", sides_.own).value_or(0);
  }

  Check garbage_collection() const {
    Check check{.reason = Reason::garbage_collection};
    const auto own = sides_.tasks.own_gc, others = sides_.tasks.other_gc;
    if (own && others) {
      check.text =
          "garbage collection " + percent_text(*own) + " of the tasks' time, " + percent_text(*others) + " on the other nodes";
      check.verdict = *own - *others >= kShare ? Verdict::found : Verdict::ruled_out;
      check.short_text = check.text;
    }
    return finished(std::move(check), "garbage collection", "the tasks' spans have no span.gc.time");
  }

  Check memory() const {
    Check check{.reason = Reason::memory};
    look(check, "sys.swap.in.bytes", "swapped in", kBytesPerSecond, kSwapBytes, 0);
    look(check, "sys.swap.out.bytes", "swapped out", kBytesPerSecond, kSwapBytes, 0);
    look(check, "sys.pressure.memory.some.stall", "waiting for memory", " % of the time", kPoints, 0);
    look(check, "sys.mem.faults.major", "page faults that read from disk", " per second", kMajorFaults, 0);
    return finished(std::move(check), "memory", "run source proc (sys.swap.in.bytes, sys.mem.faults.major)");
  }

  // Checks remote reads, only in a phase that reads input: there must be significantly more remote tasks than elsewhere, and they
  // must be slower than local ones.
  Check remote_reads() const {
    Check check{.reason = Reason::remote_reads};
    if (has_phase_ && !needs_.input) {
      check.verdict = Verdict::ruled_out;
      check.text = "remote reads: this phase reads no input";
    } else if (const auto &remote = sides_.tasks.remote) {
      check.text = percent_text(remote->own_share) + " of the bytes came over the network, " + percent_text(remote->other_share) +
                   " on the other nodes";
      const bool is_more = remote->own_share - remote->other_share >= kShare && evidence::is_beyond_chance(remote->chance, 1);
      const bool is_slower = !remote->slower || (*remote->slower >= std::max(kShare, kSlownessShare * sides_.slower) &&
                                                 remote->chance_slower <= kReasonChance);
      check.verdict = is_more && is_slower ? Verdict::found : Verdict::ruled_out;
      check.short_text = "remote reads, " + check.text;
      if (is_more && !is_slower) check.text += " (but tasks that read over the network are not clearly slower)";
    }
    return finished(std::move(check), "remote reads",
                    "the spans do not report the source of data (span.bytes.remote, the tag source)");
  }

  Check disk() const {
    Check check{.reason = Reason::disk};
    const bool any = !has_phase_ || !(needs_.reads || needs_.writes), is_fast_enough = is_disk_fast_enough();
    if (any || needs_.writes)
      rate(check, {"sys.disk.write.mb", "proc.disk.writes.mb"}, "disk write", "MiB/s", kMinDisk, needs_.writes && !is_fast_enough);
    if (any || needs_.reads)
      rate(check, {"sys.disk.read.mb", "proc.disk.reads.mb"}, "disk read", "MiB/s", kMinDisk, needs_.reads && !is_fast_enough);
    await(check, "sys.disk.write.await", "a write takes");
    await(check, "sys.disk.read.await", "a read takes");
    look(check, "sys.pressure.io.some.stall", "waiting for disks", " % of the time", kPoints, 0);
    look(check, "cgroup.pressure.io.some.stall", "waiting for disks", " % of the time", kPoints, 0);
    return finished(std::move(check), "disk", "run source proc (sys.disk.write.mb, sys.disk.write.await)");
  }

  // Whether the disk latency is known and not longer than on the other nodes: then the disks do not cause a low rate.
  bool is_disk_fast_enough() const {
    bool is_reported = false;
    for (const std::string_view metric :
         {"sys.disk.write.await", "sys.disk.read.await", "sys.pressure.io.some.stall", "cgroup.pressure.io.some.stall"}) {
      const auto pair = of(metric);
      if (pair && pair->node > kAlike * pair->others) return false;
      is_reported = is_reported || pair;
    }
    return is_reported;
  }

  // Whether the phase's input comes over the network: always in a shuffle, else if the other nodes receive as much as they read
  // from disks.
  bool comes_over_network() const {
    if (needs_.network || !needs_.input) return needs_.network;
    constexpr double kBits = 8;
    const auto received = metrics_.mean("sys.net.in.mb", sides_.others), read = metrics_.mean("sys.disk.read.mb", sides_.others);
    return received && read && *received >= std::max(kMinNet, kBits * *read);
  }

  Check network() const {
    Check check{.reason = Reason::network};
    rate(check, {"sys.net.in.mb", "proc.net.tcp.in.mb"}, "network receive", "Mibit/s", kMinNet, comes_over_network());
    look(check, "proc.net.tcp.retransmits", "segments sent again", " per second", 10, 0);
    look(check, "sys.net.in.drops", "packets dropped", " per second", 10, 0);
    look(check, "sys.net.in.errors", "packet errors", " per second", 1, 0);
    return finished(std::move(check), "network", "run source proc (sys.net.in.mb)");
  }

  // A lower rate is a reason only if the phase waits for the resource: slow work moves less data.
  void rate(Check &check, std::initializer_list<std::string_view> metrics, const char *label, const char *unit, double minimum,
            bool waits) const {
    const auto found = lowest(metrics, minimum);
    if (!found) {
      for (const std::string_view metric : metrics)
        if (of(metric) && check.verdict == Verdict::unknown) {
          check.verdict = Verdict::ruled_out;
          add(check.text, std::string(label) + " close to zero, here and on the other nodes");
        }
      return;
    }
    const Pair &pair = found->second;
    const bool below = pair.below() >= kRateBelow;
    std::string text = std::string(label) + " " + short_text(pair.node) + " " + unit + ", " + short_text(pair.others) + " " + unit +
                       " on the other nodes";
    if (below && !waits) text += " (a consequence of slow work: the phase does not wait for it)";
    if (below && waits && check.verdict != Verdict::found) {
      check.verdict = Verdict::found;
      check.text.clear();
      check.short_text = std::string(label) + " " + percent_text(pair.below()) + " below the other nodes";
    }
    if (check.verdict == Verdict::unknown) check.verdict = Verdict::ruled_out;
    add(check.text, text);
  }

  static bool is_slow(const Pair &await) {
    return await.node >= kSlowAwait * await.others && await.node - await.others >= kMinAwaitMs;
  }
  void await(Check &check, std::string_view metric, const char *label) const {
    const auto pair = of(metric);
    if (!pair) return;
    const std::string text = comparison_text(label, *pair, " ms");
    const bool slow = is_slow(*pair);
    if (slow && check.verdict != Verdict::found) {
      check.verdict = Verdict::found;
      check.short_text = text;
    }
    if (check.verdict == Verdict::unknown) check.verdict = Verdict::ruled_out;
    add(check.text, text);
  }

  const Metrics &metrics_;
  const Sides &sides_;
  const Needs needs_;
  const bool has_phase_;
};

std::string list_of(const std::vector<Check> &checks, Verdict verdict) {
  std::vector<std::string> names;
  for (const Check &check : checks)
    if (check.verdict == verdict) names.emplace_back(check.reason == Reason::cpu ? "CPU" : reason_text(check.reason));
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

}  // namespace

std::string_view reason_text(Reason reason) {
  constexpr std::array<std::string_view, 10> kTexts = {
      "other programs", "cpu",  "garbage collection", "memory", "remote reads", "disk",
      "network",        "skew", "failed attempts",    "unknown"};
  return kTexts[static_cast<size_t>(reason)];
}

std::vector<Check> check_all(const Metrics &metrics, const Sides &sides) {
  return Checker(metrics, sides).all();
}

Reason reason_of(const std::vector<Check> &checks) {
  const auto is_found = [&](Reason reason) {
    return std::any_of(checks.begin(), checks.end(),
                       [&](const Check &check) { return check.reason == reason && check.verdict == Verdict::found; });
  };
  // Explanations of a busy CPU.
  for (const Reason reason : {Reason::programs, Reason::garbage_collection, Reason::memory})
    if (is_found(reason)) return reason;
  for (const Check &check : checks)
    if (check.verdict == Verdict::found) return check.reason;
  return Reason::none;
}

std::string conclusion(const std::vector<Check> &checks) {
  const Reason reason = reason_of(checks);
  std::string text = "the available data shows no reason";
  for (const Check &check : checks)
    if (check.reason == reason && check.verdict == Verdict::found) text = check.short_text;
  if (const std::string names = list_of(checks, Verdict::ruled_out); !names.empty()) text += "; " + names + " ruled out";
  if (const std::string names = list_of(checks, Verdict::unknown); !names.empty()) text += "; no data about " + names;
  return text;
}

}  // namespace atalaya::jobs
