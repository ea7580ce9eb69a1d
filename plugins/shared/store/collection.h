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

// Consecutive windows of one family of a host, or instants that follow one another. A single instant has no length: it shows
// that a collection started.
struct CollectedRow {
  std::string host, family;  // for hosts from before the store had such rows, the family is kAnyFamily
  int64_t begin_ns = 0, end_ns = 0;
  int64_t step_ns = 0;  // the shortest window, or the shortest distance between two instants; 0: unknown
  bool instants = false;

  bool operator==(const CollectedRow &) const = default;
};
inline constexpr const char *kAnyFamily = "*";

// Instants with a larger distance are not in one row.
inline constexpr int64_t kLongestHold = 300'000'000'000;
// Windows with a larger gap are not consecutive.
inline constexpr int64_t kMaxJitter = 250'000'000;

// Collects the rows of one family of a host, from windows in any order. Merges them when they are read, so that the cost is
// that of sorting them for any input.
class CollectedRows {
 public:
  CollectedRows(std::string host, std::string family) : host_(std::move(host)), family_(std::move(family)) {}

  void add(const CollectedRow &row);
  // `duration_ns` 0: an instant.
  void add(int64_t time_ns, int64_t duration_ns);
  const std::vector<CollectedRow> &windows() const { return merge_pending(), windows_; }
  const std::vector<CollectedRow> &instants() const { return merge_pending(), instants_; }
  // Number of comparisons of two rows so far.
  uint64_t comparisons() const { return comparisons_; }

 private:
  void merge_pending() const;
  void sort(std::vector<CollectedRow> &rows) const;
  bool has_window_between(const CollectedRow &row, const CollectedRow &next) const;
  bool joins(const CollectedRow &row, const CollectedRow &next) const;
  // Extends `row` by `next`. False: they do not belong together.
  bool extend(CollectedRow &row, const CollectedRow &next) const;

  std::string host_, family_;
  mutable std::vector<CollectedRow> windows_, instants_;  // sorted by time after they are merged
  mutable bool is_merged_ = true;
  mutable uint64_t comparisons_ = 0;
};

// The time in which one family of a host was collected.
class CollectedTime {
 public:
  struct TimeInterval {
    int64_t begin_ns = 0, end_ns = 0, step_ns = 0;
    int64_t before_ns = 0;  // collected time before this interval
  };

  CollectedTime() = default;
  // The intervals may be in any order, and may overlap.
  explicit CollectedTime(std::vector<TimeInterval> time_intervals);

  int64_t length_in(int64_t begin_ns, int64_t end_ns) const;
  // Whether the interval that ends with an instant counts: not if both ends are first readings of a collection.
  bool counts(int64_t begin_ns, int64_t end_ns) const { return !has_windows_ || length_in(begin_ns, end_ns) > 0; }
  // Whether windows collected a part of the time. Then a single instant is the first reading of a collection and has no weight
  // in an average.
  bool has_windows() const { return has_windows_; }
  const std::vector<TimeInterval> &time_intervals() const { return time_intervals_; }

 private:
  int64_t length_until(int64_t time_ns) const;

  std::vector<TimeInterval> time_intervals_;  // disjoint, sorted by time
  bool has_windows_ = false;
};

// The collected time of all hosts and families.
class Collection {
 public:
  Collection() = default;
  explicit Collection(const std::vector<CollectedRow> &rows);

  // Empty if nothing is known. Valid as long as the collection.
  const CollectedTime &collected_time_of(std::string_view host, std::string_view family) const;

 private:
  using Families = std::map<std::string, CollectedTime, std::less<>>;
  std::map<std::string, Families, std::less<>> hosts_;
};

}  // namespace atalaya::store
