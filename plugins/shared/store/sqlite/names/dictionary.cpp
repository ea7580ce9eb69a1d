// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/names/dictionary.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "plugins/shared/store/sqlite/names/declarations.h"
#include "plugins/shared/store/sqlite/names/entity_times.h"

namespace atalaya::store {
namespace {

// In the cache, some 200 bytes each. A hub of 10,000 hosts has half of them in use.
constexpr size_t kMaxEntities = 1'000'000;
// An entity leaves the cache after this time without a sample. A host that compiles starts twenty processes a second.
constexpr int64_t kSilent = 60'000'000'000;
constexpr size_t kMaxShapes = 4096;
// seen_s and last_s are set ahead by this time, so that they are written once an hour and entity.
constexpr int64_t kAhead = 3'600'000'000'000;
// seen_s of an entity that is new: most of those that come in great numbers are never seen again, and can go soon.
constexpr int64_t kFirstAhead = 60'000'000'000;
constexpr int64_t kNamesEvery = 60'000'000'000;
constexpr int64_t kDeclarationsEvery = 60'000'000'000;

// The same for both tables, so that a deletion from one after the other meets the same entities.
constexpr const char *kExpired =
    "(SELECT id FROM entity_rows e WHERE seen_s < ?1 AND NOT EXISTS (SELECT 1 FROM spans WHERE entity = e.id) ORDER BY seen_s, id "
    "LIMIT ?2)";

int64_t ahead(int64_t time_ns) {
  return time_ns > INT64_MAX - kAhead ? INT64_MAX : time_ns + kAhead;
}

template <class T>
void append_bytes(std::string &out, T value) {
  out.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

// The tags in their order, lengths included: equal texts mean equal tags.
void append_identity(std::string &out, const atalaya_sample &sample) {
  for (uint32_t i = 0; i < sample.tag_count; ++i) {
    const atalaya_tag &tag = sample.tags[i];
    append_bytes(out, tag.key);
    append_bytes(out, tag.value.size);
    if (tag.value.size > 0) out.append(tag.value.data, tag.value.size);
  }
}

// Whether that would append this text to an empty one.
bool is_identity(std::string_view identity, const atalaya_sample &sample) {
  const auto take = [&](const void *bytes, size_t size) {
    if (identity.size() < size || (size > 0 && std::memcmp(identity.data(), bytes, size) != 0)) return false;
    identity.remove_prefix(size);
    return true;
  };
  for (uint32_t i = 0; i < sample.tag_count; ++i) {
    const atalaya_tag &tag = sample.tags[i];
    if (!take(&tag.key, sizeof(tag.key)) || !take(&tag.value.size, sizeof(tag.value.size)) || !take(tag.value.data, tag.value.size))
      return false;
  }
  return identity.empty();
}

}  // namespace

Dictionary::Dictionary(Database &database, core::NameOf name_of, MetricOf metric_of, Warn warn)
    : name_of_(std::move(name_of)),
      metric_of_(std::move(metric_of)),
      warn_(std::move(warn)),
      database_(database),
      find_metric_(database, "SELECT id FROM metrics WHERE name = ?1"),
      add_metric_(database, "INSERT INTO metrics(name) VALUES(?1)"),
      find_declaration_(database, "SELECT name, kind, unit, decimals, summary FROM metrics WHERE id = ?1"),
      declare_metric_(database,
                      "UPDATE metrics SET kind = coalesce(kind, ?2), unit = coalesce(unit, ?3), decimals = coalesce(decimals, ?4), "
                      "summary = coalesce(summary, ?5) WHERE id = ?1"),
      find_tag_set_(database, "SELECT id FROM tag_sets WHERE process IS ?1 AND host IS ?2 AND tags = ?3"),
      add_tag_set_(database, "INSERT INTO tag_sets(process, host, tags) VALUES(?1, ?2, ?3)"),
      expire_tag_set_(database, "DELETE FROM tag_sets WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM entity_rows WHERE tag_set = ?1)"),
      find_entity_(database,
                   "SELECT id, first_s, last_s, seen_s FROM entity_rows WHERE tag_set = ?1 AND pid IS coalesce(?2, ?3) LIMIT 1"),
      add_entity_(
          database,
          "INSERT INTO entity_rows(id, tag_set, pid, seen_s, first_s, last_s) VALUES(?1, ?2, coalesce(?3, ?4), ?5, ?6, ?7)"),
      mark_entity_seen_(database, "UPDATE entity_rows SET seen_s = max(seen_s, ?2) WHERE id = ?1"),
      widen_entity_(database, "UPDATE entity_rows SET first_s = ?2, last_s = ?3 WHERE id = ?1"),
      expire_entities_(database, "DELETE FROM entity_rows WHERE id IN " + std::string(kExpired) + " RETURNING tag_set"),
      find_shape_(database, "SELECT id FROM shapes WHERE metrics = ?1"),
      add_shape_(database, "INSERT INTO shapes(metrics) VALUES(?1)"),
      add_entity_shape_(database, "INSERT OR IGNORE INTO entity_shapes(entity, shape) VALUES(?1, ?2)"),
      expire_shapes_(database, "DELETE FROM entity_shapes WHERE entity IN " + std::string(kExpired)),
      entity_ids_(database),
      stacks_(database) {}

int64_t Dictionary::metric(uint32_t name) {
  if (name < metrics_.size() && metrics_[name] != 0) return metrics_[name];
  const std::string_view text = name_of_(name);
  if (text.empty()) return 0;
  if (name >= metrics_.size()) metrics_.resize(name + size_t{1});
  metrics_[name] = find_metric(valid_utf8(text, scratch_));
  if (metric_of_ && !declare(name, metrics_[name])) undeclared_.push_back(name);
  return metrics_[name];
}

bool Dictionary::declare(uint32_t name, int64_t metric) {
  const auto declared = metric_of_(name);
  if (!declared) return false;
  const MetricInfo info = stored_form(*declared);
  MetricInfo first;
  std::string text;
  bool is_complete = false;
  find_declaration_.each(
      [&](const Row &row) {
        text = row.text(0);
        first = info_of(row, 1);
        is_complete =
            row.type(1) != SQLITE_NULL && row.type(2) != SQLITE_NULL && row.type(3) != SQLITE_NULL && row.type(4) != SQLITE_NULL;
      },
      metric);
  if (is_conflict(first, info)) {
    if (conflicts_.insert(metric).second && warn_) warn_(conflict_text(text, first, info));
  } else if (!is_complete) {
    declare_metric_.run(metric, text_of(info.kind), std::string_view(info.unit), int64_t{info.decimals},
                        std::string_view(info.summary));
  }
  return true;
}

void Dictionary::complete_declarations(int64_t now_ns) {
  const int64_t since_ns = now_ns - declarations_checked_ns_;
  if (undeclared_.empty() || (since_ns >= 0 && since_ns < kDeclarationsEvery)) return;
  declarations_checked_ns_ = now_ns;
  std::erase_if(undeclared_, [&](uint32_t name) { return declare(name, metrics_[name]); });
}

int64_t Dictionary::find_metric(std::string_view name) {
  if (const auto id = find_metric_.number(name)) return *id;
  add_metric_.run(name);
  return database_.last_id();
}

int64_t Dictionary::entity(const atalaya_sample &sample, std::string_view metrics, int64_t now_ns) {
  Known *known = find_known(sample);
  if (known == nullptr || known->second.seen_ns < std::max(now_ns, expired_before_ns_)) {
    trim(now_ns);
    known = &*entities_.insert_or_assign(identity_of(sample), find_or_add(sample, now_ns)).first;
  }
  if (last_known_ != nullptr) last_known_->second.next = known;
  last_known_ = known;
  Entity &entity = known->second;
  entity.used_ns = now_ns;
  if (sample.time_ns < entity.first_ns || sample.time_ns > entity.last_ns) widen(entity, sample.time_ns);
  if (!metrics.empty()) add_shape(entity, metrics);
  return entity.id;
}

// Samples come in the same order in each window.
Dictionary::Known *Dictionary::find_known(const atalaya_sample &sample) {
  if (last_known_ != nullptr && last_known_->second.next != nullptr && is_identity(last_known_->second.next->first, sample))
    return last_known_->second.next;
  const auto found = entities_.find(std::string_view(identity_of(sample)));
  return found == entities_.end() ? nullptr : &*found;
}

const std::string &Dictionary::identity_of(const atalaya_sample &sample) {
  identity_.clear();
  append_identity(identity_, sample);
  return identity_;
}

Dictionary::Entity Dictionary::find_or_add(const atalaya_sample &sample, int64_t now_ns) {
  Tags tags;
  std::string key_scratch;
  for (uint32_t i = 0; i < sample.tag_count; ++i) {
    const std::string_view value{sample.tags[i].value.data, sample.tags[i].value.size};
    tags.insert_or_assign(std::string(valid_utf8(name_of_(sample.tags[i].key), key_scratch)),
                          std::string(valid_utf8(value, scratch_)));
  }
  const Identity identity = Identity::from_tags(tags);
  const int64_t set = tag_set(identity);
  const int64_t seen_ns = std::max(now_ns, expired_before_ns_) + kAhead;
  Entity entity;
  entity.used_ns = now_ns;
  find_entity_.each(
      [&](const Row &row) {
        entity.id = row.integer(0);
        entity.first_ns = ns_of(row.integer(1));
        entity.last_ns = ns_of(row.integer(2));
        entity.seen_ns = ns_of(row.integer(3));
      },
      set, identity.pid, identity.pid_text);
  if (entity.id == 0) {
    entity.id = entity_ids_.next(identity.host.value_or(std::string_view()));
    entity.seen_ns = seen_ns + kFirstAhead - kAhead;
    entity.first_ns = ns_of(floor_s(sample.time_ns));
    entity.last_ns = ns_of(ceil_s(ahead(sample.time_ns)));
    add_entity_.run(entity.id, set, identity.pid, identity.pid_text, ceil_s(entity.seen_ns), floor_s(entity.first_ns),
                    ceil_s(entity.last_ns));
  } else if (entity.seen_ns < seen_ns - kAhead) {
    entity.seen_ns = seen_ns;
    mark_entity_seen_.run(entity.id, ceil_s(seen_ns));
  }
  return entity;
}

int64_t Dictionary::tag_set(const Identity &identity) {
  const std::string_view rest = identity.tags;
  if (const auto id = find_tag_set_.number(identity.process, identity.host, rest)) return *id;
  add_tag_set_.run(identity.process, identity.host, rest);
  return database_.last_id();
}

void Dictionary::trim(int64_t now_ns) {
  if (entities_.size() >= kMaxEntities) {
    entities_.clear();
    last_known_ = nullptr;
  }
  if (now_ns >= trimmed_ns_ && now_ns < trimmed_ns_ + kSilent) return;
  trimmed_ns_ = now_ns;
  last_known_ = nullptr;
  for (auto &[identity, entity] : entities_) entity.next = nullptr;
  std::erase_if(entities_, [&](const auto &entity) { return entity.second.used_ns < now_ns - kSilent; });
}

void Dictionary::widen(Entity &entity, int64_t time_ns) {
  entity.first_ns = std::min(entity.first_ns, ns_of(floor_s(time_ns)));
  if (time_ns > entity.last_ns) entity.last_ns = ns_of(ceil_s(ahead(time_ns)));
  widen_entity_.run(entity.id, floor_s(entity.first_ns), ceil_s(entity.last_ns));
}

void Dictionary::add_shape(Entity &entity, std::string_view metrics) {
  const int64_t id = shape(metrics);
  if (std::find(entity.shapes.begin(), entity.shapes.end(), id) != entity.shapes.end()) return;
  std::rotate(entity.shapes.begin(), entity.shapes.end() - 1, entity.shapes.end());
  entity.shapes.front() = id;
  add_entity_shape_.run(entity.id, id);
}

int64_t Dictionary::shape(std::string_view metrics) {
  if (metrics == last_shape_) return last_shape_id_;
  last_shape_id_ = find_shape(metrics);
  last_shape_ = metrics;
  return last_shape_id_;
}

int64_t Dictionary::find_shape(std::string_view metrics) {
  if (const auto found = shapes_.find(metrics); found != shapes_.end()) return found->second;
  if (shapes_.size() >= kMaxShapes) shapes_.clear();
  auto id = find_shape_.number(metrics);
  if (!id) {
    add_shape_.run(metrics);
    id = database_.last_id();
  }
  return shapes_.emplace(metrics, *id).first->second;
}

void Dictionary::forget() {
  clear_caches();
  entity_ids_.forget();
}

void Dictionary::clear_caches() {
  metrics_.clear();
  undeclared_.clear();
  entities_.clear();
  last_known_ = nullptr;
  shapes_.clear();
  last_shape_.clear();
  stacks_.forget();
}

int64_t Dictionary::expire(int64_t oldest_arrived_ns, int64_t limit) {
  expired_before_ns_ = std::max(expired_before_ns_, oldest_arrived_ns);
  const int64_t oldest_s = floor_s(oldest_arrived_ns);
  expire_shapes_.run(oldest_s, limit);
  std::vector<int64_t> tag_sets;  // of each that is deleted
  expire_entities_.each([&](const Row &row) { tag_sets.push_back(row.integer(0)); }, oldest_s, limit);
  const auto expired = static_cast<int64_t>(tag_sets.size());
  std::sort(tag_sets.begin(), tag_sets.end());
  tag_sets.erase(std::unique(tag_sets.begin(), tag_sets.end()), tag_sets.end());
  for (const int64_t set : tag_sets) expire_tag_set_.run(set);
  return expired;
}

int64_t Dictionary::delete_unused_names(int64_t now_ns) {
  if (now_ns >= names_checked_ns_ && now_ns < names_checked_ns_ + kNamesEvery) return 0;
  names_checked_ns_ = now_ns;
  Statement(database_, "DELETE FROM shapes WHERE id NOT IN (SELECT shape FROM entity_shapes)").run();
  const int64_t shapes = database_.changes();
  Statement(database_,
            "DELETE FROM metrics WHERE id NOT IN (SELECT m.value FROM shapes s JOIN json_each(s.metrics) m "
            "UNION SELECT field FROM stacks UNION SELECT CAST(f.key AS INTEGER) FROM spans s JOIN json_each(s.fields) f)")
      .run();
  const int64_t deleted = shapes + database_.changes();
  if (deleted > 0) clear_caches();
  return deleted;
}

}  // namespace atalaya::store
