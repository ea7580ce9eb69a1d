// SPDX-License-Identifier: Apache-2.0
#include "plugins/bottleneck/checks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "plugins/bottleneck/resource.h"

namespace atalaya::bottleneck {
namespace {

// What counts as a difference between a node and the others.
constexpr double kPoints = 15;        // of per cents: busy, pressure
constexpr double kStealPoints = 5;    // of a CPU that somebody else has
constexpr double kThrottledMs = 100;  // a second
constexpr double kProgramCpu = 20;    // % of a core that a program uses here
constexpr double kProgramDisk = 1;    // MiB/s
constexpr double kElsewhere = 0.25;   // of what it uses here: less, and it is a program of this node
constexpr double kShare = 0.1;        // of bytes that are remote, of time in garbage collection
constexpr double kRateBelow = 0.15, kSlowAwait = 1.5, kLeastAwaitMs = 2;
constexpr double kLeastDisk = 0.5, kLeastNet = 1;  // MiB/s, Mibit/s: below it a difference of rates means nothing
constexpr double kSwapBytes = 1 << 20, kMajorFaults = 100;

struct Pair {
  double node = 0, others = 0;
  double below() const { return others > 0 ? 1 - node / others : 0; }
};

std::optional<double> average(const Metrics &metrics, std::string_view metric, const std::vector<Window> &windows) {
  double sum = 0;
  size_t count = 0;
  for (const Window &window : windows) {
    const auto mean = metrics.mean(metric, window);
    if (!mean) continue;
    sum += *mean;
    ++count;
  }
  return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
}

class Checker {
 public:
  Checker(const Metrics &metrics, const Sides &sides, std::string_view phase)
      : metrics_(metrics), sides_(sides), needs_(needs_of(phase)), has_phase_(!phase.empty()) {}

  std::vector<Check> all() {
    std::vector<Check> checks = {cpu(), programs(), garbage_collection(), memory(), remote_reads(), disk(), network()};
    // A network that brings all data comes before the disks, which wait for it.
    if (needs_.network) std::swap(checks[5], checks[6]);
    return checks;
  }

 private:
  std::optional<Pair> of(std::string_view metric) const {
    const auto node = average(metrics_, metric, sides_.own), others = average(metrics_, metric, sides_.others);
    return node && others ? std::optional(Pair{*node, *others}) : std::nullopt;
  }
  // The metric that differs most, of those that are known.
  std::optional<std::pair<std::string_view, Pair>> lowest(std::initializer_list<std::string_view> metrics, double least) const {
    std::optional<std::pair<std::string_view, Pair>> found;
    for (const std::string_view metric : metrics) {
      const auto pair = of(metric);
      if (pair && pair->others >= least && (!found || pair->below() > found->second.below())) found.emplace(metric, *pair);
    }
    return found;
  }

  static std::string beside(const char *what, const Pair &pair, const char *unit) {
    return std::string(what) + " " + short_text(pair.node) + unit + ", " + short_text(pair.others) + unit + " on the other nodes";
  }
  static void add(std::string &text, const std::string &more) { text += (text.empty() ? "" : "; ") + more; }

  // Adds what one metric says: it is found where the node has so much more than the others.
  void look(Check &check, std::string_view metric, const char *what, const char *unit, double more, double least) const {
    const auto pair = of(metric);
    if (!pair) return;
    const std::string text = beside(what, *pair, unit);
    const bool differs = pair->node - pair->others >= more && pair->node >= least;
    if (check.verdict == Verdict::unknown) check.verdict = Verdict::ruled_out;
    if (differs && check.verdict != Verdict::found) {
      check.verdict = Verdict::found;
      check.text.clear();
    }
    if (differs && check.short_text.empty()) check.short_text = text;
    if (differs || check.verdict != Verdict::found) add(check.text, text);
  }
  static Check finished(Check check, const char *what, const char *missing) {
    if (check.verdict == Verdict::unknown) check.text = std::string(what) + ": not known; " + missing;
    return check;
  }

  Check cpu() const {
    Check check{.what = Reason::cpu};
    look(check, "sys.cpu.usage", "CPU busy", " %", kPoints, 50);
    look(check, "sys.cpu.steal", "CPU that the hypervisor gave to others", " %", kStealPoints, 0);
    look(check, "sys.pressure.cpu.some.stall", "waiting for a CPU", " % of the time", kPoints, 0);
    look(check, "cgroup.cpu.throttled.time", "CPU withheld by limits", " ms/s", kThrottledMs, 0);
    return finished(std::move(check), "CPU", "source proc tells it (sys.cpu.usage)");
  }

