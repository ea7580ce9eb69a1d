// SPDX-License-Identifier: Apache-2.0
// Writes when each family of a host was collected, in the transaction of the batch, so that the times are as durable as the
// samples.
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/sample/name_cache.h"
#include "plugins/shared/store/collection.h"
#include "plugins/shared/store/sqlite/file/database.h"

namespace atalaya::store {

class CollectedWriter {
 public:
  CollectedWriter(Database &database, core::NameOf name_of);

  // Adds a sample of metrics of the current batch. Consecutive samples of one window and host cost a few comparisons.
  void add(const atalaya_sample &sample);
  // Writes the times of the batch.
  void flush(int64_t now_ns);
  // Call it after a rollback.
  void forget();

 private:
  using Key = std::pair<std::string, std::string>;  // host and family
  // The newest windows of a family, as they are in their row.
  struct Last {
    int64_t id = 0;
    CollectedRow row;
  };

  size_t family_of_name(uint32_t name);
  std::string_view host_of(const atalaya_sample &sample);
  void start_window(const atalaya_sample &sample, std::string_view host);
  bool extend_last(const Key &key, const CollectedRows &added, int64_t now_ns);
  void merge(const Key &key, const CollectedRows &added, int64_t now_ns);
  void insert(const Key &key, const CollectedRow &row, int64_t now_ns);

  core::NameOf name_of_;
  Database &database_;
  Statement find_, find_windows_, remove_, add_, extend_;

  std::vector<size_t> families_of_names_;  // by name id: index of the family + 1
  std::map<std::string, size_t, std::less<>> families_;
  std::vector<std::string> family_names_;
  std::vector<char> is_host_;               // by name id: whether it is the tag "host"; 0: not looked up
  std::string host_;                        // host of the last sample
  int64_t time_ns_ = 0, duration_ns_ = -1;  // window of the last sample
  std::vector<bool> seen_;                  // families of the last window, by index
  std::map<Key, CollectedRows> pending_;    // rows of the current batch
  std::map<Key, Last> last_;
};

}  // namespace atalaya::store
