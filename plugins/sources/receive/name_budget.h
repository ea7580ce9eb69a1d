// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugins/sources/receive/senders.h"

namespace atalaya::receive {

// Limits the names of metrics and tags that senders add to the agent's table of names. There are two limits:
//   counted: names that a sender used within the last hour; one sender may have half of the limit
//   total:   all names, because the table never removes a name (docs/decisions/hub.md); one sender may have an eighth of the limit
// Not thread-safe.
class NameBudget {
 public:
  struct Amount {
    size_t names, bytes;
  };
  static constexpr size_t kMaxBytes = size_t{16} << 20;
  static constexpr Amount kMaxTotal = {size_t{1} << 19, size_t{128} << 20};

  explicit NameBudget(size_t max_names, Amount max_total = kMaxTotal) : max_counted_{max_names, kMaxBytes}, max_total_(max_total) {}

  // Stops counting names that were not used for an hour; call it often.
  void expire(int64_t now_ns);
  // Returns the id of a name that a sender added before, and marks it as used now; 0: there is no such entry.
  uint32_t find(std::string_view name, const SenderPtr &sender, int64_t now_ns);
  // Whether the sender may add one more name. If `sender` is null, only the limits of all senders apply.
  bool permits(const Sender *sender) const {
    return !full() && !total_is_reached() && (sender == nullptr || sender_permits(*sender));
  }
  // `name` must live as long as the agent's table of names.
  void add(std::string_view name, uint32_t id, const SenderPtr &sender, int64_t now_ns);

  bool full() const { return reached(counted_, max_counted_, 1); }
  bool total_is_reached() const { return reached(added_, max_total_, 1); }
  bool sender_full(const Sender &sender) const { return reached({sender.names, sender.name_bytes}, max_counted_, 2); }
  size_t counted() const { return counted_.names; }

 private:
  struct Entry {
    uint32_t id = 0;
    int64_t used_ns = 0;
    bool counts = false;
    SenderPtr sender;  // the sender whose share includes the name
  };

  static bool reached(const Amount &amount, const Amount &limit, size_t parts) {
    return amount.names >= limit.names / parts || amount.bytes >= limit.bytes / parts;
  }
  bool sender_permits(const Sender &sender) const;
  void count(std::string_view name, Entry &entry, const SenderPtr &sender);

  const Amount max_counted_, max_total_;
  Amount counted_{}, added_{};
  int64_t last_sweep_ns_ = 0;
  std::unordered_map<std::string_view, Entry> names_;
};

}  // namespace atalaya::receive
