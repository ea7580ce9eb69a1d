// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/prometheus/series_table.h"

#include <algorithm>

#include "plugins/shared/io/match/patterns.h"
#include "plugins/shared/protocols/prometheus/exposition.h"
#include "plugins/shared/protocols/prometheus/legal_text.h"

namespace atalaya::prometheus {
namespace {

constexpr int64_t kSweepEvery = 1'000'000'000;
// Estimated memory of an entity: the nodes of the two hash tables, the entity itself and the overhead of the allocator.
constexpr size_t kEntityBytes = sizeof(Entity) + 160;
constexpr size_t kSeriesBytes = sizeof(Series) + 2 * sizeof(Entity::Member);

size_t bytes_of(const Entity &entity) {
  return kEntityBytes + entity.identity.size() + entity.labels.size();
}

// The length of a value's window; for instants, minus the time since the previous one (see Stamp).
int64_t length_of(const Stamp &before, const Sample &sample) {
  if (sample.duration_ns > 0) return sample.duration_ns;
  if (before.length_ns > 0 || before.time_ns > sample.time_ns) return 0;
  return before.time_ns == sample.time_ns ? before.length_ns : before.time_ns - sample.time_ns;
}

bool before(const Entity::Member &member, uint32_t metric) {
  return member.metric < metric;
}

}  // namespace

std::string_view reason_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::none:
      break;
    case Refusal::kind:
      return "prometheus has no form for stacks and spans";
    case Refusal::old:
      return "older than what is exposed, or than max_age";
    case Refusal::labels:
      return "two tags have the same label name";
    case Refusal::tags:
      return "other tags have the same labels";
    case Refusal::name:
      return "another metric has the same exposed name";
    case Refusal::full:
      return "max_series or max_memory reached";
  }
  return "";
}

SeriesTable::SeriesTable(const TableOptions &options, core::NameOf name_of, protocols::MetricOf metric_of)
    : options_(options),
      name_of_(std::move(name_of)),
      info_of_(std::move(metric_of)),
      entities_(64, Hash{io::random_seed()}),
      labels_in_use_(64, Hash{io::random_seed()}) {}

SeriesTable::Refused SeriesTable::take(std::span<const Sample> samples, const Moment &now) {
  const std::lock_guard lock(mutex_);
  now_ = now;
  if (snapshots_ == 0) removed_.clear();
  if (now.monotonic_ns - last_sweep_ns_ >= kSweepEvery) sweep();
  Refused refused{};
  deferred_.clear();
  for (const Sample &sample : samples) {
    const Refusal refusal = add_sample(sample);
    if (refusal == Refusal::full) {
      deferred_.push_back(&sample);
    } else {
      ++refused[static_cast<size_t>(refusal)];
    }
  }
  if (deferred_.empty()) return refused;
  // All windows of the batch are recorded now, so series that are missing in them can be removed. The deferred samples get their
  // room.
  sweep();
  for (const Sample *sample : deferred_) ++refused[static_cast<size_t>(add_sample(*sample))];
  return refused;
}

Refusal SeriesTable::add_sample(const Sample &sample) {
  if (sample.kind != ATALAYA_METRICS) return Refusal::kind;
  if (now_.real_ns - sample.time_ns > options_.staleness.max_age_ns) return Refusal::old;
  if (sample.field_count == 0) return Refusal::none;
  Entity *entity = nullptr;
  stream_has_sample_ = false;
  if (const Refusal refusal = entity_of(sample, entity); refusal != Refusal::none) {
    if (refusal == Refusal::full) record_windows(sample);
    return refusal;
  }
  Refusal worst = Refusal::none;
  for (uint32_t i = 0; i < sample.field_count; ++i)
    if (const Refusal refusal = put(*entity, sample, sample.fields[i]); refusal != Refusal::none) worst = refusal;
  if (entity->members.empty()) forget(*entity);
  return worst;
}

Refusal SeriesTable::entity_of(const Sample &sample, Entity *&entity) {
  identity_ = key_.identity_of(sample);
  if (const auto known = entities_.find(identity_); known != entities_.end()) {
    entity = known->second.get();
    return Refusal::none;
  }
  if (const Refusal refusal = make_labels(sample); refusal != Refusal::none) return refusal;
  if (labels_in_use_.contains(labels_)) return Refusal::tags;
  if (!has_room_for(kEntityBytes + identity_.size() + labels_.size())) return Refusal::full;
  auto made = std::make_unique<Entity>();
  made->identity = identity_;
  made->labels = labels_;
  made->members.reserve(sample.field_count);
  entity = made.get();
  label_bytes_ += bytes_of(*entity);
  labels_in_use_.insert(entity->labels);
  entities_.emplace(std::string_view(entity->identity), std::move(made));
  return Refusal::none;
}

