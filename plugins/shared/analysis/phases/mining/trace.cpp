// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/phases/mining/trace.h"

#include <algorithm>
#include <cmath>

namespace atalaya::phases {

Symbols::Symbols(size_t maximum, size_t bytes) : max_texts_(maximum), remaining_bytes_(bytes) {
  texts_.push_back(&known_.emplace("[other]", kOther).first->first);
}

uint32_t Symbols::number_of(std::string_view text) {
  if (const auto found = known_.find(text); found != known_.end()) return found->second;
  if (texts_.size() >= max_texts_ || text.size() > remaining_bytes_) {
    ++lost_;
    return kOther;
  }
  remaining_bytes_ -= text.size();
  const auto added = known_.emplace(text, static_cast<uint32_t>(texts_.size())).first;
  texts_.push_back(&added->first);
  return added->second;
}

void Trace::add(int64_t time_ns, std::span<const Part> parts, double threads) {
  const auto begin = static_cast<std::ptrdiff_t>(parts_.size());
  for (const Part &part : parts)
    if (part.threads > 0) parts_.push_back(part);
  std::sort(parts_.begin() + begin, parts_.end(), [](const Part &a, const Part &b) { return a.symbol < b.symbol; });
  size_t kept = begins_.back();
  for (size_t i = kept; i < parts_.size(); ++i) {
    if (kept > begins_.back() && parts_[kept - 1].symbol == parts_[i].symbol)
      parts_[kept - 1].threads += parts_[i].threads;
    else
      parts_[kept++] = parts_[i];
  }
  parts_.resize(kept);
  if (kept > begins_.back()) symbols_ = std::max(symbols_, parts_.back().symbol + 1);
  begins_.push_back(kept);
  times_ns_.push_back(time_ns);
  threads_.push_back(threads);
}

void Trace::clear() {
  parts_.clear();
  begins_.assign(1, 0);
  times_ns_.clear();
  threads_.clear();
}

void Trace::drop_front(size_t samples) {
  const size_t dropped = begins_[samples];
  parts_.erase(parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(dropped));
  begins_.erase(begins_.begin(), begins_.begin() + static_cast<std::ptrdiff_t>(samples));
  for (size_t &begin : begins_) begin -= dropped;
  times_ns_.erase(times_ns_.begin(), times_ns_.begin() + static_cast<std::ptrdiff_t>(samples));
  threads_.erase(threads_.begin(), threads_.begin() + static_cast<std::ptrdiff_t>(samples));
}

std::vector<uint32_t> tokens_of(const Trace &trace) {
  std::unordered_map<std::string, uint32_t> known;
  std::vector<uint32_t> tokens;
  tokens.reserve(trace.size());
  std::string key;
  for (size_t i = 0; i < trace.size(); ++i) {
    key.clear();
    for (const Part &part : trace.parts(i)) {
      const uint32_t words[2] = {part.symbol, static_cast<uint32_t>(std::lround(std::min(part.threads, 1e9)))};
      key.append(reinterpret_cast<const char *>(words), sizeof words);
    }
    tokens.push_back(known.try_emplace(key, static_cast<uint32_t>(known.size())).first->second);
  }
  return tokens;
}

}  // namespace atalaya::phases
