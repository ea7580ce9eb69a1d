// SPDX-License-Identifier: Apache-2.0
// A row of the table `samples`: those samples of a window whose entities are neighbours, in ascending order of the entities. It has
// all entities of its block and of those up to the window's next row: the first batch of a window writes rows of several blocks; a
// later one first makes a row of each of them.
//
// Its text is a JSON array of groups of samples with the same metrics: [entity, [metric, ...], [sample, ...]]. A sample is a list
// of numbers, or the only number; the next sample is that of the next entity, and null where that one has none. Until schema 8 it
// was an object from entity to an object from metric to number: such rows are read, and are gone when they are packed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

// Reads one sample after another, without reading its numbers; text that is no row ends it, with `damaged`.
class BlockReader {
 public:
  explicit BlockReader(std::string_view text) : text_(text), is_object_(!text.starts_with('[')) {}
  bool next() { return is_object_ ? next_object_member() : next_group_values(); }  // false at the end
  int64_t entity() const { return entity_; }
  SampleFields fields() const { return {fields_, metrics_}; }  // until the next call of `next`
  bool damaged() const { return text_.damaged(); }

 private:
  bool next_object_member();
  bool next_group_values();
  bool begin_group();
  bool take_metrics();
  bool take_sample();

  ObjectReader text_;
  bool is_object_, is_begun_ = false, in_group_ = false, is_over_ = false;
  int64_t entity_ = -1;
  std::vector<int64_t> metrics_;  // of the group
  std::string_view fields_;
};

// Makes the text of a row.
class BlockText {
 public:
  // The next sample, of a greater entity. Without a value it is left out.
  void begin(int64_t entity);
  // Where its next number is appended.
  std::string &value(int64_t metric);
  void end();
  // All fields of a sample; false: it is damaged.
  bool copy(int64_t entity, const SampleFields &fields);

  bool empty() const { return text_.empty(); }
  size_t size() const { return text_.size(); }  // until now
  // The whole text, "[]" without samples. It lives until `clear`, which is the only call then.
  std::string_view finish();
  void clear();

 private:
  void begin_group();

  std::string text_, values_;
  std::vector<int64_t> metrics_, group_;  // of the sample; of the last group
  int64_t entity_ = 0, next_ = 0;         // of the sample; after the last one
};

// The block of the last sample of a row; -1: it is damaged.
int64_t last_block_of(std::string_view text);

// What a row becomes in `out` when the fields of another one are put into it, or are taken out whatever their values are. False:
// one of them is damaged.
enum class BlockChange { put, remove };
bool change_block(std::string_view stored, std::string_view fields, BlockChange change, BlockText &out);

}  // namespace atalaya::store
