// SPDX-License-Identifier: Apache-2.0
// When the metrics of a host were collected: the denominator of averages. docs/decisions/queries.md has the reasons.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace atalaya::store {

// The first word of a metric's name: metrics of one family come from the same collection.
inline std::string_view family_of(std::string_view metric) {
  return metric.substr(0, metric.find('.'));
}

// Consecutive windows of one family of a host, or instants that follow one another. A single instant has no length: it shows that a
// collection began.
struct CollectedRow {
  std::string host, family;  // of hosts before the store had such rows, the family is kAnyFamily
  int64_t begin_ns = 0, end_ns = 0;
  int64_t step_ns = 0;  // the shortest window, or the shortest distance of two instants; 0: unknown
  bool instants = false;

  bool operator==(const CollectedRow &) const = default;
};
inline constexpr const char *kAnyFamily = "*";

// Instants that are further apart do not belong together.
inline constexpr int64_t kLongestHold = 300'000'000'000;
// Windows that are further apart do not follow one another.
inline constexpr int64_t kMaxJitter = 250'000'000;

// The rows of one family of a host, from windows in any order. They are united when they are read, so that the cost is that of
// sorting them, whatever a sender sends.
class CollectedRows {
 public:
  CollectedRows(std::string host, std::string family) : host_(std::move(host)), family_(std::move(family)) {}

  void add(const CollectedRow &row);
  // `duration_ns` 0: an instant.
  void add(int64_t time_ns, int64_t duration_ns);
  const std::vector<CollectedRow> &windows() const { return unite(), windows_; }
  const std::vector<CollectedRow> &instants() const { return unite(), instants_; }
  // Comparisons of two rows until now.
  uint64_t comparisons() const { return comparisons_; }

 private:
  void unite() const;
  void sort(std::vector<CollectedRow> &rows) const;
  bool has_window_between(const CollectedRow &row, const CollectedRow &next) const;
  bool joins(const CollectedRow &row, const CollectedRow &next) const;
  // False: they do not belong together.
  bool extend(CollectedRow &row, const CollectedRow &next) const;

  std::string host_, family_;
  mutable std::vector<CollectedRow> windows_, instants_;  // by time once they are united
  mutable bool is_united_ = true;
  mutable uint64_t comparisons_ = 0;
};

// The time in which one family of a host was collected.
class CollectedTime {
 public:
  struct Stretch {
    int64_t begin_ns = 0, end_ns = 0, step_ns = 0;
    int64_t before_ns = 0;  // collected time before it
  };

  CollectedTime() = default;
  // In any order; they may overlap.
  explicit CollectedTime(std::vector<Stretch> stretches);

  int64_t length_in(int64_t begin_ns, int64_t end_ns) const;
  // An instant that holds since the one before counts, unless both are readings of a start.
  bool counts(int64_t begin_ns, int64_t end_ns) const { return !has_windows_ || length_in(begin_ns, end_ns) > 0; }
  // Some of it by windows: then a single instant is the first reading of a start, and has no weight in an average.
  bool has_windows() const { return has_windows_; }
  const std::vector<Stretch> &stretches() const { return stretches_; }

 private:
  int64_t length_until(int64_t time_ns) const;

  std::vector<Stretch> stretches_;  // disjoint, by time
  bool has_windows_ = false;
};

// The collected time of all hosts and families.
class Collection {
 public:
  Collection() = default;
  explicit Collection(const std::vector<CollectedRow> &rows);

  // Empty if nothing is known. Valid as long as the collection.
  const CollectedTime &of(std::string_view host, std::string_view family) const;

 private:
  using Families = std::map<std::string, CollectedTime, std::less<>>;
  std::map<std::string, Families, std::less<>> hosts_;
};

}  // namespace atalaya::store
