// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/joined_store.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "plugins/shared/store/joined_points.h"
#include "plugins/shared/store/joined_stacks.h"

namespace atalaya::store {
namespace {

constexpr size_t kMaxKnown = 1'000'000;

// Hands on what one store says of some of the series.
class Renumbered final : public PointVisitor {
 public:
  Renumbered(const std::vector<size_t> &places, PointVisitor &visitor) : places_(places), visitor_(visitor) {}

  std::optional<Steps> steps(size_t series) const override { return visitor_.steps(places_[series]); }
  bool take(size_t series, const Summary &summary) override { return visitor_.take(places_[series], summary); }
  void points(size_t series, const Points &points) override { visitor_.points(places_[series], points); }
  void rolled(size_t series, const Summary &summary, const Points &plain) override {
    visitor_.rolled(places_[series], summary, plain);
  }

 private:
  const std::vector<size_t> &places_;
  PointVisitor &visitor_;
};

struct StoredSpan {
  int64_t start_ns, duration_ns, entity;
  const Tags *tags;
  std::string name;
  std::vector<std::pair<std::string, Field>> fields;
};

StoredSpan kept(const Span &span, int64_t entity, const Tags &tags) {
  StoredSpan one{span.start_ns, span.duration_ns, entity, &tags, std::string(span.name), {}};
  for (const Field &field : span.fields) one.fields.emplace_back(field.name, field);
  return one;
}

auto identity_of(const StoredSpan &span) {
  return std::tie(span.start_ns, span.entity, span.name);
}

}  // namespace

JoinedStore::JoinedStore(std::vector<std::unique_ptr<Store>> stores, size_t max_buffered)
    : stores_(std::move(stores)), max_buffered_(max_buffered) {}

std::string JoinedStore::name() const {
  std::string name;
  for (const auto &store : stores_) name += (name.empty() ? "" : ", ") + store->name();
  return name;
}

template <class Read>
std::vector<std::string> JoinedStore::merged_lists(Read &&read) {
  std::set<std::string> all;
  for (const auto &store : stores_)
    for (std::string &text : read(*store)) all.insert(std::move(text));
  return {all.begin(), all.end()};
}

std::vector<std::string> JoinedStore::metrics() {
  return merged_lists([](Store &store) { return store.metrics(); });
}

std::vector<std::string> JoinedStore::tag_keys() {
  return merged_lists([](Store &store) { return store.tag_keys(); });
}

std::vector<std::string> JoinedStore::tag_values(std::string_view key) {
  return merged_lists([key](Store &store) { return store.tag_values(key); });
}

std::optional<Range> JoinedStore::extent(int64_t until_ns) {
  std::optional<Range> all;
  for (const auto &store : stores_) {
    const auto part = store->extent(until_ns);
    if (part) all = all ? Range{std::min(all->from_ns, part->from_ns), std::max(all->to_ns, part->to_ns)} : *part;
  }
  return all;
}

std::vector<CollectedRow> JoinedStore::collected(const Range &range) {
  std::vector<CollectedRow> all;
  for (const auto &store : stores_) {
    std::vector<CollectedRow> rows = store->collected(range);
    all.insert(all.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
  }
  return all;
}

// The first declaration wins, as in one store.
Catalogue JoinedStore::catalogue() {
  Catalogue all;
  for (const auto &store : stores_)
    for (const auto &[metric, info] : store->catalogue()) {
      const auto [known, is_new] = all.try_emplace(metric, info);
      if (!is_new && known->second->kind == Kind::unknown) known->second = info;
    }
  return all;
}

std::string JoinedStore::take_damage() {
  std::string all;
  for (const auto &store : stores_)
    if (const std::string damage = store->take_damage(); !damage.empty()) all += (all.empty() ? "" : " ") + damage;
  return all;
}

JoinedStore::Key JoinedStore::key_of(const Series &series) {
  const auto entity = entities_.try_emplace(series.tags, last_number_ + 1);
  if (entity.second) ++last_number_;
  const auto metric = metrics_.try_emplace(series.metric, last_number_ + 1);
  if (metric.second) ++last_number_;
  return {entity.first->second, metric.first->second};
}

void JoinedStore::forget_if_many() {
  if (parts_.size() < kMaxKnown) return;
  parts_.clear();
  entities_.clear();
  metrics_.clear();
}

std::vector<Series> JoinedStore::series(const Selection &selection, size_t limit) {
  forget_if_many();
  std::map<Key, Series> found;
  for (size_t i = 0; i < stores_.size(); ++i)
    for (Series &one : stores_[i]->series(selection, limit)) {
      const Key key = key_of(one);
      std::vector<Part> &parts = parts_[key];
      std::erase_if(parts, [i](const Part &part) { return part.store == i; });
      parts.push_back({i, one.entity, one.metric_id});
      std::tie(one.entity, one.metric_id) = key;
      const auto [known, is_new] = found.try_emplace(key, one);
      if (!is_new && known->second.kind() == Kind::unknown) known->second.info = one.info;
    }
  std::vector<Series> all;
  all.reserve(found.size());
  for (auto &[key, one] : found) all.push_back(std::move(one));
  std::sort(all.begin(), all.end(),
            [](const Series &a, const Series &b) { return std::tie(a.metric, a.tags) < std::tie(b.metric, b.tags); });
  if (all.size() > limit) all.resize(limit);
  return all;
}

void JoinedStore::scan(std::span<const Series> series, const Range &range, PointVisitor &visitor) {
  std::vector<StoreParts> single(stores_.size()), several(stores_.size());
  for (size_t i = 0; i < series.size(); ++i) {
    const auto parts = parts_.find({series[i].entity, series[i].metric_id});
    if (parts == parts_.end()) throw Error(Cause::retry, name() + ": the numbers of the series are too old; repeat the query");
    auto &of_stores = parts->second.size() == 1 ? single : several;
    for (const Part &part : parts->second) {
      Series one = series[i];
      one.entity = part.entity;
      one.metric_id = part.metric_id;
      of_stores[part.store].series.push_back(std::move(one));
      of_stores[part.store].places.push_back(i);
    }
  }
  for (size_t i = 0; i < stores_.size(); ++i) {
    if (single[i].series.empty()) continue;
    Renumbered renumbered(single[i].places, visitor);
    stores_[i]->scan(single[i].series, range, renumbered);
  }
  merge_points(stores_, several, range, max_buffered_, visitor);
}

void JoinedStore::whole_stacks(const Selection &selection, const std::function<void(const Stack &)> &visitor) {
  merge_stacks(stores_, selection, max_buffered_, visitor);
}

void JoinedStore::spans(const Selection &selection, const std::function<void(const Span &)> &visitor) {
  std::map<Tags, int64_t> entities;
  std::vector<StoredSpan> all;
  for (const auto &store : stores_)
    store->spans(selection, [&](const Span &span) {
      const auto entity = entities.try_emplace(span.tags, static_cast<int64_t>(entities.size())).first;
      all.push_back(kept(span, entity->second, entity->first));
    });
  std::stable_sort(all.begin(), all.end(),
                   [](const StoredSpan &a, const StoredSpan &b) { return identity_of(a) < identity_of(b); });
  std::vector<Field> fields;
  for (size_t i = 0, end = 0; i < all.size(); i = end) {
    size_t last = i;
    for (end = i; end < all.size() && identity_of(all[end]) == identity_of(all[i]); ++end)
      if (all[end].duration_ns >= 0 || all[last].duration_ns < 0) last = end;  // an end wins over an open span
    const StoredSpan &one = all[last];
    if (one.duration_ns < 0 && has_ended(one.start_ns, *one.tags, one.name)) continue;
    fields.clear();
    for (const auto &[name, field] : one.fields) fields.push_back({name, field.is_count, field.value, field.count});
    visitor({one.start_ns, one.duration_ns, one.entity, *one.tags, one.name, fields});
  }
}

// A store that has its end has it before the range, or it would be among the spans of the range.
bool JoinedStore::has_ended(int64_t start_ns, const Tags &tags, std::string_view name) {
  Selection at_start;
  at_start.range = {std::max(start_ns, std::numeric_limits<int64_t>::min() + 1) - 1, start_ns};
  bool has_end = false;
  for (const auto &store : stores_)
    store->spans(at_start, [&](const Span &span) {
      has_end = has_end || (span.start_ns == start_ns && span.duration_ns >= 0 && span.name == name && span.tags == tags);
    });
  return has_end;
}

}  // namespace atalaya::store
