// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/stacks/stack_tree.h"

#include <algorithm>

#include "plugins/shared/store/identity.h"

namespace atalaya::store {
namespace {

constexpr int64_t kHour = 3'600'000'000'000;
// seen_h is set so far ahead, so that it is written once a day.
constexpr int64_t kAheadHours = 24;
constexpr size_t kRemembered = 32 << 20;  // bytes
constexpr size_t kEntry = 64;             // of a cached one, without its name
constexpr int64_t kLookAt = 4096;
// A byte that is no UTF-8 becomes three.
constexpr size_t kMaxTextLength = kTruncated.size() + 1 + 3 * kMaxStackLength;

// The frames of a folded stack, from the root on.
class Frames {
 public:
  explicit Frames(std::string_view folded) : folded_(folded) {}
  bool next() {
    if (at_ > folded_.size()) return false;
    const size_t end = std::min(folded_.find(';', at_), folded_.size());
    name_ = folded_.substr(at_, end - at_);
    at_ = end + 1;
    return true;
  }
  std::string_view name() const { return name_; }

 private:
  std::string_view folded_, name_;
  size_t at_ = 0;
};

// The whole frames at the leaf end that are not too many and not too long; nothing where even the last one is too long.
std::optional<std::string_view> leaf_end(std::string_view folded) {
  if (folded.size() > kMaxStackLength) {
    const size_t border = folded.find(';', folded.size() - kMaxStackLength - 1);
    if (border == std::string_view::npos) return std::nullopt;
    folded.remove_prefix(border + 1);
  }
  for (auto borders = static_cast<size_t>(std::count(folded.begin(), folded.end(), ';')); borders >= kMaxFrames; --borders)
    folded.remove_prefix(folded.find(';') + 1);
  return folded;
}

}  // namespace

StackTree::Table::Table(Database &database, const std::string &name, const std::string &key, const std::string &values)
    : find(database, "SELECT id, seen_h FROM " + name + " WHERE (" + key + ") = (" + values + ")"),
      add(database, "INSERT INTO " + name + "(" + key + ", seen_h) VALUES(" + values + ", ?)"),
      see(database, "UPDATE " + name + " SET seen_h = ?2 WHERE id = ?1"),
      last(database, "SELECT max(id) FROM (SELECT id FROM " + name + " WHERE id > ?1 ORDER BY id LIMIT ?2)"),
      expire(database, "DELETE FROM " + name + " WHERE id > ?1 AND id <= ?2 AND seen_h < ?3") {}

StackTree::StackTree(Database &database)
    : database_(database),
      frame_table_(database, "frames", "name", "?"),
      node_table_(database, "stack_nodes", "parent, frame", "?, ?") {}

size_t StackTree::StepHash::operator()(const Step &step) const {
  return static_cast<size_t>(static_cast<uint64_t>(step.parent) * 0x9e3779b97f4a7c15u ^ static_cast<uint64_t>(step.frame));
}

StackTree::Stack StackTree::put(std::string_view folded, int64_t now_ns) {
  if (bytes_ > kRemembered) forget();
  const int64_t now_h = std::max(now_ns / kHour, expired_h_);
  const auto kept = leaf_end(folded);
  Stack stack{0, kept && kept->size() == folded.size()};
  if (!stack.is_whole) stack.node = child({0, frame(kTruncated, now_h)}, now_h);
  if (!kept) return stack;
  for (Frames frames(valid_utf8(*kept, scratch_)); frames.next();)
    stack.node = child({stack.node, frame(frames.name(), now_h)}, now_h);
  return stack;
}

int64_t StackTree::frame(std::string_view name, int64_t now_h) {
  const auto found = frames_.find(name);
  if (found != frames_.end() && found->second.seen_h > now_h) return found->second.id;
  const Known known = find_or_add(frame_table_, now_h, name);
  frames_.insert_or_assign(std::string(name), known);
  bytes_ += kEntry + name.size();
  return known.id;
}

int64_t StackTree::child(const Step &step, int64_t now_h) {
  const auto found = nodes_.find(step);
  if (found != nodes_.end() && found->second.seen_h > now_h) return found->second.id;
  const Known known = find_or_add(node_table_, now_h, step.parent, step.frame);
  nodes_.insert_or_assign(step, known);
  bytes_ += kEntry;
  return known.id;
}

template <class... Key>
StackTree::Known StackTree::find_or_add(Table &table, int64_t now_h, const Key &...key) {
  Known known;
  table.find.each([&](const Row &row) { known = {row.integer(0), row.integer(1)}; }, key...);
  if (known.id != 0 && known.seen_h > now_h) return known;
  known.seen_h = now_h + kAheadHours;
  if (known.id != 0) {
    table.see.run(known.id, known.seen_h);
  } else {
    table.add.run(key..., known.seen_h);
    known.id = database_.last_id();
  }
  return known;
}

void StackTree::forget() {
  frames_.clear();
  nodes_.clear();
  bytes_ = 0;
}

// A stack that is seen has all its nodes and frames seen: none of them goes before the last row that refers to it.
int64_t StackTree::expire(int64_t oldest_arrived_ns) {
  const int64_t oldest_h = oldest_arrived_ns / kHour;
  expired_h_ = std::max(expired_h_, oldest_h);
  int64_t expired = 0;
  for (Table *table : {&node_table_, &frame_table_}) {
    const int64_t end = table->last.number(table->expired_to, kLookAt).value_or(0);
    if (end > 0) {
      table->expire.run(table->expired_to, end, oldest_h);
      expired += database_.changes();
    }
    table->expired_to = end;
  }
  return expired;
}

StackTexts::StackTexts(Database &database)
    : find_nodes_(database, "SELECT id, parent, frame FROM stack_nodes WHERE id BETWEEN ?1 AND ?2"),
      find_frame_(database, "SELECT name FROM frames WHERE id = ?1"),
      find_name_(database, "SELECT id FROM frames WHERE name = ?1"),
      find_child_(database, "SELECT id FROM stack_nodes WHERE parent = ?1 AND frame = ?2") {}

std::string_view StackTexts::text(int64_t id) {
  if (bytes_ > kRemembered) {
    pages_.clear();
    frames_.clear();
    bytes_ = 0;
  }
  if (!walk(id)) return {};
  text_.clear();
  for (size_t i = path_.size(); i-- > 0;) {
    const std::optional<std::string> &name = frame(path_[i]);
    if (!name || text_.size() + name->size() > kMaxTextLength) return {};
    text_ += *name;
    if (i > 0) text_ += ';';
  }
  return text_;
}

bool StackTexts::walk(int64_t id) {
  path_.clear();
  while (id > 0 && path_.size() <= kMaxFrames) {
    const Node &at = node(id);
    if (at.frame == 0 || at.parent >= id) return false;
    path_.push_back(at.frame);
    id = at.parent;
  }
  return id == 0;
}

int64_t StackTexts::find(std::string_view folded) {
  int64_t node = 0;
  for (Frames frames(folded); frames.next();) {
    const auto frame = find_name_.number(frames.name());
    const auto child = frame ? find_child_.number(node, *frame) : std::nullopt;
    if (!child) return 0;
    node = *child;
  }
  return node;
}

const StackTexts::Node &StackTexts::node(int64_t id) {
  const auto [place, is_new] = pages_.try_emplace(id / kPage);
  Page &page = place->second;
  if (is_new) {
    const int64_t first = id / kPage * kPage;
    find_nodes_.each(
        [&](const Row &row) {
          page[static_cast<size_t>(row.integer(0) - first)] = {row.integer(1), row.integer(2)};
        },
        first, first + kPage - 1);
    bytes_ += kEntry + sizeof(Page);
  }
  return page[static_cast<size_t>(id % kPage)];
}

const std::optional<std::string> &StackTexts::frame(int64_t id) {
  const auto [place, is_new] = frames_.try_emplace(id);
  if (!is_new) return place->second;
  find_frame_.each([&known = place->second](const Row &row) { known = row.text(0); }, id);
  bytes_ += kEntry + (place->second ? place->second->size() : 0);
  return place->second;
}

}  // namespace atalaya::store
