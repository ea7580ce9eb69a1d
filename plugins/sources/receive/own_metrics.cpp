// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/receive/own_metrics.h"

#include <algorithm>
#include <string_view>

namespace atalaya::receive {

OwnMetrics::OwnMetrics(Host host, int64_t every_ns)
    : host_(host),
      every_ns_(every_ns),
      sender_(host.intern("sender")),
      accepted_(host.intern("receive.requests.accepted")),
      refused_(host.intern("receive.requests.refused")),
      throttled_(host.intern("receive.requests.throttled")),
      bytes_(host.intern("receive.bytes")),
      samples_(host.intern("receive.samples")),
      new_series_(host.intern("receive.series.new")),
      names_(host.intern("receive.names")) {}

void OwnMetrics::start(int64_t monotonic_ns, int64_t realtime_ns) {
  if (every_ns_ == 0) return;
  start_ns_ = realtime_ns;
  end_ns_ = (realtime_ns / every_ns_ + 1) * every_ns_;
  due_ns_ = monotonic_ns + (end_ns_ - realtime_ns);
}

void OwnMetrics::add(Batch &batch, const Senders &senders, size_t names, int64_t monotonic_ns, int64_t realtime_ns) {
  const std::vector<SenderPtr> all = senders.all();
  for (const Row &row : rows_of(all)) add_row(batch, row);
  Sample &hub = add_sample(batch, 0, 1);
  batch.field(hub, names_, static_cast<int64_t>(names));
  // The next window follows this one, unless the clock was set.
  const int64_t end = end_ns_;
  start(monotonic_ns, realtime_ns);
  if (end - every_ns_ < realtime_ns && realtime_ns < end + every_ns_) {
    start_ns_ = end;
    end_ns_ = end + every_ns_;
    due_ns_ = monotonic_ns + (end_ns_ - realtime_ns);
  }
}

OwnMetrics::Counts OwnMetrics::read_and_reset(SenderCounts &counts) {
  return {counts.accepted.exchange(0), counts.refused.exchange(0), counts.throttled.exchange(0),
          counts.bytes.exchange(0),    counts.samples.exchange(0), counts.new_series.exchange(0)};
}

void OwnMetrics::Counts::add(const Counts &more) {
  accepted += more.accepted;
  refused += more.refused;
  throttled += more.throttled;
  bytes += more.bytes;
  samples += more.samples;
  new_series += more.new_series;
}

std::vector<OwnMetrics::Row> OwnMetrics::rows_of(const std::vector<SenderPtr> &senders) {
  std::vector<Row> rows;
  for (const SenderPtr &sender : senders)
    if (const Counts counts = read_and_reset(sender->counts); !counts.empty()) rows.push_back({sender->name, counts});
  if (rows.size() <= kMaxSenders) return rows;
  const auto has_more_requests = [](const Row &a, const Row &b) { return a.counts.requests() > b.counts.requests(); };
  std::nth_element(rows.begin(), rows.begin() + kMaxSenders - 1, rows.end(), has_more_requests);
  Row other{"other", {}};
  for (size_t i = kMaxSenders - 1; i < rows.size(); ++i) other.counts.add(rows[i].counts);
  rows.resize(kMaxSenders - 1);
  rows.push_back(other);
  return rows;
}

Sample &OwnMetrics::add_sample(Batch &batch, uint32_t tags, uint32_t fields) const {
  Sample &sample = batch.add(ATALAYA_METRICS, tags, fields);
  sample.time_ns = end_ns_;
  sample.duration_ns = end_ns_ - start_ns_;
  return sample;
}

void OwnMetrics::add_row(Batch &batch, const Row &row) const {
  Sample &sample = add_sample(batch, 1, 6);
  batch.tag(sample, sender_, row.sender);
  const auto put = [&](uint32_t name, uint64_t count) { batch.field(sample, name, static_cast<int64_t>(count)); };
  put(accepted_, row.counts.accepted);
  put(refused_, row.counts.refused);
  put(throttled_, row.counts.throttled);
  put(bytes_, row.counts.bytes);
  put(samples_, row.counts.samples);
  put(new_series_, row.counts.new_series);
}

}  // namespace atalaya::receive
