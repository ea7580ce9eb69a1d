// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/joined_stacks.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace atalaya::store {
namespace {

struct StoredStack {
  int64_t time_ns, duration_ns, entity, number;
  const Tags *tags;
  const std::string *folded;
  std::vector<Field> fields;  // names: of the merge
};

class StacksFull {};

class StackMerge {
 public:
  StackMerge(const std::vector<std::unique_ptr<Store>> &stores, const Selection &selection, size_t max_buffered)
      : stores_(stores), selection_(selection), max_of_store_(std::max<size_t>(max_buffered / stores.size(), 1)) {}

  void run(const std::function<void(const Stack &)> &visitor) {
    const int64_t end = selection_.range.to_ns;
    for (int64_t from = selection_.range.from_ns; from < end;) {
      kept_.clear();
      int64_t to = end;
      for (const auto &store : stores_) to = gather(*store, {from, to});
      // The last windows end after the range.
      deliver(to == end ? std::numeric_limits<int64_t>::max() : to, visitor);
      from = to;
    }
  }

 private:
  // The time until which all windows of the store that end are kept; at the end of the range, those that reach over it, too.
  int64_t gather(Store &store, const Range &range) {
    selection_.range = range;
    size_t count = 0;
    int64_t last = range.from_ns;
    try {
      store.whole_stacks(selection_, [&](const Stack &stack) {
        const bool is_later = count > 0 && stack.time_ns > last;
        last = stack.time_ns;
        if (count >= max_of_store_ && is_later && last <= range.to_ns) throw StacksFull();
        ++count;
        keep(stack);
      });
    } catch (const StacksFull &) {
      return last - 1;
    }
    return range.to_ns;
  }

  void keep(const Stack &stack) {
    const auto entity = entities_.try_emplace(stack.tags, static_cast<int64_t>(entities_.size())).first;
    const auto number = numbers_.try_emplace(std::string(stack.folded), static_cast<int64_t>(numbers_.size())).first;
    StoredStack &kept = kept_.emplace_back(
        StoredStack{stack.time_ns, stack.duration_ns, entity->second, number->second, &entity->first, &number->first, {}});
    kept.fields.assign(stack.fields.begin(), stack.fields.end());
    for (Field &field : kept.fields) field.name = *names_.emplace(field.name).first;
  }

  void deliver(int64_t to, const std::function<void(const Stack &)> &visitor) {
    const auto key = [](const StoredStack &kept) { return std::tie(kept.time_ns, kept.entity, kept.number); };
    std::stable_sort(kept_.begin(), kept_.end(), [&](const StoredStack &a, const StoredStack &b) { return key(a) < key(b); });
    for (size_t i = 0; i < kept_.size() && kept_[i].time_ns <= to; ++i) {
      const StoredStack &one = kept_[i];
      if (i + 1 < kept_.size() && key(kept_[i + 1]) == key(one)) continue;
      visitor({one.time_ns, one.duration_ns, one.entity, one.number, *one.tags, *one.folded, one.fields});
    }
  }

  const std::vector<std::unique_ptr<Store>> &stores_;
  Selection selection_;
  size_t max_of_store_;
  std::map<Tags, int64_t> entities_;
  std::unordered_map<std::string, int64_t> numbers_;
  std::set<std::string, std::less<>> names_;
  std::vector<StoredStack> kept_;
};

}  // namespace

void merge_stacks(const std::vector<std::unique_ptr<Store>> &stores, const Selection &selection, size_t max_buffered,
                  const std::function<void(const Stack &)> &visitor) {
  StackMerge(stores, selection, max_buffered).run(visitor);
}

}  // namespace atalaya::store
