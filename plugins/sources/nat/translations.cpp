// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/nat/translations.h"

#include <algorithm>

namespace atalaya::nat {
namespace {

// Translations collected per reported translation; the connections of further ones count as others.
constexpr size_t kCollectedPerKept = 4;

Translation translation_of(const Connection &connection) {
  const Tuple &request = connection.request, &answer = connection.answer;
  return {connection.protocol,
          {request.source, request.target, request.target_port},
          {answer.target, answer.source, answer.source_port}};
}

}  // namespace

void Translations::clear() {
  counts_.clear();
  others_ = 0;
}

void Translations::add(const Connection &connection) {
  const Translation one = translation_of(connection);
  if (one.seen == one.real) return;
  if (const auto known = counts_.find(one); known != counts_.end()) {
    ++known->second;
  } else if (counts_.size() < kCollectedPerKept * max_) {
    counts_.emplace(one, 1);
  } else {
    ++others_;
  }
}

Sums Translations::sums() const {
  Sums sums{{counts_.begin(), counts_.end()}, others_};
  if (sums.largest.size() <= max_) return sums;
  std::stable_sort(sums.largest.begin(), sums.largest.end(), [](const auto &a, const auto &b) { return a.second > b.second; });
  for (size_t i = max_; i < sums.largest.size(); ++i) sums.others += sums.largest[i].second;
  sums.largest.resize(max_);
  return sums;
}

}  // namespace atalaya::nat