  // Those that use much here and little elsewhere.
  Check programs() const {
    Check check{.what = Reason::programs};
    std::map<std::string, Program> elsewhere;
    std::map<std::string, bool> hosts;
    bool has_node = false;
    for (const Program &program : metrics_.programs()) {
      has_node = has_node || program.host == sides_.node;
      if (program.host == sides_.node) continue;
      hosts[program.host] = true;
      elsewhere[program.name].cpu += program.cpu;
      elsewhere[program.name].disk += program.disk;
    }
    if (!has_node || hosts.empty())
      return finished(std::move(check), "other programs", "source proc tells them (proc.cpu.user, proc.disk.writes.mb)");
    check.verdict = Verdict::ruled_out;
    const auto others = static_cast<double>(hosts.size());
    for (const Program &program : metrics_.programs()) {
      if (program.host != sides_.node) continue;
      const double cpu = elsewhere[program.name].cpu / others, disk = elsewhere[program.name].disk / others;
      if (program.cpu - cpu >= kProgramCpu && cpu <= kElsewhere * program.cpu)
        found_program(check, program.name, " uses " + short_text(program.cpu) + " % of a core, " + short_text(cpu) + " %");
      if (program.disk - disk >= kProgramDisk && disk <= kElsewhere * program.disk)
        found_program(check, program.name,
                      " reads and writes " + short_text(program.disk) + " MiB/s, " + short_text(disk) + " MiB/s");
    }
    if (check.verdict == Verdict::ruled_out)
      check.text = "no program uses CPU or disks here that it does not use on the other nodes";
    return check;
  }
  static void found_program(Check &check, const std::string &name, const std::string &use) {
    const std::string text = "\"" + name + "\"" + use + " on the other nodes";
    check.verdict = Verdict::found;
    if (check.short_text.empty()) check.short_text = "another program, " + text;
    add(check.text, text);
  }

  Check garbage_collection() const {
    Check check{.what = Reason::garbage_collection};
    const auto own = sides_.own_tasks.gc_share, others = sides_.other_tasks.gc_share;
    if (own && others) {
      check.text =
          "garbage collection " + percent_text(*own) + " of the tasks' time, " + percent_text(*others) + " on the other nodes";
      check.verdict = *own - *others >= kShare ? Verdict::found : Verdict::ruled_out;
      check.short_text = check.text;
    }
    return finished(std::move(check), "garbage collection", "the tasks' spans have no span.gc.time");
  }

  Check memory() const {
    Check check{.what = Reason::memory};
    look(check, "sys.swap.in.bytes", "swapped in", " B/s", kSwapBytes, 0);
    look(check, "sys.swap.out.bytes", "swapped out", " B/s", kSwapBytes, 0);
    look(check, "sys.pressure.memory.some.stall", "waiting for memory", " % of the time", kPoints, 0);
    look(check, "sys.mem.faults.major", "page faults that read from disk", " a second", kMajorFaults, 0);
    return finished(std::move(check), "memory", "source proc tells it (sys.swap.in.bytes, sys.mem.faults.major)");
  }

  // Only phases that read input, or tasks as a whole, can have read it from elsewhere.
  Check remote_reads() const {
    Check check{.what = Reason::remote_reads};
    const auto own = sides_.own_tasks.remote_share, others = sides_.other_tasks.remote_share;
    if (has_phase_ && !needs_.input) {
      check.verdict = Verdict::ruled_out;
      check.text = "remote reads: this phase reads no input";
    } else if (own && others) {
      check.text = percent_text(*own) + " of the bytes came over the network, " + percent_text(*others) + " on the other nodes";
      check.verdict = *own - *others >= kShare ? Verdict::found : Verdict::ruled_out;
      check.short_text = "remote reads, " + check.text;
    }
    return finished(std::move(check), "remote reads",
                    "the spans do not tell where data came from (span.bytes.remote, the tag source)");
  }

