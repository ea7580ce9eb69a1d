// SPDX-License-Identifier: Apache-2.0
#include "plugins/store/entities.h"

#include <array>
#include <optional>

#include "core/sample/json.h"

namespace atalaya::store {
namespace {

// One row after another of the entities, from the cheap columns to the object of the other tags.
class Finder {
 public:
  Finder(Database &database, const Selection &selection, const Wanted &wanted, const EntityVisitor &visitor)
      : database_(database),
        range_(selection.range),
        wanted_(wanted),
        visitor_(visitor),
        tags_(selection.tags),
        other_tags_(database, "SELECT key, value FROM json_each(?1)") {
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
    constexpr std::array<const char *, 3> kColumns = {"host", "pid", "process"};
    for (size_t i = 0; i < kColumns.size(); ++i) {
      const auto column = static_cast<int>(i + 1);
      if (row.type(column) != SQLITE_NULL) entity.tags.emplace(kColumns.at(i), row.text(column));
    }
    if (row.text(4) != "{}") add_other_tags(entity.tags, row.text(4));
    if (tags_.accept(entity.tags)) visitor_(row.integer(0), std::move(entity));
  }
  void add_other_tags(Tags &tags, std::string_view json) {
    other_tags_.each([&](const Row &row) { tags.insert_or_assign(std::string(row.text(0)), std::string(row.text(1))); }, json);
  }

  Database &database_;
  Range range_;
  const Wanted &wanted_;
  const EntityVisitor &visitor_;
  TagMatchers tags_;
  Statement other_tags_;
  std::optional<std::string> processes_;
};

}  // namespace

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
