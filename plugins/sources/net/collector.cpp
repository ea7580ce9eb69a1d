// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/net/collector.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <string_view>
#include <utility>

#include "plugins/shared/host/network/address_text.h"
#include "plugins/shared/host/procfs/process_stat.h"
#include "plugins/sources/net/diag/diag_backend.h"

namespace atalaya::net {
namespace {

constexpr double kMibitPerByte = 8.0 / (1 << 20);
constexpr double kNanosecondsPerSecond = 1e9;
// Interval, in walks, at which idle sockets are reported too.
constexpr uint64_t kCompleteWalkInterval = 16;
constexpr std::string_view kOther = "other", kUnattributed = "unattributed";

uint64_t ticks_of(uint64_t ns) {
  static const auto ticks = static_cast<uint64_t>(std::max(::sysconf(_SC_CLK_TCK), 1L));
  return ns / (static_cast<uint64_t>(kNanosecondsPerSecond) / ticks);
}

}  // namespace

Collector::Collector(Host host, CollectorOptions options)
    : host_(host),
      options_(std::move(options)),
      pid_id_(host.intern("pid")),
      process_id_(host.intern("process")),
      cgroup_id_(host.intern("cgroup")),
      local_id_(host.intern("local")),
      remote_id_(host.intern("remote")),
      port_id_(host.intern("port")),
      protocol_id_(host.intern("protocol")),
      direction_id_(host.intern("direction")),
      netns_id_(host.intern("netns")),
      reported_flows_(options_.model.max_flows) {
  for (size_t i = 0; i < kNetMetricCount; ++i) ids_[i] = host.intern(view(kNetMetrics[i].name));
}

void Collector::start() {
  backend_ = open_backend();
  model_ = std::make_unique<SocketModel>(options_.model);
  procfs_ = core::Descriptor(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  cgroups_.open("/");
  own_netns_ = own_network();
  walks_ = 0;
  previous_ns_ = 0;
  reported_before_.clear();
  lost_before_ = lost_ = vanished_ = 0;
}

// Detaches all hooks.
void Collector::stop() {
  backend_.reset();
}

std::unique_ptr<Backend> Collector::open_backend() {
  const bool plain = !options_.sockets.tcp_by_call;
  if (options_.backend != "diag") {
    auto bpf = open_bpf_backend(options_.sockets);
    if (bpf) {
      const std::string limitation((*bpf)->limitation());
      if (!plain && !(*bpf)->counts_calls()) throw Failure(Code::unsupported, "calls cannot be counted here: " + limitation);
      if (!limitation.empty()) host_.log(Level::info, limitation);
      return std::move(*bpf);
    }
    if (options_.backend == "bpf" || !plain) throw Failure(Code::unsupported, "the BPF programs do not work here: " + bpf.error());
    return open_fallback(bpf.error());
  }
  auto diag = open_diag_backend();
  if (!diag) throw Failure(Code::unsupported, diag.error());
  return std::move(*diag);
}

std::unique_ptr<Backend> Collector::open_fallback(const std::string &reason) {
  auto diag = open_diag_backend();
  if (!diag) {
    host_.log(Level::warning, "no network metrics: " + reason + "; " + diag.error());
    return nullptr;
  }
  host_.log(
      Level::info,
      "sockets are read by sock_diag, without connections shorter than a window, other network namespaces and UDP: " + reason);
  return std::move(*diag);
}

void Collector::collect(const Window &window, Batch &batch) {
  if (!backend_) return;
  read(window);
  if (elapsed_ns_ <= 0) return;
  split_processes();
  if (options_.processes) {
    for (const NetProcess *process : alive_) emit(*process, State::living, batch);
    for (const NetProcess *process : ended_) emit(*process, State::ended, batch);
    for (const NetProcess &process : exited_) emit(process, State::ended, batch);
  }
  if (options_.flows) emit_flows(batch);
  emit_lost(batch);
}

void Collector::read(const Window &window) {
  const bool baseline = (window.flags & ATALAYA_WINDOW_BASELINE) != 0 || previous_ns_ == 0;
  const bool complete = walks_++ % kCompleteWalkInterval == 0;
  model_->begin(baseline, complete);
  const auto add = [this](const net_record &record) { model_->add(record); };
  backend_->walk(complete, add);
  model_->end_walk();
  backend_->report_ends(add, [this](const net_record &common, const Traffic &sum) { model_->add_brief(common, sum); });
  backend_->report_uses(
      [this](const net_use_key &key, const net_use &use, bool is_last) { return model_->use(key, use, is_last); });
  model_->end();
  elapsed_ns_ = baseline ? 0 : window.monotonic_ns - previous_ns_;
  previous_ns_ = window.monotonic_ns;
  const Lost lost = backend_->lost();
  const uint64_t all = lost.records + lost.calls;
  vanished_ += model_->vanished();
  lost_ += model_->lost() + all - std::exchange(lost_before_, all);
}

// A process without open connections may have ended, and its pid may belong to another one.
bool Collector::is_alive(const NetProcess &process) const {
  const int32_t pid = process.owner.pid;
  if (pid <= 0 || (::kill(pid, 0) != 0 && errno != EPERM)) return false;
  if (process.connections > 0) return true;
  std::array<char, 32> path{};
  char *end = std::to_chars(path.data(), path.data() + path.size(), pid).ptr;
  std::copy_n("/stat", 6, end);
  const core::Descriptor file(::openat(procfs_.get(), path.data(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> text{};
  const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : -1;
  if (size <= 0) return false;
  const auto stat = procfs::ProcessStat::parse({text.data(), static_cast<size_t>(size)}, 22);
  return stat && stat->has(22) && (*stat)[22] == ticks_of(process.owner.start_ns);
}

// Separates live processes, ended processes with a series (their last sample has their pid), and other ended processes, which are
// summed by name and cgroup.
void Collector::split_processes() {
  cgroups_.begin();
  alive_.clear();
  ended_.clear();
  ended_in_groups_.clear();
  exited_.clear();
  reported_now_.clear();
  for (const NetProcess *process : model_->processes()) {
    const bool living = is_alive(*process);
    if (!living && !was_reported(process->owner)) {
      ended_in_groups_.push_back(process);
      add_exited(*process);
      continue;
    }
    (living ? alive_ : ended_).push_back(process);
    reported_now_.emplace_back(process->owner.pid, process->owner.start_ns);
  }
  reported_before_.swap(reported_now_);
}

bool Collector::was_reported(const Owner &owner) const {
  return std::binary_search(reported_before_.begin(), reported_before_.end(),
                            std::pair(owner.pid, owner.start_ns));  // sorted like processes()
}

void Collector::add_exited(const NetProcess &process) {
  const auto find = [this](const Owner &group) {
    return std::find_if(exited_.begin(), exited_.end(), [&](const NetProcess &known) { return known.owner.same_group(group); });
  };
  Owner group = group_of(process.owner);
  auto at = find(group);
  if (at == exited_.end() && exited_.size() >= options_.exited_groups) {
    group = Owner(0, 0, kOther);
    at = find(group);
  }
  if (at == exited_.end()) {
    exited_.emplace_back();
    exited_.back().owner = group;
    at = exited_.end() - 1;
  }
  at->add(process);
}

void Collector::emit(const NetProcess &process, State state, Batch &batch) {
  Sample &sample = batch.add(ATALAYA_METRICS, 2, kNetMetricCount);
  add_owner(process.owner, sample, batch);
  if (process.tcp) add_tcp(process, state, sample, batch);
  if (process.udp) add_calls(NetMetric::udp_in_mb, process.moved_udp, sample, batch);
  if (process.local) add_calls(NetMetric::local_in_mb, process.moved_local, sample, batch);
}

void Collector::add_tcp(const NetProcess &process, State state, Sample &sample, Batch &batch) {
  const Traffic &moved = process.moved_tcp;
  if (options_.model.amounts) {
    rate(NetMetric::tcp_in_mb, moved.in_bytes, kMibitPerByte, sample, batch);
    rate(NetMetric::tcp_in_packets, moved.in_packets, 1, sample, batch);
    rate(NetMetric::tcp_out_mb, moved.out_bytes, kMibitPerByte, sample, batch);
    rate(NetMetric::tcp_out_packets, moved.out_packets, 1, sample, batch);
    rate(NetMetric::tcp_retransmits, moved.retransmits, 1, sample, batch);
    add_mean_rtt(NetMetric::tcp_rtt, moved, sample, batch);
  }
  if (state == State::living) count(NetMetric::tcp_connections, process.connections, sample, batch);
  if (!backend_->sees_ends()) return;
  count(NetMetric::tcp_connects, process.connects, sample, batch);
  count(NetMetric::tcp_accepts, process.accepts, sample, batch);
  count(NetMetric::tcp_failures, process.failures, sample, batch);
}

void Collector::add_calls(NetMetric first, const Traffic &moved, Sample &sample, Batch &batch) const {
  const auto metric = [first](size_t offset) { return static_cast<NetMetric>(static_cast<size_t>(first) + offset); };
  rate(metric(0), moved.in_bytes, kMibitPerByte, sample, batch);
  rate(metric(1), moved.in_packets, 1, sample, batch);
  rate(metric(2), moved.out_bytes, kMibitPerByte, sample, batch);
  rate(metric(3), moved.out_packets, 1, sample, batch);
}

void Collector::emit_flows(Batch &batch) {
  reported_flows_.clear();
  for (const Flow &flow : model_->flows().collected()) {
    FlowKey key = flow.key;
    if (is_in_group(key.owner)) key.owner = group_of(key.owner);
    reported_flows_.add(key, flow.moved);
  }
  reported_flows_.add_others(model_->flows().others());
  for (const Flow &flow : reported_flows_.flows()) emit(flow, batch);
}

bool Collector::is_in_group(const Owner &owner) const {
  const auto at =
      std::lower_bound(ended_in_groups_.begin(), ended_in_groups_.end(), owner, [](const NetProcess *process, const Owner &wanted) {
        return process->owner.pid != wanted.pid ? process->owner.pid < wanted.pid : process->owner.start_ns < wanted.start_ns;
      });
  return at != ended_in_groups_.end() && (*at)->owner.same_process(owner);
}

void Collector::emit(const Flow &flow, Batch &batch) {
  const FlowKey &key = flow.key;
  Sample &sample = batch.add(ATALAYA_METRICS, 8, 8);
  if (key.other) {
    batch.tag(sample, process_id_, kOther);
    count(NetMetric::flow_merged, flow.merged, sample, batch);
  } else {
    add_owner(key.owner, sample, batch);
    add_ends(key, sample, batch);
  }
  const Traffic &moved = flow.moved;
  count(NetMetric::flow_connections, moved.connections, sample, batch);
  if (!options_.model.amounts) return;
  count(NetMetric::flow_in_bytes, moved.in_bytes, sample, batch);
  count(NetMetric::flow_in_packets, moved.in_packets, sample, batch);
  count(NetMetric::flow_out_bytes, moved.out_bytes, sample, batch);
  count(NetMetric::flow_out_packets, moved.out_packets, sample, batch);
  if (key.protocol != Protocol::tcp) return;
  count(NetMetric::flow_retransmits, moved.retransmits, sample, batch);
  add_mean_rtt(NetMetric::flow_rtt, moved, sample, batch);
}

void Collector::add_ends(const FlowKey &key, Sample &sample, Batch &batch) const {
  if (key.protocol == Protocol::local) {
    std::array<char, 20> peer{"pid:"};
    const char *end = std::to_chars(&peer[4], peer.data() + peer.size(), key.peer).ptr;
    if (key.peer != 0) batch.tag(sample, remote_id_, {peer.data(), static_cast<size_t>(end - peer.data())});
    batch.tag(sample, protocol_id_, "unix");
    return;
  }
  const bool with_ports = !options_.model.merge_ports;
  const network::AddressText local(key.ends.local, with_ports ? key.ends.local_port : 0);
  const network::AddressText remote(key.ends.remote, with_ports ? key.ends.remote_port : 0);
  batch.tag(sample, local_id_, local.text());
  batch.tag(sample, remote_id_, remote.text());
  if (key.port() != 0) add_number(port_id_, key.port(), sample, batch);
  batch.tag(sample, protocol_id_, key.protocol == Protocol::tcp ? "tcp" : "udp");
  batch.tag(sample, direction_id_, key.direction == Direction::out ? "out" : "in");
  if (key.ends.space != own_netns_ && key.ends.space != 0 && own_netns_ != 0) add_number(netns_id_, key.ends.space, sample, batch);
}

void Collector::emit_lost(Batch &batch) {
  Sample &sample = batch.add(ATALAYA_METRICS, 1, 2);
  batch.tag(sample, process_id_, kUnattributed);
  count(NetMetric::lost, std::exchange(lost_, 0), sample, batch);
  if (vanished_ > 0) count(NetMetric::vanished, std::exchange(vanished_, 0), sample, batch);
}

void Collector::add_owner(const Owner &owner, Sample &sample, Batch &batch) {
  if (owner.pid != 0)
    add_number(pid_id_, static_cast<uint64_t>(owner.pid), sample, batch);
  else if (const std::string_view path = cgroups_.path(owner.cgroup); !path.empty())
    batch.tag(sample, cgroup_id_, path);
  batch.tag(sample, process_id_, owner.text().empty() ? kUnattributed : owner.text());
}

void Collector::add_number(uint32_t tag, uint64_t number, Sample &sample, Batch &batch) {
  std::array<char, 20> digits{};
  const char *end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  batch.tag(sample, tag, {digits.data(), static_cast<size_t>(end - digits.data())});
}

void Collector::rate(NetMetric metric, uint64_t amount, double scale, Sample &sample, Batch &batch) const {
  const double per_second = static_cast<double>(amount) * kNanosecondsPerSecond / static_cast<double>(elapsed_ns_);
  batch.field(sample, id(metric), round_to(per_second * scale, kNetMetrics[static_cast<size_t>(metric)].decimals));
}

void Collector::count(NetMetric metric, uint64_t amount, Sample &sample, Batch &batch) const {
  batch.field(sample, id(metric), static_cast<int64_t>(amount));
}

void Collector::add_mean_rtt(NetMetric metric, const Traffic &moved, Sample &sample, Batch &batch) const {
  if (moved.rtt_readings == 0) return;
  const double ms = static_cast<double>(moved.rtt_us) / static_cast<double>(moved.rtt_readings) / 1000;
  batch.field(sample, id(metric), round_to(ms, kNetMetrics[static_cast<size_t>(metric)].decimals));
}

}  // namespace atalaya::net
