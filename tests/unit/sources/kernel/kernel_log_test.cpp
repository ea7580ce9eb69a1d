// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/kernel/kernel_log.h"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace atalaya::kernel {
namespace {

// Like /dev/kmsg: one record per read.
struct Device {
  core::Descriptor writer;
  KernelLog log;
  Device() {
    int ends[2] = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    writer = core::Descriptor(ends[0]);
    log = KernelLog(core::Descriptor(ends[1]));
  }
  void write(const std::string &record) { REQUIRE(::write(writer.get(), record.data(), record.size()) > 0); }
  std::vector<std::string> read(uint64_t &lost) {
    std::vector<std::string> texts;
    lost = log.read([&](const LogRecord &record) { texts.emplace_back(record.text); });
    return texts;
  }
};

TEST_CASE("each message is read once, and missing numbers count as lost") {
  Device device;
  uint64_t lost = 0;
  device.write("6,10,1,-;a");
  device.write("6,11,2,-;b");
  CHECK(device.read(lost) == std::vector<std::string>{"a", "b"});
  CHECK(lost == 0);
  CHECK(device.read(lost).empty());
  device.write("6,15,3,-;c");
  CHECK(device.read(lost) == std::vector<std::string>{"c"});
  CHECK(lost == 3);
  CHECK(device.read(lost).empty());
  CHECK(lost == 0);
}

TEST_CASE("messages of programs are no events of the kernel") {
  Device device;
  uint64_t lost = 0;
  device.write("14,1,1,-;sf[1]: segfault at 8 ip 0 sp 0 error 6");
  device.write("garbage");
  device.write("4,2,1,-;kernel");
  CHECK(device.read(lost) == std::vector<std::string>{"kernel"});
  CHECK(lost == 1);
}

TEST_CASE("a missing log is an error with its path") {
  KernelLog log;
  const core::Status opened = log.open("/does/not/exist");
  REQUIRE_FALSE(opened);
  CHECK(opened.error() == "cannot open /does/not/exist: No such file or directory");
  CHECK_FALSE(log.is_open());
}

}  // namespace
}  // namespace atalaya::kernel
