// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/phases/mining/repeats.h"

#include <divsufsort.h>

#include <algorithm>
#include <limits>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>

namespace atalaya::phases {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

size_t bytes_of(uint32_t largest) {
  return largest < 0x100 ? 1 : largest < 0x10000 ? 2 : largest < 0x1000000 ? 3 : 4;
}

// The inner nodes of the suffix tree; only depth, parent and first occurrence are stored.
class SuffixTree {
 public:
  SuffixTree(std::span<const int32_t> suffixes, std::span<const int32_t> prefixes) : leaf_parents_(suffixes.size()) {
    std::vector<uint32_t> path{add(0)};
    for (size_t i = 1; i <= suffixes.size(); ++i) {
      const uint32_t depth = i < suffixes.size() ? static_cast<uint32_t>(prefixes[i]) : 0;
      if (depths_[path.back()] < depth) path.push_back(add(depth));
      const auto leaf = static_cast<uint32_t>(suffixes[i - 1]);
      leaf_parents_[leaf] = path.back();
      firsts_[path.back()] = std::min(firsts_[path.back()], leaf);
      close(path, depth);
    }
    tops_.resize(depths_.size());
    std::iota(tops_.begin(), tops_.end(), 0u);
  }

  // The longest earlier occurrence for a position; call it in descending order of positions. A node whose first occurrence ends
  // after the position cannot be its repeat, nor can the nodes below it. So the result is at the border: the lowest node that ends
  // before the position, or a part of the edge below it.
  Repeat repeat_at(uint32_t position) {
    uint32_t lowest = leaf_parents_[position];
    Repeat below;
    if (ends_after(lowest, position)) {
      const uint32_t top = top_of(lowest, position);
      below = {position - firsts_[top], firsts_[top]};
      lowest = parents_[top];
    }
    return depths_[lowest] >= below.length ? Repeat{depths_[lowest], depths_[lowest] == 0 ? 0 : firsts_[lowest]} : below;
  }

 private:
  uint32_t add(uint32_t depth) {
    depths_.push_back(depth);
    parents_.push_back(0);
    firsts_.push_back(kNone);
    return static_cast<uint32_t>(depths_.size() - 1);
  }

  void close(std::vector<uint32_t> &path, uint32_t depth) {
    while (depths_[path.back()] > depth) {
      const uint32_t child = path.back();
      path.pop_back();
      if (depths_[path.back()] < depth) path.push_back(add(depth));
      parents_[child] = path.back();
      firsts_[path.back()] = std::min(firsts_[path.back()], firsts_[child]);
    }
  }

  bool ends_after(uint32_t node, uint32_t position) const {
    return node != 0 && uint64_t{firsts_[node]} + depths_[node] > position;
  }

  // The highest ancestor that ends after the position; all nodes between do too. This remains true for smaller positions (path
  // compression).
  uint32_t top_of(uint32_t node, uint32_t position) {
    uint32_t top = node;
    for (;;) {
      while (tops_[top] != top) top = tops_[top];
      if (!ends_after(parents_[top], position)) break;
      tops_[top] = parents_[top];
    }
    while (tops_[node] != top && node != top) {
      const uint32_t next = tops_[node];
      tops_[node] = top;
      node = next;
    }
    return top;
  }

  std::vector<uint32_t> leaf_parents_, depths_, parents_, firsts_, tops_;
};

// The smallest period of a text.
size_t period_of(std::span<const uint32_t> text, std::vector<uint32_t> &borders) {
  borders.assign(text.size(), 0);
  for (size_t i = 1; i < text.size(); ++i) {
    uint32_t length = borders[i - 1];
    while (length > 0 && text[i] != text[length]) length = borders[length - 1];
    borders[i] = length + (text[i] == text[length] ? 1 : 0);
  }
  return text.size() - borders.back();
}

size_t longest_constant(std::span<const uint32_t> root) {
  size_t maximum = 0;
  for (size_t i = 0, length = 0; i < root.size(); ++i) {
    length = i > 0 && root[i] == root[i - 1] ? length + 1 : 1;
    maximum = std::max(maximum, length);
  }
  return maximum;
}

// Assigns the number of its period to each position of a run.
class Periods {
 public:
  Periods(std::span<const uint32_t> text, size_t minimum, size_t longest)
      : text_(text), least_(minimum), longest_(longest), periods_(text.size(), 0) {}

