// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugins/sources/receive/senders.h"

namespace atalaya::receive {

// The names of metrics and tags that senders have added to the agent's table. A name that no sender used for an hour no longer
// counts against `most` and its sender's half of it. The table keeps it all the same, because ids hold for the life of the process
// (docs/decisions/hub.md): `ever` limits all of them, and one sender has an eighth of it. For one thread.
class NameBudget {
 public:
  struct Amount {
    size_t names, bytes;
  };
  static constexpr size_t kMaxBytes = size_t{16} << 20;
  static constexpr Amount kEver = {size_t{1} << 19, size_t{128} << 20};

  explicit NameBudget(size_t max_names, Amount ever = kEver) : most_{max_names, kMaxBytes}, ever_(ever) {}

  // Makes names of the past hour stop counting; call it often.
  void expire(int64_t now_ns);
  // The id of a name that a sender added before, which is used now; 0: none.
  uint32_t find(std::string_view name, const SenderPtr &sender, int64_t now_ns);
  // Whether this sender may add one more. No sender: no limit of its own.
  bool permits(const Sender *sender) const { return !full() && !used_up() && (sender == nullptr || sender_permits(*sender)); }
  // `name` lives as long as the agent's table.
  void add(std::string_view name, uint32_t id, const SenderPtr &sender, int64_t now_ns);

  bool full() const { return reached(counted_, most_, 1); }
  bool used_up() const { return reached(added_, ever_, 1); }
  bool sender_full(const Sender &sender) const { return reached({sender.names, sender.name_bytes}, most_, 2); }
  size_t counted() const { return counted_.names; }

 private:
  struct Entry {
    uint32_t id = 0;
    int64_t used_ns = 0;
    bool counts = false;
    SenderPtr sender;  // that it counts against
  };

  static bool reached(const Amount &amount, const Amount &limit, size_t parts) {
    return amount.names >= limit.names / parts || amount.bytes >= limit.bytes / parts;
  }
  bool sender_permits(const Sender &sender) const;
  void count(std::string_view name, Entry &entry, const SenderPtr &sender);

  const Amount most_, ever_;
  Amount counted_{}, added_{};
  int64_t swept_ns_ = 0;
  std::unordered_map<std::string_view, Entry> names_;
};

}  // namespace atalaya::receive
