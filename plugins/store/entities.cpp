// SPDX-License-Identifier: Apache-2.0
#include "plugins/store/entities.h"

#include <array>
#include <optional>

#include "core/sample/json.h"

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

// An object of texts without spaces and escapes, as nearly all are written. False: it has to be read in full.
bool take_plain(std::string_view json, Tags &tags) {
  if (json.size() < 2 || json.front() != '{' || json.back() != '}' || json.find('\\') != std::string_view::npos) return false;
  std::string_view key, value;
  for (size_t at = 1; at + 1 < json.size(); ++at) {
    if (!take_text(json, at, key) || json[at] != ':' || !take_text(json, ++at, value)) return false;
    if (json[at] != ',' && at + 1 != json.size()) return false;
    tags.emplace(key, value);
  }
  return true;
}

// One row after another of the entities, from the cheap columns to the object of the other tags.
class Finder {
 public:
  Finder(Database &database, const Selection &selection, const Wanted &wanted, const EntityVisitor &visitor)
      : database_(database),
        range_(selection.range),
        wanted_(wanted),
        visitor_(visitor),
        tags_(selection.tags),
        entity_tags_(database) {
    for (const TagFilter &filter : selection.tags)
      if (filter.key == "process") processes_ = exact_texts(filter.patterns);
  }

  void find() {
    const std::string columns = "SELECT id, host, pid, process, tags, coalesce(first_ns, ?1), coalesce(last_ns, ?2) FROM entities ";
    Statement statement(database_,
                        columns + (processes_ ? "WHERE process IN (SELECT value FROM json_each(?3))" : "WHERE ?3 IS NULL"));
    statement.each([&](const Row &row) { look_at(row); }, Range{}.from_ns, Range{}.to_ns, processes_);
  }

 private:
  void look_at(const Row &row) {
    Entity entity{{}, {row.integer(5), row.integer(6)}};
    if (entity.active.to_ns <= range_.from_ns || entity.active.from_ns > range_.to_ns) return;
    if (!wanted_(row.integer(0))) return;
    entity.tags = entity_tags_.read(row, 1);
    if (tags_.accept(entity.tags)) visitor_(row.integer(0), std::move(entity));
  }

  Database &database_;
  Range range_;
  const Wanted &wanted_;
  const EntityVisitor &visitor_;
  TagMatchers tags_;
  EntityTags entity_tags_;
  std::optional<std::string> processes_;
};

}  // namespace

Tags EntityTags::read(const Row &row, int first) {
  const std::string_view json = row.text(first + 3);
  Tags tags;
  if (!take_plain(json, tags)) {
    tags.clear();
    other_tags_.each([&](const Row &one) { tags.insert_or_assign(std::string(one.text(0)), std::string(one.text(1))); }, json);
  }
  constexpr std::array<const char *, 3> kColumns = {"host", "pid", "process"};
  for (size_t i = 0; i < kColumns.size(); ++i) {
    const int column = first + static_cast<int>(i);
    if (row.type(column) != SQLITE_NULL) tags.insert_or_assign(kColumns.at(i), std::string(row.text(column)));
  }
  return tags;
}

std::optional<std::string> exact_texts(const std::vector<std::string> &patterns) {
  if (patterns.empty()) return std::nullopt;
  std::string texts = "[";
  for (const std::string &pattern : patterns) {
    const auto matcher = core::Matcher::parse(pattern);
    if (!matcher || !matcher.value().exact()) return std::nullopt;
    if (texts.size() > 1) texts += ',';
    core::append_json_string(texts, matcher.value().exact_text());
  }
  return texts + "]";
}

void each_entity(Database &database, const Selection &selection, const Wanted &wanted, const EntityVisitor &visitor) {
  Finder(database, selection, wanted, visitor).find();
}

Entities find_entities(Database &database, const Selection &selection) {
  Entities found;
  each_entity(
      database, selection, [](int64_t) { return true; },
      [&](int64_t id, Entity &&entity) { found.emplace_hint(found.end(), id, std::move(entity)); });
  return found;
}

}  // namespace atalaya::store
