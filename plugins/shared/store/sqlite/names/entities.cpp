// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/names/entities.h"

#include <array>
#include <iterator>
#include <optional>

#include "core/base/text/json_writer.h"

namespace atalaya::store {
namespace {

// A text in quotes, without an escape, from `at` on, which moves behind it. False: something else is there.
bool take_text(std::string_view json, size_t &at, std::string_view &text) {
  if (at >= json.size() || json[at] != '"') return false;
  const size_t end = json.find('"', at + 1);
  if (end == std::string_view::npos) return false;
  text = json.substr(at + 1, end - at - 1);
  at = end + 1;
  return true;
}

constexpr std::array<std::string_view, 3> kColumns = {"host", "pid", "process"};

// One row after another of the entities, from the cheap columns to the object of the other tags.
class Finder {
 public:
  Finder(Database &database, const char *from, const Selection &selection, const Wanted &wanted, const EntityVisitor &visitor)
      : database_(database),
        from_(from),
        range_(selection.range),
        wanted_(wanted),
        visitor_(visitor),
        tags_(selection.tags),
        entity_tags_(database) {
    for (const TagFilter &filter : selection.tags)
      if (filter.key == "process") processes_ = exact_texts(filter.patterns);
  }

  void find() {
    const std::string columns = "SELECT id, host, pid, process, tags, coalesce(first_ns, ?1), coalesce(last_ns, ?2) FROM ";
    Statement statement(database_, columns + (processes_ ? "entities WHERE process IN (SELECT value FROM json_each(?3))"
                                                         : std::string(from_) + " WHERE ?3 IS NULL"));
    statement.for_each_while([&](const Row &row) { return look_at(row); }, Range{}.from_ns, Range{}.to_ns, processes_);
  }

 private:
  bool look_at(const Row &row) {
    const Range active{row.integer(5), row.integer(6)};
    if (active.to_ns <= range_.from_ns || active.from_ns > range_.to_ns) return true;
    if (!wanted_(row.integer(0))) return true;
    const Tags &tags = entity_tags_.read(row, 1);
    return !tags_.accept(tags) || visitor_(row.integer(0), {tags, active});
  }

  Database &database_;
  const char *from_;
  Range range_;
  const Wanted &wanted_;
  const EntityVisitor &visitor_;
  TagMatchers tags_;
  EntityTags entity_tags_;
  std::optional<std::string> processes_;
};

}  // namespace

// False: it does not come after the last one.
bool EntityTags::put(std::string_view key, std::string_view value) {
  if (next_ == tags_.end() || next_->first != key) {
    while (next_ != tags_.end() && next_->first < key) next_ = tags_.erase(next_);
    if (next_ != tags_.begin() && key <= std::prev(next_)->first) return false;
    if (next_ == tags_.end() || next_->first != key) next_ = tags_.emplace_hint(next_, key, "");
  }
  next_->second.assign(value);
  ++next_;
  return true;
}

// Entities that follow each other mostly have the same keys: their texts take the places of the last ones', and nothing is
// allocated. An object of texts without spaces and escapes, in the order of keys, as nearly all are written. False: it has to be
// read in full.
bool EntityTags::refill(const Row &row, int first) {
  const std::string_view json = row.text(first + 3);
  if (json.size() < 2 || json.front() != '{' || json.back() != '}' || json.find('\\') != std::string_view::npos) return false;
  next_ = tags_.begin();
  size_t column = 0;
  const auto put_columns = [&](std::string_view before) {
    for (; column < kColumns.size() && (before.empty() || kColumns.at(column) < before); ++column) {
      const int number = first + static_cast<int>(column);
      if (row.type(number) != SQLITE_NULL && !put(kColumns.at(column), row.text(number))) return false;
    }
    return true;
  };
  std::string_view key, value;
  for (size_t at = 1; at + 1 < json.size(); ++at) {
    if (!take_text(json, at, key) || json[at] != ':' || !take_text(json, ++at, value)) return false;
    if (json[at] != ',' && at + 1 != json.size()) return false;
    if (key.empty() || !put_columns(key) || !put(key, value)) return false;
  }
  if (!put_columns("")) return false;
  tags_.erase(next_, tags_.end());
  return true;
}

const Tags &EntityTags::read(const Row &row, int first) {
  if (refill(row, first)) return tags_;
  tags_.clear();
  other_tags_.each([&](const Row &one) { tags_.insert_or_assign(std::string(one.text(0)), std::string(one.text(1))); },
                   row.text(first + 3));
  for (size_t i = 0; i < kColumns.size(); ++i) {
    const int column = first + static_cast<int>(i);
    if (row.type(column) != SQLITE_NULL) tags_.insert_or_assign(std::string(kColumns.at(i)), std::string(row.text(column)));
  }
  return tags_;
}

std::optional<std::string> exact_texts(const std::vector<std::string> &patterns) {
  if (patterns.empty()) return std::nullopt;
  core::JsonWriter texts;
  texts.list();
  for (const std::string &pattern : patterns) {
    const auto matcher = io::Matcher::parse(pattern);
    if (!matcher || !matcher.value().exact()) return std::nullopt;
    texts.text(matcher.value().exact_text());
  }
  return texts.end_list().take();
}

// Of jobs there are millions of entities that have spans only.
void for_each_with_metrics(Database &database, const Selection &selection, const Wanted &wanted, const EntityVisitor &visitor) {
  Finder(database, "(SELECT DISTINCT entity FROM entity_shapes) CROSS JOIN entities ON id = entity", selection, wanted, visitor)
      .find();
}

Entities find_entities(Database &database, const Selection &selection) {
  Entities found;
  const auto add = [&](int64_t id, Entity &&entity) {
    found.emplace_hint(found.end(), id, std::move(entity));
    return true;
  };
  Finder(
      database, "entities", selection, [](int64_t) { return true; }, add)
      .find();
  return found;
}

}  // namespace atalaya::store
