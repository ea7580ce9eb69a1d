// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/rows/row_writer.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/base/text/json.h"
#include "plugins/shared/store/sqlite/rows/block.h"

namespace atalaya::store {
namespace {

// SQLite keeps up to 1,002 bytes of a row, with its keys, in a page with other rows. Of a larger one it keeps 489 bytes there:
// where one block is that large, a row of several fills a page of its own.
constexpr size_t kSmallRow = 960, kWideRow = 4500;

}  // namespace

RowWriter::RowWriter(Database &database, Dictionary &dictionary, WindowList &windows)
    : database_(database),
      dictionary_(dictionary),
      windows_(windows),
      find_(database, "SELECT block, fields FROM samples WHERE window = ?1 AND block <= ?2 ORDER BY block DESC LIMIT 1"),
      put_(database, "INSERT OR REPLACE INTO samples(window, block, fields) VALUES(?1, ?2, ?3)"),
      remove_(database, "DELETE FROM samples WHERE window = ?1 AND block = ?2") {}

void RowWriter::write(std::vector<Sample> &samples, int64_t now_ns) {
  const auto earlier = [](const Sample &a, const Sample &b) {
    return std::tie(a.time_ns, a.entity) < std::tie(b.time_ns, b.entity);
  };
  if (!std::is_sorted(samples.begin(), samples.end(), earlier)) std::stable_sort(samples.begin(), samples.end(), earlier);
  in_use_ = 0;
  for (auto begin = samples.begin(); begin != samples.end();) {
    const auto end = std::find_if(begin, samples.end(), [&](const Sample &one) { return earlier(*begin, one); });
    if (begin->time_ns != time_ns_) flush_all();
    time_ns_ = begin->time_ns;
    put_entity({begin, end}, now_ns);
    begin = end;
  }
  flush_all();
}

// From the back: of a field that comes twice the last one counts.
void RowWriter::put_entity(std::span<const Sample> samples, int64_t now_ns) {
  ++number_;
  for (size_t s = samples.size(); s-- > 0;) {
    const atalaya_sample &sample = *samples[s].sample;
    Open &window = open(sample, now_ns);
    for (uint32_t i = sample.field_count; i-- > 0;) {
      const int64_t metric = dictionary_.metric_of(sample.fields[i]);
      if (metric != 0 && !is_given(metric)) put_field(window, samples[s].entity, metric, sample.fields[i]);
    }
  }
  for (size_t i = 0; i < in_use_; ++i)
    if (std::exchange(open_[i].entity, -1) >= 0) open_[i].text.end();
}

RowWriter::Open &RowWriter::open(const atalaya_sample &sample, int64_t now_ns) {
  for (size_t i = 0; i < in_use_; ++i)
    if (open_[i].window.duration_ns == sample.duration_ns) return open_[i];
  if (in_use_ == open_.size()) open_.emplace_back();
  Open &open = open_[in_use_++];
  open.window = windows_.find_or_add(sample.time_ns, sample.duration_ns, now_ns);
  open.entity = -1;
  open.text.clear();
  return open;
}

// As much again as the last block would be too much.
bool RowWriter::is_full(const Open &open) {
  const size_t size = open.text.size(), block = size - open.last_block_begin;
  return size + block > (block > kSmallRow ? kWideRow : kSmallRow);
}

void RowWriter::start_entity(Open &open, int64_t entity) {
  const int64_t block = block_of(entity);
  if (!open.text.empty() && block != open.last_block) {
    if (!open.may_have_wide_rows() || is_full(open)) flush(open);
    open.last_block_begin = open.text.size();
  }
  if (open.text.empty()) {
    open.block = block;
    open.last_block_begin = 0;
  }
  open.last_block = block;
  open.entity = entity;
  open.text.begin(entity);
}

void RowWriter::put_field(Open &open, int64_t entity, int64_t metric, const atalaya_field &field) {
  if (open.entity != entity) start_entity(open, entity);
  std::string &text = open.text.value(metric);
  if (field.type == ATALAYA_I64) {
    core::append_integer(text, field.value.i64);
  } else {
    core::append_real(text, field.value.f64);
  }
}

bool RowWriter::is_given(int64_t metric) {
  const auto place = static_cast<size_t>(metric);
  if (place >= last_seen_.size()) last_seen_.resize(place + 1);
  return std::exchange(last_seen_[place], number_) == number_;
}

void RowWriter::flush_all() {
  for (size_t i = 0; i < in_use_; ++i) flush(open_[i]);
  in_use_ = 0;
}

void RowWriter::flush(Open &open) {
  if (open.text.empty()) return;
  const std::string_view text = open.text.finish();
  const Window &window = open.window;
  if (!window.is_new && read(window.id, open.block)) {
    if (!change_block(stored_, text, BlockChange::put, changed_)) damaged(window.id, open.block);
    put_.run(window.id, open.block, changed_.finish());
  } else {
    put_.run(window.id, open.block, text);
  }
  for (const int64_t other : window.others) {
    if (!read(other, open.block)) continue;
    if (!change_block(stored_, text, BlockChange::remove, changed_)) damaged(other, open.block);
    const bool is_empty = changed_.empty();
    if (const std::string_view rest = changed_.finish(); is_empty) {
      remove_.run(other, open.block);
    } else if (rest != stored_) {
      put_.run(other, open.block, rest);
    }
  }
  open.text.clear();
}

bool RowWriter::read(int64_t window, int64_t block) {
  int64_t found = -1;
  find_.each(
      [&](const Row &row) {
        found = row.integer(0);
        stored_ = row.text(1);
      },
      window, block);
  if (found < 0) return false;
  const int64_t last = last_block_of(stored_);
  if (last == found || last < block) return found == block;
  split(window, found);
  return read(window, block);
}

void RowWriter::split(int64_t window, int64_t first_block) {
  const std::string whole = std::exchange(stored_, {});
  remove_.run(window, first_block);
  int64_t block = -1;
  BlockText part;
  const auto put = [&] {
    if (part.empty()) return;
    put_.run(window, block, part.finish());
    part.clear();
  };
  BlockReader samples(whole);
  bool are_good = true;
  while (samples.next()) {
    if (block != block_of(samples.entity())) put();
    block = block_of(samples.entity());
    are_good = part.copy(samples.entity(), samples.fields()) && are_good;
  }
  if (!are_good || samples.damaged()) damaged(window, first_block);
  put();
}

void RowWriter::damaged(int64_t window, int64_t block) const {
  throw Error(Cause::permanent, "database " + database_.path() + ": the row of window " + std::to_string(window) + ", block " +
                                    std::to_string(block) +
                                    " in the table samples is damaged; end the agent, and run `atalaya store repair`");
}

}  // namespace atalaya::store