  Check disk() const {
    Check check{.what = Reason::disk};
    const bool any = !has_phase_ || !(needs_.reads || needs_.writes);
    if (any || needs_.writes)
      rate(check, {"sys.disk.write.mb", "proc.disk.writes.mb"}, "disk write", "MiB/s", kLeastDisk, needs_.writes);
    if (any || needs_.reads)
      rate(check, {"sys.disk.read.mb", "proc.disk.reads.mb"}, "disk read", "MiB/s", kLeastDisk, needs_.reads);
    await(check, "sys.disk.write.await", "a write takes");
    await(check, "sys.disk.read.await", "a read takes");
    look(check, "sys.pressure.io.some.stall", "waiting for disks", " % of the time", kPoints, 0);
    look(check, "cgroup.pressure.io.some.stall", "waiting for disks", " % of the time", kPoints, 0);
    return finished(std::move(check), "disk", "source proc tells it (sys.disk.write.mb, sys.disk.write.await)");
  }

  Check network() const {
    Check check{.what = Reason::network};
    rate(check, {"sys.net.in.mb", "proc.net.tcp.in.mb"}, "network receive", "Mibit/s", kLeastNet, needs_.network);
    look(check, "proc.net.tcp.retransmits", "segments sent again", " a second", 10, 0);
    look(check, "sys.net.in.drops", "packets dropped", " a second", 10, 0);
    look(check, "sys.net.in.errors", "packets broken", " a second", 1, 0);
    return finished(std::move(check), "network", "source proc tells it (sys.net.in.mb)");
  }

  // A rate below the others' is a reason only where the phase waits for it: whoever works slowly moves less.
  void rate(Check &check, std::initializer_list<std::string_view> metrics, const char *what, const char *unit, double least,
            bool waits) const {
    const auto found = lowest(metrics, least);
    if (!found) {
      for (const std::string_view metric : metrics)
        if (of(metric) && check.verdict == Verdict::unknown) {
          check.verdict = Verdict::ruled_out;
          add(check.text, std::string(what) + " hardly any, here or on the other nodes");
        }
      return;
    }
    const Pair &pair = found->second;
    const bool below = pair.below() >= kRateBelow;
    std::string text = std::string(what) + " " + short_text(pair.node) + " " + unit + ", " + short_text(pair.others) + " " + unit +
                       " on the other nodes";
    if (below && !waits) text += " (as a phase that does not wait for it would have when it is slow)";
    if (below && waits && check.verdict != Verdict::found) {
      check.verdict = Verdict::found;
      check.text.clear();
      check.short_text = std::string(what) + " " + percent_text(pair.below()) + " below the other nodes";
    }
    if (check.verdict == Verdict::unknown) check.verdict = Verdict::ruled_out;
    add(check.text, text);
  }

  void await(Check &check, std::string_view metric, const char *what) const {
    const auto pair = of(metric);
    if (!pair) return;
    const std::string text = beside(what, *pair, " ms");
    const bool slow = pair->node >= kSlowAwait * pair->others && pair->node - pair->others >= kLeastAwaitMs;
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
    if (check.verdict == verdict) names.emplace_back(check.what == Reason::cpu ? "CPU" : reason_text(check.what));
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

}  // namespace

std::string_view reason_text(Reason reason) {
  constexpr std::array<std::string_view, 8> kTexts = {
      "other programs", "cpu", "garbage collection", "memory", "remote reads", "disk", "network", "unknown"};
  return kTexts[static_cast<size_t>(reason)];
}

std::vector<Check> check_all(const Metrics &metrics, const Sides &sides, std::string_view phase) {
  return Checker(metrics, sides, phase).all();
}

Reason reason_of(const std::vector<Check> &checks) {
  const auto is_found = [&](Reason reason) {
    return std::any_of(checks.begin(), checks.end(),
                       [&](const Check &check) { return check.what == reason && check.verdict == Verdict::found; });
  };
  // These explain a busy CPU.
  for (const Reason reason : {Reason::programs, Reason::garbage_collection, Reason::memory})
    if (is_found(reason)) return reason;
  for (const Check &check : checks)
    if (check.verdict == Verdict::found) return check.what;
  return Reason::none;
}

std::string conclusion(const std::vector<Check> &checks) {
  const Reason reason = reason_of(checks);
  std::string text = "what is known shows no reason";
  for (const Check &check : checks)
    if (check.what == reason && check.verdict == Verdict::found) text = check.short_text;
  if (const std::string names = list_of(checks, Verdict::ruled_out); !names.empty()) text += "; " + names + " ruled out";
  if (const std::string names = list_of(checks, Verdict::unknown); !names.empty()) text += "; nothing is known of " + names;
  return text;
}

}  // namespace atalaya::bottleneck
