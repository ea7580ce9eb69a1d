// SPDX-License-Identifier: Apache-2.0
// A row of the table `samples`: those samples of a window whose entities are neighbours, in ascending order of the entities. It
// has all entities of its block and of the blocks up to the window's next row: the first batch of a window writes rows of
// several blocks; a later batch first splits such a row into one row per block. Its text is a JSON array of groups of samples
// with the same metrics: [entity, [metric, ...], [sample, ...]]. A sample is a list of numbers, or the only number; the next
// sample is that of the next entity, and null where that one has none. Until schema 8 it was an object from entity to an object
// from metric to number: such rows can be read, and are deleted when they are packed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/sqlite/rows/fields.h"

namespace atalaya::store {

// Number of bits of the entities in a block: a statement per row costs as much as the text of about ten samples, and a reader
// of one sample skips the others. SQL computes `entity >> 5`.
constexpr int kBlockBits = 5;
constexpr int64_t block_of(int64_t entity) {
  return entity >> kBlockBits;
}

// SQL that returns the block of a window's row that has the entities of a block; the block itself if there is none.
std::string first_row_from(const std::string &window, const std::string &block);

// Iterates over the samples of a row without reading their numbers. Ends at text that is not valid, with `damaged`.
class BlockReader {
 public:
  explicit BlockReader(std::string_view text) : text_(text), is_object_(!text.starts_with('[')) {}
  bool next() { return is_object_ ? next_object_member() : next_group_values(); }  // false at the end
  int64_t entity() const { return entity_; }
  SampleFields fields() const { return {fields_, metrics_}; }  // valid until the next call of `next`
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
  std::vector<int64_t> metrics_;  // metrics of the group
  std::string_view fields_;
};

// Writes the text of a row.
class BlockText {
 public:
  // Starts the next sample, which must have a greater entity. A sample without a value is omitted.
  void begin(int64_t entity);
  // Returns the text to which its next number must be appended.
  std::string &value(int64_t metric);
  void end();
  // Copies all fields of a sample. False: the sample is damaged.
  bool copy(int64_t entity, const SampleFields &fields);

  bool empty() const { return text_.empty(); }
  size_t size() const { return text_.size(); }  // size of the text so far
  // Returns the complete text, "[]" without samples. It is valid until `clear`, the only call that may follow.
  std::string_view finish();
  void clear();

 private:
  void begin_group();

  std::string text_, values_;
  std::vector<int64_t> metrics_, group_;  // metrics of the sample; metrics of the last group
  int64_t entity_ = 0, next_ = 0;         // entity of the sample; the entity after the last one
};

// Returns the block of the last sample of a row; -1: the row is damaged.
int64_t last_block_of(std::string_view text);

// Computes the row `out` from a row after the fields of another row are added, or are removed whatever their values. False: one
// of the rows is damaged.
enum class BlockChange { put, remove };
bool change_block(std::string_view stored, std::string_view fields, BlockChange change, BlockText &out);

}  // namespace atalaya::store
