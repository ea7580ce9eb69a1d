// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/self/self_source.h"

#include <utility>

namespace atalaya::self {
namespace {

// The growth of a counter of nanoseconds, as a share of the time between two readings. Absent when either decreased.
std::optional<double> share(int64_t before, int64_t now, int64_t elapsed) {
  if (elapsed <= 0 || now < before) return std::nullopt;
  return round_to(static_cast<double>(now - before) * 100 / static_cast<double>(elapsed), kPercentDecimals);
}

void put(Batch &batch, Sample &sample, uint32_t name, const std::optional<double> &value) {
  if (value) batch.field(sample, name, *value);
}

void put(Batch &batch, Sample &sample, uint32_t name, const std::optional<int64_t> &value) {
  if (value) batch.field(sample, name, *value);
}

}  // namespace

SelfSource::Names::Names(Host host)
    : cpu_user(host.intern("self.cpu.user")),
      cpu_system(host.intern("self.cpu.system")),
      resident(host.intern("self.mem.resident")),
      threads(host.intern("self.threads")),
      files(host.intern("self.files")),
      voluntary(host.intern("self.switches.voluntary")),
      involuntary(host.intern("self.switches.involuntary")),
      in(host.intern("self.samples.in")),
      created(host.intern("self.samples.created")),
      out(host.intern("self.samples.out")),
      dropped(host.intern("self.samples.dropped")),
      merged(host.intern("self.samples.merged")),
      drops(host.intern("self.drops")),
      accepted(host.intern("self.sink.accepted")),
      delivered(host.intern("self.sink.delivered")),
      dead_letter(host.intern("self.sink.dead_letter")),
      queued(host.intern("self.queue.samples")),
      queued_bytes(host.intern("self.queue.bytes")),
      gaps(host.intern("self.gaps")),
      errors(host.intern("self.errors")),
      busy(host.intern("self.busy")),
      pipeline(host.intern("pipeline")),
      component(host.intern("component")),
      reason(host.intern("reason")) {}

SelfSource::SelfSource(Host host) : host_(host), names_(host), steps_(host) {}

Code SelfSource::collect(const Window &window, Batch &batch) {
  const bool baseline = (window.flags & ATALAYA_WINDOW_BASELINE) != 0;
  steps_.add_span(core::read_clocks(), batch);
  collect_process(baseline, window.monotonic_ns, batch);
  collect_ledger(baseline, window.monotonic_ns, batch);
  return Code::ok;
}

void SelfSource::collect_process(bool baseline, int64_t now, Batch &batch) {
  const Usage usage = read_usage();
  const Reading reading = read_process("/proc/self");
  Sample &sample = batch.add(ATALAYA_METRICS, 0, 8);
  if (usage_ && !baseline) {
    put(batch, sample, names_.cpu_user, share(usage_->user_ns, usage.user_ns, now - usage_at_));
    put(batch, sample, names_.cpu_system, share(usage_->system_ns, usage.system_ns, now - usage_at_));
  }
  if (reading.resident_mib) batch.field(sample, names_.resident, round_to(*reading.resident_mib, kMemoryDecimals));
  put(batch, sample, names_.threads, reading.threads);
  put(batch, sample, names_.files, reading.open_files);
  batch.field(sample, names_.voluntary, usage.voluntary_switches);
  batch.field(sample, names_.involuntary, usage.involuntary_switches);
  steps_.add_count(sample, batch);
  usage_ = usage;
  usage_at_ = now;
}

void SelfSource::collect_ledger(bool baseline, int64_t now, Batch &batch) {
  for (uint64_t i = 0;; ++i) {
    atalaya_ledger_row row{};
    row.struct_size = sizeof(row);
    if (host_.raw()->ledger(host_.raw()->self, i, &row) != ATALAYA_OK) break;
    Sample &sample = batch.add(ATALAYA_METRICS, 3, 9);
    batch.tag(sample, names_.pipeline, view(row.pipeline));
    batch.tag(sample, names_.component, view(row.component));
    add_row(row, batch, sample);
    if (row.type == ATALAYA_ROW_DROP) continue;
    const std::optional<double> busy = busy_share(row, now);
    if (!baseline) put(batch, sample, names_.busy, busy);
  }
  parts_.next_window([&](uint32_t from, uint32_t to) { busy_[to] = busy_[from]; });
  busy_.resize(parts_.size());
}

void SelfSource::add_row(const atalaya_ledger_row &row, Batch &batch, Sample &sample) {
  if (row.type == ATALAYA_ROW_DROP) {
    batch.tag(sample, names_.reason, view(row.reason));
    batch.field(sample, names_.drops, row.dropped);
    return;
  }
  if (row.type == ATALAYA_ROW_SOURCE) {
    batch.field(sample, names_.out, row.out);
    batch.field(sample, names_.gaps, row.gaps);
  }
  if (row.type == ATALAYA_ROW_STAGE) {
    batch.field(sample, names_.in, row.in);
    batch.field(sample, names_.created, row.created);
    batch.field(sample, names_.out, row.out);
    batch.field(sample, names_.merged, row.merged);
  }
  if (row.type == ATALAYA_ROW_SINK) {
    batch.field(sample, names_.accepted, row.in);
    batch.field(sample, names_.delivered, row.out);
    batch.field(sample, names_.dead_letter, row.dead_letter);
    batch.field(sample, names_.queued, row.queued);
    batch.field(sample, names_.queued_bytes, row.queued_bytes);
  }
  if (row.type != ATALAYA_ROW_SOURCE) batch.field(sample, names_.dropped, row.dropped);
  batch.field(sample, names_.errors, row.errors);
}

// Also called in a baseline window: the next one needs its reading.
std::optional<double> SelfSource::busy_share(const atalaya_ledger_row &row, int64_t now) {
  key_.begin();
  key_.text(view(row.pipeline));
  key_.text(view(row.component));
  const auto found = parts_.find_or_add(key_.finish());
  if (!found) return std::nullopt;
  if (found->added) busy_.push_back({row.busy_ns, now});
  const Busy before = std::exchange(busy_[found->index], Busy{row.busy_ns, now});
  return found->added ? std::nullopt : share(before.busy_ns, row.busy_ns, now - before.at_ns);
}

}  // namespace atalaya::self
