// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/collected_writer.h"

#include <algorithm>

#include "core/base/sample/span_end.h"

namespace atalaya::store {
namespace {

// A hub with more families of hosts looks their rows up.
constexpr size_t kMaxLast = 100'000;

}  // namespace

CollectedWriter::CollectedWriter(Database &database, core::NameOf name_of)
    : name_of_(std::move(name_of)),
      database_(database),
      find_(database,
            "SELECT id, begin_ns, end_ns, step_ns, instants FROM collected WHERE host = ?1 AND family = ?2 AND end_ns >= ?3 "
            "AND begin_ns <= ?4"),
      find_windows_(
          database,
          "SELECT id, begin_ns, end_ns, step_ns, instants FROM collected WHERE host = ?1 AND family = ?2 AND end_ns >= ?3 "
          "AND begin_ns <= ?4 AND instants = 0"),
      remove_(database, "DELETE FROM collected WHERE id = ?1"),
      add_(database,
           "INSERT INTO collected(host, family, begin_ns, end_ns, step_ns, instants, arrived_ns) VALUES(?1, ?2, ?3, ?4, ?5, ?6, "
           "?7)"),
      extend_(database, "UPDATE collected SET end_ns = ?2, step_ns = ?3, arrived_ns = ?4 WHERE id = ?1") {}

void CollectedWriter::add(const atalaya_sample &sample) {
  if (core::start_of(sample.time_ns, sample.duration_ns) < INT64_MIN + kLongestHold || sample.time_ns > INT64_MAX - kLongestHold)
    return;  // a time that no clock has
  const std::string_view host = host_of(sample);
  if (sample.time_ns != time_ns_ || sample.duration_ns != duration_ns_ || host != host_) start_window(sample, host);
  for (uint32_t i = 0; i < sample.field_count; ++i) {
    const size_t family = family_of_name(sample.fields[i].name);
    if (family == 0 || seen_[family - 1]) continue;
    seen_[family - 1] = true;
    const Key key{host_, family_names_[family - 1]};
    pending_.try_emplace(key, key.first, key.second).first->second.add(sample.time_ns, sample.duration_ns);
  }
}

std::string_view CollectedWriter::host_of(const atalaya_sample &sample) {
  constexpr char kHost = 1, kOther = 2;
  for (uint32_t i = 0; i < sample.tag_count; ++i) {
    const atalaya_tag &tag = sample.tags[i];
    if (tag.key >= is_host_.size()) is_host_.resize(tag.key + size_t{1});
    char &known = is_host_[tag.key];
    if (known == 0) known = name_of_(tag.key) == "host" ? kHost : kOther;
    if (known == kHost) return {tag.value.data, tag.value.size};
  }
  return {};
}

void CollectedWriter::start_window(const atalaya_sample &sample, std::string_view host) {
  time_ns_ = sample.time_ns;
  duration_ns_ = sample.duration_ns;
  host_ = host;
  std::fill(seen_.begin(), seen_.end(), false);
}

size_t CollectedWriter::family_of_name(uint32_t name) {
  if (name < families_of_names_.size() && families_of_names_[name] != 0) return families_of_names_[name];
  const std::string_view family = family_of(name_of_(name));
  if (family.empty()) return 0;
  const auto [known, is_new] = families_.try_emplace(std::string(family), family_names_.size() + 1);
  if (is_new) {
    family_names_.emplace_back(family);
    seen_.push_back(false);
  }
  if (name >= families_of_names_.size()) families_of_names_.resize(name + size_t{1});
  return families_of_names_[name] = known->second;
}

void CollectedWriter::flush(int64_t now_ns) {
  duration_ns_ = -1;
  for (const auto &[key, added] : pending_)
    if (!extend_last(key, added, now_ns)) merge(key, added, now_ns);
  pending_.clear();
}

// The usual batch: one window, which follows those that are known, or is one of them.
bool CollectedWriter::extend_last(const Key &key, const CollectedRows &added, int64_t now_ns) {
  const auto last = last_.find(key);
  if (last == last_.end() || !added.instants().empty() || added.windows().size() != 1) return false;
  const CollectedRow &known = last->second.row, &row = added.windows().front();
  if (row.begin_ns < known.begin_ns) return false;
  CollectedRows both(key.first, key.second);
  both.add(known);
  both.add(row);
  if (both.windows().size() != 1) return false;
  const CollectedRow &joined = both.windows().front();
  if (joined == known) return true;
  extend_.run(last->second.id, joined.end_ns, joined.step_ns, now_ns);
  last->second.row = joined;
  return database_.changes() > 0;
}

void CollectedWriter::merge(const Key &key, const CollectedRows &added, int64_t now_ns) {
  CollectedRows all(key.first, key.second);
  int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
  const auto widen = [&](const std::vector<CollectedRow> &rows) {
    for (const CollectedRow &row : rows) {
      first_ns = std::min(first_ns, row.begin_ns);
      last_ns = std::max(last_ns, row.end_ns);
    }
  };
  widen(added.windows());
  widen(added.instants());
  // Windows join only their neighbours; instants also those from which no window separates them.
  const bool is_windows = added.instants().empty();
  const int64_t reach_ns = is_windows ? kMaxJitter : kLongestHold;
  std::vector<int64_t> replaced;
  (is_windows ? find_windows_ : find_)
      .each(
          [&](const Row &row) {
            replaced.push_back(row.integer(0));
            all.add({key.first, key.second, row.integer(1), row.integer(2), row.integer(3), row.integer(4) != 0});
          },
          std::string_view(key.first), std::string_view(key.second), first_ns - reach_ns, last_ns + reach_ns);
  for (const int64_t id : replaced) remove_.run(id);
  for (const CollectedRow &row : added.windows()) all.add(row);
  for (const CollectedRow &row : added.instants()) all.add(row);
  const auto last = last_.find(key);
  if (last != last_.end() && std::find(replaced.begin(), replaced.end(), last->second.id) != replaced.end()) last_.erase(last);
  for (const CollectedRow &row : all.instants()) insert(key, row, now_ns);
  for (const CollectedRow &row : all.windows()) insert(key, row, now_ns);
  if (all.windows().empty()) return;
  if (last_.size() >= kMaxLast) last_.clear();
  Last &newest = last_[key];  // late windows may come before it
  if (newest.id == 0 || newest.row.begin_ns < all.windows().back().begin_ns) newest = {database_.last_id(), all.windows().back()};
}

void CollectedWriter::insert(const Key &key, const CollectedRow &row, int64_t now_ns) {
  add_.run(std::string_view(key.first), std::string_view(key.second), row.begin_ns, row.end_ns, row.step_ns,
           int64_t{row.instants ? 1 : 0}, now_ns);
}

void CollectedWriter::forget() {
  pending_.clear();
  last_.clear();
  duration_ns_ = -1;
}

}  // namespace atalaya::store
