// SPDX-License-Identifier: Apache-2.0
#include "plugins/store/stack_tree.h"

#include <algorithm>

namespace atalaya::store {
namespace {

constexpr int64_t kHour = 3'600'000'000'000;
// seen_h is set so far ahead, so that it is written once a day.
constexpr int64_t kAheadHours = 24;
constexpr size_t kRemembered = 200'000;  // nodes, and frames; some 10 MB each
constexpr int64_t kLookAt = 4096;
constexpr size_t kDeepest = 64 << 10;  // a chain that is longer is none

}  // namespace

StackTree::StackTree(Database &database)
    : database_(database),
      find_frame_(database, "SELECT id, seen_h FROM frames WHERE name = ?1"),
      add_frame_(database, "INSERT INTO frames(name, seen_h) VALUES(?1, ?2)"),
      see_frame_(database, "UPDATE frames SET seen_h = ?2 WHERE id = ?1"),
      last_frame_(database, "SELECT max(id) FROM (SELECT id FROM frames WHERE id > ?1 ORDER BY id LIMIT ?2)"),
      expire_frames_(database, "DELETE FROM frames WHERE id > ?1 AND id <= ?2 AND seen_h < ?3"),
      find_node_(database, "SELECT id, seen_h FROM stack_nodes WHERE parent = ?1 AND frame = ?2"),
      add_node_(database, "INSERT INTO stack_nodes(parent, frame, seen_h) VALUES(?1, ?2, ?3)"),
      see_node_(database, "UPDATE stack_nodes SET seen_h = ?2 WHERE id = ?1"),
      last_node_(database, "SELECT max(id) FROM (SELECT id FROM stack_nodes WHERE id > ?1 ORDER BY id LIMIT ?2)"),
      expire_nodes_(database, "DELETE FROM stack_nodes WHERE id > ?1 AND id <= ?2 AND seen_h < ?3") {}

size_t StackTree::StepHash::operator()(const Step &step) const {
  return static_cast<size_t>(static_cast<uint64_t>(step.parent) * 0x9e3779b97f4a7c15u ^ static_cast<uint64_t>(step.frame));
}

int64_t StackTree::node(std::string_view folded, int64_t now_ns) {
  if (frames_.size() > kRemembered || nodes_.size() > kRemembered) forget();
  const int64_t now_h = std::max(now_ns / kHour, expired_h_);
  int64_t parent = 0;
  for (size_t begin = 0; begin <= folded.size();) {
    const size_t end = std::min(folded.find(';', begin), folded.size());
    parent = child({parent, frame(folded.substr(begin, end - begin), now_h).id}, now_h);
    begin = end + 1;
  }
  return parent;
}

const StackTree::Known &StackTree::frame(std::string_view name, int64_t now_h) {
  auto found = frames_.find(name);
  if (found != frames_.end() && found->second.seen_h > now_h) return found->second;
  Known known;
  find_frame_.each([&](const Row &row) { known = {row.integer(0), row.integer(1)}; }, name);
  if (known.id == 0) {
    known.seen_h = now_h + kAheadHours;
    add_frame_.run(name, known.seen_h);
    known.id = database_.last_id();
  } else if (known.seen_h <= now_h) {
    known.seen_h = now_h + kAheadHours;
    see_frame_.run(known.id, known.seen_h);
  }
  return frames_.insert_or_assign(std::string(name), known).first->second;
}

int64_t StackTree::child(const Step &step, int64_t now_h) {
  const auto found = nodes_.find(step);
  if (found != nodes_.end() && found->second.seen_h > now_h) return found->second.id;
  Known known;
  find_node_.each([&](const Row &row) { known = {row.integer(0), row.integer(1)}; }, step.parent, step.frame);
  if (known.id == 0) {
    known.seen_h = now_h + kAheadHours;
    add_node_.run(step.parent, step.frame, known.seen_h);
    known.id = database_.last_id();
  } else if (known.seen_h <= now_h) {
    known.seen_h = now_h + kAheadHours;
    see_node_.run(known.id, known.seen_h);
  }
  nodes_.insert_or_assign(step, known);
  return known.id;
}

void StackTree::forget() {
  frames_.clear();
  nodes_.clear();
}

// A stack that is seen has all its nodes and frames seen: none of them goes before the last row that refers to it.
void StackTree::expire(int64_t oldest_arrived_ns) {
  const int64_t oldest_h = oldest_arrived_ns / kHour;
  expired_h_ = std::max(expired_h_, oldest_h);
  const auto look = [&](Statement &last, Statement &remove, int64_t &at) {
    const int64_t end = last.number(at, kLookAt).value_or(0);
    if (end > 0) remove.run(at, end, oldest_h);
    at = end;
  };
  look(last_node_, expire_nodes_, at_node_);
  look(last_frame_, expire_frames_, at_frame_);
}

StackTexts::StackTexts(Database &database)
    : find_node_(database, "SELECT parent, frame FROM stack_nodes WHERE id = ?1"),
      find_frame_(database, "SELECT name FROM frames WHERE id = ?1") {}

std::string_view StackTexts::text(int64_t id) {
  if (nodes_.size() > kRemembered) nodes_.clear();
  if (frames_.size() > kRemembered) frames_.clear();
  path_.clear();
  for (int64_t at = id; at != 0 && path_.size() < kDeepest; at = node(at).parent) path_.push_back(node(at).frame);
  text_.clear();
  for (size_t i = path_.size(); i-- > 0;) {
    text_ += frame(path_[i]);
    if (i > 0) text_ += ';';
  }
  return text_;
}

const StackTexts::Node &StackTexts::node(int64_t id) {
  const auto [place, is_new] = nodes_.try_emplace(id);
  if (is_new) find_node_.each([&known = place->second](const Row &row) { known = {row.integer(0), row.integer(1)}; }, id);
  return place->second;
}

const std::string &StackTexts::frame(int64_t id) {
  const auto [place, is_new] = frames_.try_emplace(id);
  if (is_new) find_frame_.each([&known = place->second](const Row &row) { known = row.text(0); }, id);
  return place->second;
}

}  // namespace atalaya::store
