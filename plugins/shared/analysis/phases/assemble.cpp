// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/phases/assemble.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace atalaya::phases {
namespace {

using namespace std::string_view_literals;

// A window with at least this share of time in garbage collections is a window of the phase GC.
constexpr double kMostlyGc = 50;

constexpr std::array<std::pair<std::string_view, Resource>, 9> kMetrics = {{{"proc.cpu.user"sv, kCpu},
                                                                            {"proc.cpu.kernel"sv, kCpu},
                                                                            {"proc.mem.resident"sv, kMemory},
                                                                            {"proc.disk.reads.mb"sv, kReads},
                                                                            {"proc.disk.writes.mb"sv, kWrites},
                                                                            {"proc.net.tcp.in.mb"sv, kReceived},
                                                                            {"proc.net.udp.in.mb"sv, kReceived},
                                                                            {"proc.net.tcp.out.mb"sv, kSent},
                                                                            {"proc.net.udp.out.mb"sv, kSent}}};

constexpr std::array kWaits = {"Object.wait"sv,  "Unsafe.park"sv,   "Thread.sleep"sv,    "Reference.waitForReferencePendingList"sv,
                               "EPoll.wait"sv,   "epollWait"sv,     "Net.accept"sv,      "Net.poll"sv,
                               "socketAccept"sv, "do_epoll_wait"sv, "futex_wait_queue"sv};

}  // namespace

bool is_waiting(std::string_view frame) {
  return std::any_of(kWaits.begin(), kWaits.end(),
                     [&](std::string_view wait) { return frame.find(wait) != std::string_view::npos; });
}

StackReader::StackReader(Symbols &symbols, Key key, const std::vector<Group> &groups)
    : symbols_(symbols), key_(key), groups_(groups) {}

bool StackReader::add(std::string_view folded, double threads, std::vector<Part> &parts) {
  auto found = known_.find(folded);
  if (found == known_.end()) {
    if (known_.size() >= kMaxStacks || bytes_ + folded.size() > kMaxBytes) {
      known_.clear();
      bytes_ = 0;
    }
    bytes_ += folded.size();
    found = known_.emplace(folded, symbols_of(folded)).first;
  }
  for (const uint32_t symbol : found->second) parts.push_back({symbol, threads});
  return !found->second.empty();
}

std::vector<uint32_t> StackReader::symbols_of(std::string_view folded) {
  std::vector<uint32_t> symbols;
  if (is_waiting(folded.substr(folded.rfind(';') + 1))) return symbols;
  size_t frames = 0;
  for (size_t begin = 0; begin <= folded.size() && frames < kMaxFrames; ++frames) {
    const size_t end = std::min(folded.find(';', begin), folded.size());
    const std::string_view frame = folded.substr(begin, end - begin);
    for (const Group &group : groups_)
      if (group.functions.matches(frame)) return {symbols_.number_of("[" + group.name + "]")};
    if (key_ == Key::function && !frame.empty()) symbols.push_back(symbols_.number_of(frame));
    begin = end + 1;
  }
  if (key_ == Key::stack) return {symbols_.number_of(folded)};
  std::sort(symbols.begin(), symbols.end());
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  return symbols;
}

bool Assembled::take(std::string_view metric, double value, int64_t window_ns) {
  if (!std::isfinite(value)) return false;
  if (metric == "jvm.profile.rate"sv) return dumps = value * static_cast<double>(window_ns) / 1e9, true;
  if (metric == "jvm.gc.time"sv) return gc_percent = value, true;
  if (metric == "proc.threads"sv) return threads = value, true;
  for (const auto &[name, resource] : kMetrics) {
    if (name != metric) continue;
    double &sum = resources.values[resource];
    sum = (std::isfinite(sum) ? sum : 0) + value;
    return true;
  }
  return false;
}

bool Assembled::is_without_dump() const {
  return gc_percent && *gc_percent < kMostlyGc && !has_stacks && dumps.value_or(0) < 0.5;
}

void Assembled::join(const Assembled &before) {
  const auto own = static_cast<double>(duration_ns), other = static_cast<double>(before.duration_ns);
  const auto mean = [&](double a, double b) {
    return !std::isfinite(a) ? b : !std::isfinite(b) ? a : (a * own + b * other) / (own + other);
  };
  for (size_t r = 0; r < kResources; ++r) resources.values[r] = mean(resources.values[r], before.resources.values[r]);
  resources.windows += before.resources.windows;
  if (gc_percent && before.gc_percent) gc_percent = mean(*gc_percent, *before.gc_percent);
  duration_ns += before.duration_ns;
  has_metrics = has_metrics || before.has_metrics;
}

bool WindowsWithoutDump::add_window(int64_t time_ns, Assembled &window) {
  const int64_t begin_ns = time_ns - window.duration_ns;
  const bool follows = pending_window_ && std::abs(begin_ns - end_ns_) <= window.duration_ns / 2 &&
                       pending_window_->duration_ns <= kMaxWindows * window.duration_ns;
  is_jvm_ = is_jvm_ || window.gc_percent;
  const bool is_absent = is_jvm_ && !window.gc_percent && !window.has_stacks;  // the source jvm has not delivered its values yet
  if (follows) window.join(*pending_window_);
  pending_window_.reset();
  if (!is_absent && !window.is_without_dump()) return false;
  pending_window_ = window;
  end_ns_ = time_ns;
  return true;
}

Ready ready(const Assembled &window, bool is_wall, uint32_t gc_symbol, uint32_t idle_symbol) {
  Ready sample;
  // CPU samples do not contain the number of threads.
  const double dumps = window.dumps && *window.dumps > 0.5 ? std::round(*window.dumps) : 1;
  sample.threads = is_wall ? window.samples / dumps : 0;
  if (window.gc_percent.value_or(0) >= kMostlyGc)
    sample.parts = {{gc_symbol, std::max(sample.threads, 1.0)}};
  else if (window.parts.empty())
    sample.parts = {{idle_symbol, 1}};
  else
    sample.parts = window.parts;
  return sample;
}

}  // namespace atalaya::phases
