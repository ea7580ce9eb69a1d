// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/rows/block.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <system_error>
#include <vector>

#include "core/base/json.h"

namespace atalaya::store {
namespace {

struct Sample {
  int64_t entity = 0;
  std::string_view fields;
};

bool read(std::string_view block, std::vector<Sample> &samples) {
  BlockReader reader(block);
  while (reader.next()) samples.push_back({reader.entity(), reader.fields()});
  return !reader.damaged();
}

bool read_metrics(std::string_view fields, std::vector<int64_t> &metrics) {
  FieldReader reader(fields);
  while (reader.next()) metrics.push_back(reader.metric());
  return !reader.damaged();
}

std::string_view inside(std::string_view fields) {
  return fields.substr(1, fields.size() - 2);
}

// The fields of metrics that are not in the list.
bool append_others(std::string_view fields, const std::vector<int64_t> &metrics, std::string &out) {
  FieldReader reader(fields);
  while (reader.next()) {
    if (std::find(metrics.begin(), metrics.end(), reader.metric()) != metrics.end()) continue;
    if (out.back() != '{') out += ',';
    out += reader.text();
  }
  return !reader.damaged();
}

}  // namespace

std::string first_row_from(const std::string &window, const std::string &block) {
  return "coalesce((SELECT p.block FROM samples p WHERE p.window = " + window + " AND p.block <= " + block +
         " ORDER BY p.block DESC LIMIT 1), " + block + ")";
}

bool BlockReader::next() {
  const int64_t before = object_.key();
  if (!object_.next_key()) return false;
  // Readers of some of the samples rely on the order.
  if (!object_.is_first() && object_.key() <= before) return object_.fail();
  const char *begin = object_.at();
  if (!object_.take('{')) return object_.fail();
  const void *close = std::memchr(object_.at(), '}', object_.left());
  if (close == nullptr) return object_.fail();
  const char *end = static_cast<const char *>(close) + 1;
  object_.move_to(end);
  fields_ = {begin, static_cast<size_t>(end - begin)};
  return true;
}

int64_t last_block_of(std::string_view text) {
  constexpr std::string_view border = "},\"", begin = "{\"";
  const size_t last = text.rfind(border);
  if (last == std::string_view::npos && !text.starts_with(begin)) return -1;
  text.remove_prefix(last == std::string_view::npos ? begin.size() : last + border.size());
  int64_t entity = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), entity).ec != std::errc{} || entity < 0) return -1;
  return block_of(entity);
}

bool change_block(std::string_view stored, std::string_view fields, BlockChange change, std::string &out) {
  std::vector<Sample> old, fresh;
  if (!read(stored, old) || !read(fields, fresh)) return false;
  std::vector<int64_t> metrics;
  out = '{';
  for (auto o = old.begin(), f = fresh.begin(); o != old.end() || f != fresh.end();) {
    const bool is_old = o != old.end() && (f == fresh.end() || o->entity <= f->entity);
    const bool is_fresh = f != fresh.end() && (o == old.end() || f->entity <= o->entity);
    const size_t size = out.size();
    out += size > 1 ? ",\"" : "\"";
    core::append_integer(out, is_old ? o->entity : f->entity);
    out += "\":{";
    const size_t begin = out.size();
    metrics.clear();
    if (is_fresh && !read_metrics(f->fields, metrics)) return false;
    if (is_fresh && change == BlockChange::put) out += inside(f->fields);
    if (is_old && !is_fresh) {
      out += inside(o->fields);  // whatever it is: nobody touches it
    } else if (is_old && !append_others(o->fields, metrics, out)) {
      return false;
    }
    if (out.size() > begin) {
      out += '}';
    } else {
      out.resize(size);
    }
    if (is_old) ++o;
    if (is_fresh) ++f;
  }
  out += '}';
  return true;
}

}  // namespace atalaya::store
