// SPDX-License-Identifier: Apache-2.0
// Several stores as one, for reading. A series of several stores is merged by time; of points with the same time, the one of
// the last store is used.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/shared/store/store.h"

namespace atalaya::store {

class JoinedStore final : public Store {
 public:
  // `max_buffered`: maximum points, or stacks, in memory during a merge.
  explicit JoinedStore(std::vector<std::unique_ptr<Store>> stores, size_t max_buffered = 1 << 18);

  std::string name() const override;
  std::vector<std::string> metrics() override;
  Catalogue catalogue() override;
  std::vector<std::string> tag_keys() override;
  std::vector<std::string> tag_values(std::string_view key) override;
  std::optional<Range> extent(int64_t until_ns) override;
  std::vector<CollectedRow> collected(const Range &range) override;
  // Returns series with numbers of this store. Numbers are not used again. If there are very many, old numbers become invalid:
  // then `scan` throws.
  std::vector<Series> series(const Selection &selection, size_t limit) override;
  // Scans series. Those of one store keep their summaries; those of several are merged point by point, in intervals of time.
  void scan(std::span<const Series> series, const Range &range, PointVisitor &visitor) override;
  std::string take_damage() override;
  void whole_stacks(const Selection &selection, const std::function<void(const Stack &)> &visitor) override;
  // Merges the spans in memory, because commands that read spans keep them in memory too.
  void spans(const Selection &selection, const std::function<void(const Span &)> &visitor) override;

 private:
  // A series in one of the stores.
  struct Part {
    size_t store;
    int64_t entity, metric_id;
  };
  using Key = std::pair<int64_t, int64_t>;  // numbers of entity and metric in this store

  bool has_ended(int64_t start_ns, const Tags &tags, std::string_view name);
  Key key_of(const Series &series);
  void forget_if_many();
  template <class Read>
  std::vector<std::string> merged_lists(Read &&read);

  std::vector<std::unique_ptr<Store>> stores_;
  size_t max_buffered_;
  std::map<Tags, int64_t> entities_;
  std::map<std::string, int64_t, std::less<>> metrics_;
  std::map<Key, std::vector<Part>> parts_;
  int64_t last_number_ = 0;
};

}  // namespace atalaya::store
