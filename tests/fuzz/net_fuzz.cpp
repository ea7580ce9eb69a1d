// SPDX-License-Identifier: Apache-2.0
// The first byte selects the kind of the rest: answers of sock_diag, a process's file stat, or the target of a link.
#include <cstdint>
#include <cstdlib>

#include "plugins/shared/host/procfs/process_stat.h"
#include "plugins/sources/net/diag/diag_messages.h"
#include "plugins/sources/net/socket_holders.h"

using namespace atalaya;
using namespace atalaya::net;

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte *>(data) + 1, size - 1);
  const std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  if (data[0] == 'd') {
    parse_diag_messages(bytes, [](const DiagSocket &socket) {
      if (socket.record.kind != NET_OPEN && socket.record.kind != NET_LISTENS) std::abort();
    });
  } else if (data[0] == 's') {
    const auto stat = procfs::ProcessStat::parse(text);
    if (stat && stat->name().size() > text.size()) std::abort();
  } else {
    (void)socket_inode(text);
  }
  return 0;
}
