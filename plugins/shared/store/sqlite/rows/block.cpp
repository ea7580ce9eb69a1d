// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/rows/block.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/base/text/json.h"

namespace atalaya::store {
namespace {

// Larger entities are refused: those of the samples after it must not overflow.
constexpr int64_t kMaxEntity = int64_t{1} << 62;
constexpr std::string_view kNone = "null";
// Size of a new group without its metrics, and of each metric: entities without a sample that take more bytes start a new group.
constexpr int64_t kGroupBytes = 12, kMetricBytes = 3;

}  // namespace

std::string first_row_from(const std::string &window, const std::string &block) {
  return "coalesce((SELECT p.block FROM samples p WHERE p.window = " + window + " AND p.block <= " + block +
         " ORDER BY p.block DESC LIMIT 1), " + block + ")";
}

bool BlockReader::next_object_member() {
  if (!text_.next_key()) return false;
  // Readers of some of the samples rely on the order.
  if (text_.key() <= entity_ || text_.key() >= kMaxEntity) return text_.fail();
  entity_ = text_.key();
  const char *begin = text_.position();
  if (!text_.accept('{')) return text_.fail();
  const void *close = std::memchr(text_.position(), '}', text_.remaining());
  if (close == nullptr) return text_.fail();
  const char *end = static_cast<const char *>(close) + 1;
  text_.move_to(end);
  fields_ = {begin, static_cast<size_t>(end - begin)};
  return true;
}

bool BlockReader::next_group_values() {
  while (!text_.damaged() && !is_over_) {
    if (!in_group_) {
      if (!begin_group()) return false;
    } else if (text_.accept(']')) {
      in_group_ = false;
      if (!text_.accept(']')) return text_.fail();
      continue;
    } else if (!text_.accept(',')) {
      return text_.fail();
    }
    ++entity_;
    if (!std::string_view(text_.position(), text_.remaining()).starts_with(kNone)) return take_sample();
    text_.move_to(text_.position() + kNone.size());
  }
  return false;
}

// False: the text ends, or is damaged.
bool BlockReader::begin_group() {
  const bool is_first = !std::exchange(is_begun_, true);
  if (is_first) text_.accept('[');
  if (text_.accept(']')) {
    is_over_ = true;
    return text_.remaining() == 0 ? false : text_.fail();
  }
  if (!is_first && !text_.accept(',')) return text_.fail();
  int64_t first = 0;
  const bool is_group = text_.accept('[') && text_.accept_integer(first) && text_.accept(',') && take_metrics() &&
                        text_.accept(',') && text_.accept('[') && first > entity_ && first < kMaxEntity;
  if (!is_group) return text_.fail();
  entity_ = first - 1;
  in_group_ = true;
  return true;
}

bool BlockReader::take_metrics() {
  metrics_.clear();
  if (!text_.accept('[')) return false;
  do {
    int64_t metric = 0;
    if (!text_.accept_integer(metric)) return false;
    metrics_.push_back(metric);
  } while (text_.accept(','));
  return text_.accept(']');
}

bool BlockReader::take_sample() {
  const char *const begin = text_.position(), *const all_end = begin + text_.remaining();
  const char *end = begin;
  if (metrics_.size() > 1) {
    const void *close = text_.remaining() > 0 && *begin == '[' ? std::memchr(begin, ']', text_.remaining()) : nullptr;
    if (close == nullptr) return text_.fail();
    end = static_cast<const char *>(close) + 1;
  } else {
    while (end < all_end && *end != ',' && *end != ']') ++end;
  }
  text_.move_to(end);
  fields_ = {begin, static_cast<size_t>(end - begin)};
  return true;
}

void BlockText::begin(int64_t entity) {
  entity_ = entity;
  metrics_.clear();
  values_.clear();
}

std::string &BlockText::value(int64_t metric) {
  if (!metrics_.empty()) values_ += ',';
  metrics_.push_back(metric);
  return values_;
}

void BlockText::end() {
  if (metrics_.empty()) return;
  const int64_t gap = entity_ - next_;
  const int64_t worth = kGroupBytes + kMetricBytes * static_cast<int64_t>(metrics_.size());
  if (text_.empty() || metrics_ != group_ || gap > worth / static_cast<int64_t>(kNone.size() + 1)) {
    begin_group();
  } else {
    text_ += ',';
    for (int64_t i = 0; i < gap; ++i) (text_ += kNone) += ',';
  }
  const bool is_list = metrics_.size() > 1;
  if (is_list) text_ += '[';
  text_ += values_;
  if (is_list) text_ += ']';
  next_ = entity_ + 1;
}

void BlockText::begin_group() {
  text_ += text_.empty() ? "[[" : "]],[";
  core::append_integer(text_, entity_);
  text_ += ",[";
  for (const int64_t metric : metrics_) {
    core::append_integer(text_, metric);
    text_ += ',';
  }
  text_.back() = ']';
  text_ += ",[";
  group_ = metrics_;
}

bool BlockText::copy(int64_t entity, const SampleFields &fields) {
  begin(entity);
  FieldReader reader(fields);
  while (reader.next()) value(reader.metric()) += reader.value_text();
  end();
  return !reader.damaged();
}

std::string_view BlockText::finish() {
  text_ += text_.empty() ? "[]" : "]]]";
  return text_;
}

void BlockText::clear() {
  text_.clear();
}

int64_t last_block_of(std::string_view text) {
  BlockReader samples(text);
  int64_t last = -1;
  while (samples.next()) last = block_of(samples.entity());
  return samples.damaged() ? -1 : last;
}

bool change_block(std::string_view stored, std::string_view fields, BlockChange change, BlockText &out) {
  BlockReader old(stored), fresh(fields);
  std::vector<int64_t> replaced;
  bool has_old = old.next(), has_fresh = fresh.next();
  out.clear();
  while (has_old || has_fresh) {
    const bool is_old = has_old && (!has_fresh || old.entity() <= fresh.entity());
    const bool is_fresh = has_fresh && (!has_old || fresh.entity() <= old.entity());
    replaced.clear();
    out.begin(is_old ? old.entity() : fresh.entity());
    if (is_fresh) {
      FieldReader reader(fresh.fields());
      for (; reader.next(); replaced.push_back(reader.metric()))
        if (change == BlockChange::put) out.value(reader.metric()) += reader.value_text();
      if (reader.damaged()) return false;
      has_fresh = fresh.next();
    }
    if (is_old) {
      FieldReader reader(old.fields());
      while (reader.next())
        if (std::find(replaced.begin(), replaced.end(), reader.metric()) == replaced.end())
          out.value(reader.metric()) += reader.value_text();
      if (reader.damaged()) return false;
      has_old = old.next();
    }
    out.end();
  }
  return !old.damaged() && !fresh.damaged();
}

}  // namespace atalaya::store
