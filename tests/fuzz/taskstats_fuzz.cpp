// SPDX-License-Identifier: Apache-2.0
// Datagrams of the taskstats family, one after the other: each begins with its size in two bytes.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "plugins/sources/proc/exits/taskstats_processes.h"

using namespace atalaya;
using namespace atalaya::proc;
using namespace atalaya::procfs;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check_end(const TaskEnd &end) {
  require(end.pid > 0 && end.version >= 8 && end.name.text().size() <= 32);
  require(end.process > 0 || (end.version < 12 && !end.last));
  require(end.end_s >= 0 && (!end.total || end.last));
  procfs::Known<procfs::Counter, procfs::kCounters> counters;
  set_cpu(end.cpu, end.kernel_thread, counters);
  if (end.cpu.exec_ns > 0)
    require(counters.get(procfs::Counter::user_ns) + counters.get(procfs::Counter::kernel_ns) == end.cpu.exec_ns);
}

void take_datagram(Bytes datagram, ThreadSums &sums, const ThreadSums::Callback &take) {
  NetlinkMessage message;
  while (next_message(datagram, message)) {
    require(result_of(message).value_or(0) >= 0);
    (void)family_of(message);
    if (const auto end = task_end(message.payload)) {
      check_end(*end);
      sums.add(*end, take);
    }
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Bytes rest(reinterpret_cast<const std::byte *>(data), size);
  ThreadSums sums(4);
  const ThreadSums::Callback take = [](const ProcessEnd &end) {
    require(end.counters.has(procfs::Counter::user_ns) && end.counters.has(procfs::Counter::kernel_ns));
  };
  while (rest.size() >= 2) {
    uint16_t length = 0;
    std::memcpy(&length, rest.data(), sizeof(length));
    rest = rest.subspan(sizeof(length));
    const size_t part = std::min<size_t>(length, rest.size());
    take_datagram(rest.first(part), sums, take);
    rest = rest.subspan(part);
    require(sums.size() <= 4);
  }
  sums.finish(take);
  return 0;
}
