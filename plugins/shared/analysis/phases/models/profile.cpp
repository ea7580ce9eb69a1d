// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/phases/models/profile.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace atalaya::phases {
namespace {

// Maximum total share of ignored rare functions; above it both profiles must have the same rare functions.
constexpr double kMaxRare = 0.25;
// A function with a lower expected count may be absent or present by chance: with many functions, one of them is.
constexpr double kExpected = 6;
// A function that is not rare in one profile is in the set of the other profile from this part of the limit on.
constexpr double kPresent = 0.25;

// Adds up equal symbols of sorted parts.
void add_up(std::vector<Part> &parts) {
  size_t kept = 0;
  for (const Part &part : parts) {
    if (kept > 0 && parts[kept - 1].symbol == part.symbol)
      parts[kept - 1].threads += part.threads;
    else
      parts[kept++] = part;
  }
  parts.resize(kept);
}

bool by_symbol(const Part &a, const Part &b) {
  return a.symbol < b.symbol;
}

double sum_of(std::span<const Part> parts) {
  double sum = 0;
  for (const Part &part : parts) sum += part.threads;
  return sum;
}

// Calls visit(share in a, share in b) for each function of either profile.
template <class Visit>
void for_each(const Profile &a, const Profile &b, Visit &&visit) {
  const auto left = a.parts(), right = b.parts();
  for (size_t i = 0, j = 0; i < left.size() || j < right.size();) {
    const bool from_left = j == right.size() || (i < left.size() && left[i].symbol <= right[j].symbol);
    const bool from_right = i == left.size() || (j < right.size() && right[j].symbol <= left[i].symbol);
    visit(from_left ? left[i].threads / a.total() : 0, from_right ? right[j].threads / b.total() : 0);
    i += from_left ? 1 : 0;
    j += from_right ? 1 : 0;
  }
}

}  // namespace

Profile::Profile(const Trace &trace, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    const auto parts = trace.parts(i);
    parts_.insert(parts_.end(), parts.begin(), parts.end());
    threads_.add(trace.threads(i));
  }
  std::sort(parts_.begin(), parts_.end(), by_symbol);
  add_up(parts_);
  total_ = sum_of(parts_);
}

Profile::Profile(std::vector<Part> parts, const Moments &threads) : parts_(std::move(parts)), threads_(threads) {
  std::sort(parts_.begin(), parts_.end(), by_symbol);
  add_up(parts_);
  total_ = sum_of(parts_);
}

void Profile::add(const Profile &other) {
  std::vector<Part> both;
  both.reserve(parts_.size() + other.parts_.size());
  std::merge(parts_.begin(), parts_.end(), other.parts_.begin(), other.parts_.end(), std::back_inserter(both), by_symbol);
  add_up(both);
  parts_ = std::move(both);
  total_ += other.total_;
  threads_.add(other.threads_);
}

double Profile::share(uint32_t symbol) const {
  const auto found = std::lower_bound(parts_.begin(), parts_.end(), Part{symbol, 0}, by_symbol);
  return found != parts_.end() && found->symbol == symbol ? found->threads / total_ : 0;
}

Profile Profile::renamed(std::span<const uint32_t> symbols) const {
  std::vector<Part> parts = parts_;
  for (Part &part : parts) part.symbol = symbols[part.symbol];
  return {std::move(parts), threads_};
}

Similarity similarity(const Profile &a, const Profile &b, double rare) {
  if (a.total() <= 0 || b.total() <= 0) return a.total() <= 0 && b.total() <= 0 ? Similarity{1, 1, 0} : Similarity{};
  double limit = std::max(rare, kExpected / std::min(a.total(), b.total()));
  double maximum = 0;
  for_each(a, b, [&](double p, double q) { maximum = std::max({maximum, p, q}); });
  limit = std::min(limit, maximum);  // so that a set is never empty
  Similarity result;
  double in_a = 0, in_b = 0, common = 0, classes = 0, affinity = 0, rare_a = 0, rare_b = 0, rare_affinity = 0;
  for_each(a, b, [&](double p, double q) {
    if (p > 0 && q > 0) result.distance += (std::sqrt(p) - std::sqrt(q)) * (std::sqrt(p) - std::sqrt(q));
    if (std::max(p, q) < limit) {
      rare_a += p;
      rare_b += q;
      rare_affinity += std::sqrt(p * q);
      return;
    }
    const bool is_in_a = p >= limit * kPresent, is_in_b = q >= limit * kPresent;
    in_a += is_in_a ? 1 : 0;
    in_b += is_in_b ? 1 : 0;
    common += is_in_a && is_in_b ? 1 : 0;
    classes += 1;
    affinity += std::sqrt(p * q);
  });
  result.functions = common / std::max(in_a, in_b);
  const double rarest = std::max(rare_a, rare_b);
  if (rarest > kMaxRare) affinity += rare_affinity * (1 - kMaxRare / rarest), classes += 1;
  affinity /= std::sqrt((1 - std::min(rare_a, kMaxRare)) * (1 - std::min(rare_b, kMaxRare)));
  // The expected difference of two samples of one distribution.
  const double chance = std::max(classes - 1, 0.0) / 8 * (1 / a.total() + 1 / b.total());
  result.times = std::min(affinity + chance, 1.0);
  return result;
}

bool differ_in_threads(const Moments &a, const Moments &b) {
  if (a.count < 2 || b.count < 2) return false;
  const double apart = std::abs(a.mean - b.mean);
  if (apart <= 0.1 * std::max(std::abs(a.mean), std::abs(b.mean))) return false;
  constexpr double kRounding = 1.0 / 12;  // variance of the rounding to integers
  const double va = std::max(a.variance(), kRounding) / a.count, vb = std::max(b.variance(), kRounding) / b.count;
  const double degrees = (va + vb) * (va + vb) / (va * va / (a.count - 1) + vb * vb / (b.count - 1));
  return apart / std::sqrt(va + vb) > student_limit(degrees);
}

bool match(const Profile &a, const Profile &b, const Likeness &likeness) {
  const Similarity found = similarity(a, b, likeness.rare);
  return found.functions >= likeness.similarity && found.times >= likeness.similarity &&
         !differ_in_threads(a.threads(), b.threads());
}

bool nearly_match(const Profile &a, const Profile &b, const Likeness &likeness) {
  return similarity(a, b, likeness.rare).times >= kMinAffinity && !differ_in_threads(a.threads(), b.threads());
}

}  // namespace atalaya::phases