// For Prometheus a label with an empty value is equal to a missing one.
Refusal SeriesTable::make_labels(const Sample &sample) {
  pairs_.clear();
  for (uint32_t i = 0; i < sample.tag_count; ++i)
    if (sample.tags[i].value.size > 0) pairs_.emplace_back(legal_label(name_of_(sample.tags[i].key)), view(sample.tags[i].value));
  std::sort(pairs_.begin(), pairs_.end());
  labels_.clear();
  for (size_t i = 0; i < pairs_.size(); ++i) {
    if (i > 0 && pairs_[i].first == pairs_[i - 1].first) return Refusal::labels;
    append_label(labels_, pairs_[i].first, pairs_[i].second);
  }
  return Refusal::none;
}

Refusal SeriesTable::put(Entity &entity, const Sample &sample, const atalaya_field &field) {
  const uint32_t metric = metric_of(field.name);
  if (metric == kNone) return Refusal::name;
  Series *series = find(entity, metric);
  if (series == nullptr) {
    if (const Refusal refusal = add_series(entity, metric, sample, series); refusal != Refusal::none) return refusal;
  } else if (!accept_window(series->stream, sample)) {
    return Refusal::old;
  }
  Stamp &stamp = series->stamp;
  if (stamp.time_ns > sample.time_ns && stamp.time_ns <= now_.real_ns + kMaxClockAhead) return Refusal::old;
  series->value = field;
  stamp = {sample.time_ns, length_of(stamp, sample), now_.monotonic_ns};
  return Refusal::none;
}

// Finds the series of a metric. The search starts after the previous field's, because fields come in the same order in each sample.
Series *SeriesTable::find(Entity &entity, uint32_t metric) {
  std::vector<Entity::Member> &members = entity.members;
  if (entity.next >= members.size()) entity.next = 0;
  auto at = members.begin() + static_cast<ptrdiff_t>(entity.next);
  if (at == members.end()) return nullptr;
  if (at->metric != metric) at = std::lower_bound(members.begin(), members.end(), metric, before);
  if (at == members.end() || at->metric != metric) return nullptr;
  entity.next = static_cast<size_t>(at - members.begin()) + 1;
  return &series_[at->series];
}

Refusal SeriesTable::add_series(Entity &entity, uint32_t metric, const Sample &sample, Series *&series) {
  const uint32_t stream = stream_of(sample, metrics_[metric]);
  const bool timely = accept_window(stream, sample);
  const bool room = timely && has_room_for(kSeriesBytes);
  if (!timely || !room) {
    if (stream_uses_[stream].series == 0) release_stream(stream);
    return timely ? Refusal::full : Refusal::old;
  }
  uint32_t index = static_cast<uint32_t>(series_.size());
  if (free_series_.empty()) {
    series_.emplace_back();
  } else {
    index = free_series_.back();
    free_series_.pop_back();
  }
  series = &series_[index];
  *series = {.entity = &entity, .metric = metric, .stream = stream, .stamp = {.time_ns = sample.time_ns}};
  ++live_;
  ++stream_uses_[stream].series;
  const auto at = std::lower_bound(entity.members.begin(), entity.members.end(), metric, before);
  entity.members.insert(at, {metric, index});
  return Refusal::none;
}

// Records the window of the sample in the stream; false if it is outdated. The result is the same for all fields of a sample in a
// stream, so it is computed once.
bool SeriesTable::accept_window(uint32_t stream, const Sample &sample) {
  if (sample.duration_ns <= 0) return true;
  if (stream_has_sample_ && last_stream_ == stream) return stream_accepted_;
  stream_has_sample_ = true;
  last_stream_ = stream;
  return stream_accepted_ = streams_[stream].record_window(sample.time_ns, sample.duration_ns, now_);
}

uint32_t SeriesTable::metric_of(uint32_t name) {
  return metric_by_name_.get(name, [&] { return make_metric(name); });
}

