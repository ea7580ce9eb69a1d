// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/rows/row_old.h"

#include "core/base/json.h"
#include "plugins/shared/store/sqlite/rows/block.h"

namespace atalaya::store {

OldRows::OldRows(Database &database, Dictionary &dictionary)
    : dictionary_(dictionary),
      find_(database, "SELECT entity, fields FROM old_samples WHERE window = ?1"),
      add_(database, "INSERT INTO samples(window, block, fields) VALUES(?1, ?2, ?3)"),
      remove_(database, "DELETE FROM old_samples WHERE window = ?1 AND entity = ?2"),
      any_(database, "SELECT 1 FROM old_samples LIMIT 1"),
      end_lists_(database, "DELETE FROM entity_shapes WHERE shape = 0"),
      end_shape_(database, "DELETE FROM shapes WHERE id = 0"),
      last_window_(database.number("SELECT max(window) FROM old_samples")),
      was_listing_(database.number("SELECT EXISTS (SELECT 1 FROM shapes WHERE id = 0)") != 0),
      is_listing_(was_listing_) {
  end_listing();  // retention may have deleted the last of them
}

bool OldRows::move(int64_t window) {
  if (window > last_window_) return true;
  read(window);
  for (size_t begin = 0, end = 0; begin < rows_.size(); begin = end) {
    text_ = '{';
    for (; end < rows_.size() && block_of(rows_[end].entity) == block_of(rows_[begin].entity); ++end) {
      text_ += text_.size() > 1 ? ",\"" : "\"";
      core::append_integer(text_, rows_[end].entity);
      text_ += "\":";
      text_ += rows_[end].fields;
      remove_.run(window, rows_[end].entity);
    }
    text_ += '}';
    add_.run(window, block_of(rows_[begin].entity), std::string_view(text_));
  }
  if (!rows_.empty()) end_listing();
  return are_good_;
}

// Those that are good: a damaged one would take its neighbours with it.
void OldRows::read(int64_t window) {
  rows_.clear();
  are_good_ = true;
  find_.each(
      [&](const Row &row) {
        shape_ = '[';
        FieldReader reader(row.text(1));
        while (reader.next()) {
          if (shape_.size() > 1) shape_ += ',';
          core::append_integer(shape_, reader.metric());
        }
        shape_ += ']';
        are_good_ = are_good_ && !reader.damaged();
        if (reader.damaged()) return;
        rows_.push_back({row.integer(0), std::string(row.text(1))});
        if (is_listing_) dictionary_.list(row.integer(0), shape_);
      },
      window);
}

void OldRows::end_listing() {
  if (!is_listing_ || any_.number()) return;
  end_lists_.run();
  end_shape_.run();
  is_listing_ = false;
}

}  // namespace atalaya::store
