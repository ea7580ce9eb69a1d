// SPDX-License-Identifier: Apache-2.0
// A row of the table `samples`: those samples of a window whose entities are neighbours, as a JSON object from entity to its
// fields, in ascending order of the entities.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plugins/shared/store/sqlite/rows/fields.h"

namespace atalaya::store {

// A block holds so many neighbours: a statement a row costs as much as the text of some ten samples, and who wants one sample has
// to step over the others. SQL says `entity >> 5`.
constexpr int kBlockBits = 5;
constexpr int64_t block_of(int64_t entity) {
  return entity >> kBlockBits;
}

// Reads one sample after another, without reading its fields; text that is no such object ends it, with `damaged`.
class BlockReader {
 public:
  explicit BlockReader(std::string_view text) : object_(text) {}
  bool next();  // false at the end
  int64_t entity() const { return object_.key(); }
  std::string_view fields() const { return fields_; }
  bool damaged() const { return object_.damaged(); }

 private:
  ObjectReader object_;
  std::string_view fields_;
};

// What a block becomes in `out` when the fields of another one are put into it, or are taken out whatever their values are. An
// entity without fields is left out; "{}" if none is left. False: one of them is damaged.
enum class BlockChange { put, remove };
bool change_block(std::string_view stored, std::string_view fields, BlockChange change, std::string &out);

}  // namespace atalaya::store