  void take(size_t position, const Repeat &repeat) {
    const size_t end = position + repeat.length;
    if (repeat.source + repeat.length == position) {
      // The root repeats at least once: if its own period divides its length, it is the period of the run.
      const size_t own = period_of(text_.subspan(repeat.source, repeat.length), borders_);
      if (mark(repeat.source, end, repeat.length % own == 0 ? own : repeat.length)) return;
    }
    if (const size_t own = period_of(text_.subspan(position, repeat.length), borders_); own * 2 <= repeat.length)
      if (mark(position, end, own)) return;
    for (size_t i = 0; i < repeat.length; ++i) set(position + i, periods_[repeat.source + i]);
  }

  std::vector<Run> runs() const {
    std::vector<Run> found;
    for (size_t i = 0; i < text_.size();) {
      const size_t begin = i, period = periods_[i];
      for (++i; i < text_.size() && periods_[i] == period && (i < begin + period || text_[i] == text_[i - period]);) ++i;
      if (period > 0 && i - begin >= std::max(least_, 2 * period)) found.push_back({begin, i, static_cast<uint32_t>(period)});
    }
    return found;
  }

 private:
  // Returns false if the text is not the root of a run.
  bool mark(size_t begin, size_t end, size_t period) {
    if (period > longest_ || (period > 1 && longest_constant(text_.subspan(begin, period)) >= least_)) return false;
    for (size_t i = begin; i < end; ++i) set(i, static_cast<uint32_t>(period));
    return true;
  }
  void set(size_t position, uint32_t period) {
    if (periods_[position] == 0) periods_[position] = period;
  }

  std::span<const uint32_t> text_;
  const size_t least_, longest_;
  std::vector<uint32_t> periods_, borders_;
};

}  // namespace

// libdivsufsort sorts bytes. Numbers are encoded as big-endian bytes of a fixed width, so that suffixes that start at a number have
// the order of the numbers.
std::vector<int32_t> suffix_array(std::span<const uint32_t> text) {
  if (text.empty()) return {};
  const size_t width = bytes_of(*std::max_element(text.begin(), text.end()));
  if (text.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max()) / width)
    throw std::length_error("a trace of more than 500 million samples");
  std::string bytes;
  bytes.reserve(text.size() * width);
  for (const uint32_t number : text)
    for (size_t byte = width; byte-- > 0;) bytes += static_cast<char>(number >> (8 * byte));
  std::vector<int32_t> order(bytes.size());
  if (::divsufsort(reinterpret_cast<const sauchar_t *>(bytes.data()), order.data(), static_cast<saidx_t>(bytes.size())) != 0)
    throw std::bad_alloc();
  const auto step = static_cast<int32_t>(width);
  std::erase_if(order, [step](int32_t at) { return at % step != 0; });
  for (int32_t &at : order) at /= step;
  return order;
}

std::vector<int32_t> common_prefixes(std::span<const uint32_t> text, std::span<const int32_t> suffixes) {
  std::vector<int32_t> ranks(text.size()), prefixes(text.size(), 0);
  for (size_t i = 0; i < suffixes.size(); ++i) ranks[static_cast<size_t>(suffixes[i])] = static_cast<int32_t>(i);
  size_t length = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto rank = static_cast<size_t>(ranks[i]);
    if (rank == 0) {
      length = 0;
      continue;
    }
    const auto other = static_cast<size_t>(suffixes[rank - 1]);
    while (std::max(i, other) + length < text.size() && text[i + length] == text[other + length]) ++length;
    prefixes[rank] = static_cast<int32_t>(length);
    if (length > 0) --length;
  }
  return prefixes;
}

std::vector<Repeat> longest_repeats(std::span<const uint32_t> text) {
  const std::vector<int32_t> suffixes = suffix_array(text);
  SuffixTree tree(suffixes, common_prefixes(text, suffixes));
  std::vector<Repeat> repeats(text.size());
  for (size_t i = text.size(); i-- > 0;) repeats[i] = tree.repeat_at(static_cast<uint32_t>(i));
  return repeats;
}

std::vector<Run> exact_runs(std::span<const uint32_t> text, size_t minimum, size_t longest) {
  const std::vector<Repeat> repeats = longest_repeats(text);
  Periods periods(text, minimum, longest);
  for (size_t i = 0; i < text.size(); i += std::max<uint32_t>(repeats[i].length, 1))
    if (repeats[i].length > 0) periods.take(i, repeats[i]);
  return periods.runs();
}

}  // namespace atalaya::phases
