// SPDX-License-Identifier: Apache-2.0
// A table with the latest value of each series, for an exposition.
#pragma once

#include <atalaya/plugin.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/sample/name_cache.h"
#include "plugins/shared/io/samples/identity.h"
#include "plugins/shared/io/samples/per_name.h"
#include "plugins/shared/protocols/base/message_encoder.h"
#include "plugins/shared/protocols/prometheus/metric.h"
#include "plugins/sinks/prometheus/stream.h"

namespace atalaya::prometheus {

struct Entity;

struct Series {
  const Entity *entity = nullptr;  // null: the entry is free
  uint32_t metric = 0;             // index in Snapshot::metrics
  uint32_t stream = 0;             // index in Snapshot::streams
  atalaya_field value{};
  Stamp stamp;
};

// A set of tags, and its series.
struct Entity {
  struct Member {
    uint32_t metric, series;
  };
  std::string identity;         // hash key of the tags
  std::string labels;           // the tags as exposed, such as host="vm",pid="1"; immutable
  std::vector<Member> members;  // sorted by metric
  size_t next = 0;              // index in members at which the search for the next field starts
};

// The reason why a sample, or a part of it, is not exposed.
enum class Refusal : uint8_t { none, kind, old, labels, tags, name, full };
constexpr size_t kRefusals = 7;
std::string_view reason_of(Refusal refusal);

struct TableOptions {
  size_t max_series = 100'000;
  size_t max_bytes = size_t{256} << 20;
  Staleness staleness;
};

// A copy of the current values; valid until release_snapshot.
struct Snapshot {
  std::vector<Series> series;
  std::vector<Stream> streams;
  std::vector<const Metric *> metrics;
  Moment now;
};

// One thread calls `take` and another thread calls `snapshot`. Each waits at most for one call of the other.
class SeriesTable {
 public:
  SeriesTable(const TableOptions &options, core::NameOf name_of, protocols::MetricOf metric_of);

  // Number of samples that were refused completely or partly, by reason.
  using Refused = std::array<uint64_t, kRefusals>;
  Refused take(std::span<const Sample> samples, const Moment &now);

  void snapshot(Snapshot &out, const Moment &now);
  void release_snapshot();

  size_t series() const;
  size_t bytes() const;  // estimated memory of series and labels
  // Pairs of metrics with the same exposed name, found since the last call: the omitted metric, and the exposed one.
  ExposedNames::Collisions collisions() { return exposed_names_.collisions(); }

 private:
  struct Hash {
    uint64_t seed;
    size_t operator()(std::string_view text) const { return io::identity_hash(text, seed); }
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  Refusal add_sample(const Sample &sample);
  Refusal entity_of(const Sample &sample, Entity *&entity);
  Refusal make_labels(const Sample &sample);
  uint32_t metric_of(uint32_t name);
  uint32_t make_metric(uint32_t name);
  void record_windows(const Sample &sample);
  std::string stream_key(const Sample &sample, const Metric &metric) const;
  uint32_t stream_of(const Sample &sample, const Metric &metric);
  Refusal put(Entity &entity, const Sample &sample, const atalaya_field &field);
  Series *find(Entity &entity, uint32_t metric);
  Refusal add_series(Entity &entity, uint32_t metric, const Sample &sample, Series *&series);
  bool accept_window(uint32_t stream, const Sample &sample);
  void release_stream(uint32_t stream);
  bool has_room_for(size_t bytes) const;
  size_t used_bytes() const;
  void sweep();
  void remove(uint32_t index);
  void forget(Entity &entity);

  const TableOptions options_;
  const core::NameOf name_of_;
  const protocols::MetricOf info_of_;

  mutable std::mutex mutex_;
  Moment now_;  // time of the current batch
  std::vector<const Sample *> deferred_;
  io::IdentityKey key_;
  std::string_view identity_;  // hash key of the tags of the current sample
  std::string labels_;         // exposed labels of the current sample
  std::vector<std::pair<std::string, std::string_view>> pairs_;

  std::deque<Metric> metrics_;
  io::PerName<uint32_t> metric_by_name_;
  ExposedNames exposed_names_;

  std::unordered_map<std::string_view, std::unique_ptr<Entity>, Hash> entities_;  // key: Entity::identity
  std::unordered_set<std::string_view, Hash> labels_in_use_;
  std::vector<Series> series_;
  std::vector<uint32_t> free_series_;
  size_t live_ = 0, label_bytes_ = 0;
  int64_t last_sweep_ns_ = 0;
  bool stream_has_sample_ = false;  // the current sample was already added to the stream last_stream_
  bool stream_accepted_ = false;    // the result for the current sample
  uint32_t last_stream_ = 0;

  struct StreamUse {
    const std::string *key;
    size_t series;
  };
  std::vector<Stream> streams_;
  std::vector<StreamUse> stream_uses_;
  std::map<std::string, uint32_t> stream_by_key_;
  std::vector<uint32_t> free_streams_;

  // Removed entities to which a snapshot may still point; snapshots_ is the number of snapshots in use.
  size_t snapshots_ = 0;
  std::vector<std::unique_ptr<Entity>> removed_;
};

}  // namespace atalaya::prometheus
