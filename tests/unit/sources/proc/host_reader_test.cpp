// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/procfs/host_reader.h"

#include <doctest/doctest.h>

namespace atalaya::proc {
namespace {

TEST_CASE("disks are distinguished from their partitions by the kernel's naming rule") {
  std::vector<procfs::Disk> disks;
  parse_diskstats(
      "8 0 sda 1\n8 1 sda1 1\n8 16 sdaa 1\n259 0 nvme0n1 1\n259 1 nvme0n1p1 1\n253 1 dm-1 1\n253 10 dm-10 1\n"
      "179 0 mmcblk0 1\n179 1 mmcblk0p2 1\n7 0 loop0 1\n1 0 ram0 1\n253 0 zram0 1\n9 0 md0 1\n9 1 md0p1 1\n1 1 rampart 1\n",
      disks);
  std::string types;
  for (const procfs::Disk &disk : disks) types += "wplr"[static_cast<size_t>(disk.type)];
  CHECK(types == "wpwwpwwwplrrwpw");
}

TEST_CASE("the paths to an NVMe disk are its parts, unless only they count") {
  const auto types_of = [](const char *text) {
    std::vector<procfs::Disk> disks;
    parse_diskstats(text, disks);
    std::string types;
    for (const procfs::Disk &disk : disks) types += "wplr"[static_cast<size_t>(disk.type)];
    return types;
  };
  CHECK(types_of("259 1 nvme0c0n1 7 0 80\n259 2 nvme0c1n1 3 0 8\n259 0 nvme0n1 10 0 88\n259 3 nvme0n1p1 10 0 88\n") == "ppwp");
  CHECK(types_of("259 0 nvme0n1 0 0 0\n259 3 nvme0n1p1 0 0 0\n259 1 nvme0c0n1 7 0 80\n259 2 nvme0c1n1 3 0 8\n") == "ppww");
  CHECK(types_of("259 0 nvme0n1 0 0 0\n259 1 nvme0c0n1 0 0 0\n") == "wp");
  CHECK(types_of("259 1 nvme0c0n1 1\n259 0 nvme0n2 1\n259 2 nvme0c1n 1\n259 4 nvme0cn1 1\n") == "wwww");
}

TEST_CASE("names of interfaces end at the last colon") {
  std::vector<procfs::Interface> interfaces;
  parse_net_dev("header | no numbers\n  eth0:1: 5 6\nwlan0:7 8\n", interfaces);
  REQUIRE(interfaces.size() == 2);
  CHECK(interfaces[0].name == "eth0:1");
  CHECK(interfaces[0].counters.bytes_in == 5);
  CHECK(interfaces[1].name == "wlan0");
  CHECK(interfaces[1].counters.packets_in == 8);
  CHECK_FALSE(interfaces[1].counters.bytes_out);
}

TEST_CASE("pressure of CPUs on kernels without the full line") {
  const procfs::Pressure pressure = procfs::parse_pressure("some avg10=1.50 avg60=0.00 avg300=0.00 total=77\n");
  CHECK(pressure.some_avg10 == 1.5);
  CHECK(pressure.totals.some == 77);
  CHECK_FALSE(pressure.full_avg10);
  CHECK_FALSE(pressure.totals.full);
}

TEST_CASE("paths in mountinfo") {
  CHECK(procfs::unescape_mount("/a\\040b\\011c\\134d") == "/a b\tc\\d");
  CHECK(procfs::unescape_mount("/x\\04") == "/x\\04");
  CHECK(procfs::unescape_mount("\\777") == "\\777");
  CHECK(procfs::unescape_mount("") == "");
}

TEST_CASE("mounts with any number of optional fields") {
  std::vector<procfs::Mount> mounts;
  parse_mountinfo(
      "1 2 8:1 /r /m rw,relatime shared:1 master:2 - xfs /dev/sda1 rw,attr\n3 4 0:1 / /n rw - tmpfs none rw\ncut short\n", mounts);
  REQUIRE(mounts.size() == 2);
  CHECK(mounts[0].type == "xfs");
  CHECK(mounts[0].source == "/dev/sda1");
  CHECK(mounts[0].super_options == "rw,attr");
  CHECK(mounts[1].mount_point == "/n");
}

}  // namespace
}  // namespace atalaya::proc
