// SPDX-License-Identifier: Apache-2.0
// A row of the table `samples`: those samples of a window whose entities are neighbours, as a JSON object from entity to its
// fields, in ascending order of the entities. It has all entities of its block and of those up to the window's next row: the first
// batch of a window writes rows of several blocks, as long as they are small; a later one first makes a row of each of them.
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

// SQL: the block of the row of a window that has the entities of a block; the block itself if there is none.
std::string first_row_from(const std::string &window, const std::string &block);

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

// The block of the last sample of a row, from its end; -1: it is damaged there.
int64_t last_block_of(std::string_view text);

// What a block becomes in `out` when the fields of another one are put into it, or are taken out whatever their values are. An
// entity without fields is left out; "{}" if none is left. False: one of them is damaged.
enum class BlockChange { put, remove };
bool change_block(std::string_view stored, std::string_view fields, BlockChange change, std::string &out);

}  // namespace atalaya::store
