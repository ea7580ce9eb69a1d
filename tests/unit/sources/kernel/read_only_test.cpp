// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/kernel/read_only.h"

#include <doctest/doctest.h>

#include <string>

namespace atalaya::kernel {
namespace {

struct Watched {
  ReadOnlyWatch watch;
  // "mount disk new" of each.
  std::vector<std::string> update(const std::string &mountinfo) {
    std::vector<procfs::Mount> mounts;
    procfs::parse_mountinfo(mountinfo, mounts);
    std::vector<std::string> texts;
    for (const ReadOnly &one : watch.update(mounts)) texts.push_back(one.mount + " " + one.disk + (one.is_new ? " new" : ""));
    return texts;
  }
};
using Texts = std::vector<std::string>;

std::string mount(const std::string &point, const std::string &options, const std::string &super) {
  return "22 1 8:1 / " + point + " " + options + " shared:1 - ext4 /dev/sda1 " + super + "\n";
}

TEST_CASE("a file system that becomes read-only is reported once, for its first mount, until it can be written") {
  Watched watched;
  const std::string writable = mount("/data", "rw", "rw") + mount("/bound", "rw", "rw");
  const std::string failed = mount("/data", "rw", "ro") + mount("/bound", "rw", "ro");
  CHECK(watched.update(writable).empty());
  CHECK(watched.update(failed) == Texts{"/data /dev/sda1 new"});
  CHECK(watched.update(failed) == Texts{"/data /dev/sda1"});
  CHECK(watched.update(writable).empty());
  CHECK(watched.update(failed) == Texts{"/data /dev/sda1 new"});
  CHECK(watched.update("").empty());      // unmounted
  CHECK(watched.update(failed).empty());  // mounted read-only from the start
}

TEST_CASE("a mount alone may become read-only") {
  Watched watched;
  CHECK(watched.update(mount("/data", "rw", "rw") + mount("/a\\040b", "rw,noatime", "rw")).empty());
  CHECK(watched.update(mount("/data", "rw", "rw") + mount("/a\\040b", "ro,noatime", "rw")) == Texts{"/a b /dev/sda1 new"});
}

TEST_CASE("mounts that were always read-only are no events") {
  Watched watched;
  for (int i = 0; i < 3; ++i) CHECK(watched.update(mount("/iso", "ro", "ro") + mount("/bound", "ro", "rw")).empty());
}

}  // namespace
}  // namespace atalaya::kernel