// Adds a metric. If several metrics have the same exposed name, the first one keeps it, even when its series have ended.
uint32_t SeriesTable::make_metric(uint32_t name) {
  Metric metric = describe(name_of_(name), info_of_(name));
  if (!exposed_names_.claim(metric)) return kNone;
  metrics_.push_back(std::move(metric));
  return static_cast<uint32_t>(metrics_.size() - 1);
}

// Records the windows of a sample that the full table did not accept: its stream is alive.
void SeriesTable::record_windows(const Sample &sample) {
  for (uint32_t i = 0; i < sample.field_count; ++i) {
    const uint32_t metric = metric_of(sample.fields[i].name);
    if (metric == kNone) continue;
    if (const auto at = stream_by_key_.find(stream_key(sample, metrics_[metric])); at != stream_by_key_.end())
      static_cast<void>(accept_window(at->second, sample));
  }
}

std::string SeriesTable::stream_key(const Sample &sample, const Metric &metric) const {
  std::string key(io::family_of(metric.original));
  for (uint32_t i = 0; i < sample.tag_count; ++i)
    if (name_of_(sample.tags[i].key) == "host") key.append(1, '\0').append(view(sample.tags[i].value));
  return key;
}

uint32_t SeriesTable::stream_of(const Sample &sample, const Metric &metric) {
  std::string key = stream_key(sample, metric);
  const auto [at, added] = stream_by_key_.try_emplace(std::move(key), static_cast<uint32_t>(streams_.size()));
  if (!added) return at->second;
  if (free_streams_.empty()) {
    streams_.emplace_back();
    stream_uses_.push_back({&at->first, 0});
  } else {
    at->second = free_streams_.back();
    free_streams_.pop_back();
    streams_[at->second] = {};
    stream_uses_[at->second] = {&at->first, 0};
  }
  return at->second;
}

void SeriesTable::release_stream(uint32_t stream) {
  stream_by_key_.erase(stream_by_key_.find(*stream_uses_[stream].key));
  free_streams_.push_back(stream);
}

bool SeriesTable::has_room_for(size_t bytes) const {
  return live_ < options_.max_series && used_bytes() + bytes <= options_.max_bytes;
}

// Removes stale series.
void SeriesTable::sweep() {
  last_sweep_ns_ = now_.monotonic_ns;
  for (uint32_t i = 0; i < series_.size(); ++i) {
    const Series &series = series_[i];
    if (series.entity != nullptr && !streams_[series.stream].is_fresh(series.stamp, options_.staleness, now_)) remove(i);
  }
}

void SeriesTable::remove(uint32_t index) {
  Series &series = series_[index];
  Entity &entity = *entities_.find(std::string_view(series.entity->identity))->second;
  entity.members.erase(std::lower_bound(entity.members.begin(), entity.members.end(), series.metric, before));
  if (--stream_uses_[series.stream].series == 0) release_stream(series.stream);
  series = {};
  free_series_.push_back(index);
  --live_;
  if (entity.members.empty()) forget(entity);
}

// Removes an entity. It is kept in removed_ while a snapshot may read its labels.
void SeriesTable::forget(Entity &entity) {
  label_bytes_ -= bytes_of(entity);
  labels_in_use_.erase(labels_in_use_.find(entity.labels));
  const auto at = entities_.find(std::string_view(entity.identity));
  std::unique_ptr<Entity> gone = std::move(at->second);
  entities_.erase(at);
  if (snapshots_ > 0) removed_.push_back(std::move(gone));
}

void SeriesTable::snapshot(Snapshot &out, const Moment &now) {
  const std::lock_guard lock(mutex_);
  out.now = now;
  out.series = series_;
  out.streams = streams_;
  out.metrics.clear();
  for (const Metric &metric : metrics_) out.metrics.push_back(&metric);
  ++snapshots_;
}

void SeriesTable::release_snapshot() {
  const std::lock_guard lock(mutex_);
  --snapshots_;
}

size_t SeriesTable::used_bytes() const {
  return label_bytes_ + live_ * kSeriesBytes;
}

size_t SeriesTable::series() const {
  const std::lock_guard lock(mutex_);
  return live_;
}

size_t SeriesTable::bytes() const {
  const std::lock_guard lock(mutex_);
  return used_bytes();
}

}  // namespace atalaya::prometheus
