// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/stacks/stack_writer.h"

#include <algorithm>

#include "core/base/text/json_writer.h"

namespace atalaya::store {
namespace {

Number sum(const Number &a, const Number &b) {
  Number sum;
  sum.is_count = a.is_count && b.is_count && !__builtin_add_overflow(a.count, b.count, &sum.count);
  if (!sum.is_count) sum.real = a.as_real() + b.as_real();
  return sum;
}

}  // namespace

StackWriter::StackWriter(Database &database)
    : database_(database),
      find_(database, "SELECT numbers FROM stacks WHERE window = ?1 AND entity = ?2 AND field = ?3"),
      put_(database, "INSERT OR REPLACE INTO stacks(window, entity, field, numbers) VALUES(?1, ?2, ?3, ?4)"),
      remove_(database, "DELETE FROM stacks WHERE window = ?1 AND entity = ?2 AND field = ?3") {}

void StackWriter::add(int64_t window, int64_t entity, const StackTree::Stack &stack, std::string_view fields) {
  for (FieldReader reader(fields); reader.next();)
    changes_[{window, entity, reader.metric()}].push_back({stack.node, reader.value(), !stack.is_whole});
}

void StackWriter::remove(int64_t window, int64_t entity, int64_t node, std::string_view fields) {
  for (FieldReader reader(fields); reader.next();) changes_[{window, entity, reader.metric()}].push_back({node, {}, false});
}

void StackWriter::flush() {
  for (auto &[place, changes] : changes_) {
    merge_pending(changes);
    read(place);
    if (merge(changes)) write(place);
  }
  changes_.clear();
}

// One change a node, in their order: the last one.
void StackWriter::merge_pending(std::vector<Change> &changes) {
  std::stable_sort(changes.begin(), changes.end(), [](const Change &a, const Change &b) { return a.node < b.node; });
  size_t last = 0;
  for (size_t i = 1; i < changes.size(); ++i) {
    Change &change = changes[i];
    if (change.node != changes[last].node) {
      changes[++last] = change;
      continue;
    }
    if (change.is_more && changes[last].number) change.number = sum(*changes[last].number, *change.number);
    changes[last] = change;
  }
  changes.resize(last + 1);
}

void StackWriter::read(const Place &place) {
  stored_.clear();
  find_.each(
      [&](const Row &row) {
        FieldReader reader(row.text(0));
        while (reader.next()) stored_.push_back({reader.metric(), reader.value()});
        const bool is_sorted =
            std::is_sorted(stored_.begin(), stored_.end(), [](const Entry &a, const Entry &b) { return a.node < b.node; });
        if (!reader.damaged() && is_sorted) return;
        throw Error(Cause::permanent, "database " + database_.path() + ": the row of window " + std::to_string(place.window) +
                                          ", entity " + std::to_string(place.entity) + ", field " + std::to_string(place.field) +
                                          " in the table stacks is damaged; end the agent, and run `atalaya store repair`");
      },
      place.window, place.entity, place.field);
}

bool StackWriter::merge(const std::vector<Change> &changes) {
  merged_.clear();
  merged_.reserve(stored_.size() + changes.size());
  bool has_changed = false;
  auto stored = stored_.begin();
  for (const Change &change : changes) {
    for (; stored != stored_.end() && stored->node < change.node; ++stored) merged_.push_back(*stored);
    const bool is_stored = stored != stored_.end() && stored->node == change.node;
    if (is_stored) ++stored;
    if (change.number) merged_.push_back({change.node, *change.number});
    has_changed = has_changed || is_stored || change.number;
  }
  merged_.insert(merged_.end(), stored, stored_.end());
  return has_changed;
}

void StackWriter::write(const Place &place) {
  if (merged_.empty()) return remove_.run(place.window, place.entity, place.field);
  text_.clear();
  core::JsonWriter json(text_);
  json.object();
  for (const auto &[node, number] : merged_) {
    if (json.key(node); number.is_count)
      json.integer(number.count);
    else
      json.real(number.real);
  }
  json.end_object();
  put_.run(place.window, place.entity, place.field, std::string_view(text_));
}

}  // namespace atalaya::store
