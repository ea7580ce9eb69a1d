// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/host/host_model.h"

#include <doctest/doctest.h>

#include <random>

namespace atalaya::proc {
namespace {

// Ticks of one core over a window, distributed at random; sometimes the counters of the core start again.
class RandomCore {
 public:
  explicit RandomCore(uint32_t seed) : random_(seed) {}

  procfs::CoreTimes next(uint64_t ticks) {
    if (one_in(8)) values_ = {};
    for (uint64_t i = 0; i < ticks; ++i) ++values_[below(values_.size())];
    if (one_in(8)) take_back(values_[kIowait]);
    const auto &v = values_;
    return {v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[0] / 2, v[1] / 2};
  }
  uint64_t below(uint64_t end) { return std::uniform_int_distribution<uint64_t>(0, end - 1)(random_); }
  bool one_in(uint64_t n) { return below(n) == 0; }

 private:
  static constexpr size_t kIowait = 4;
  void take_back(uint64_t &value) { value -= value == 0 ? 0 : below(value); }
  std::mt19937 random_;
  std::array<uint64_t, 8> values_{};
};

HostValues clock_of(int status, long offset) {
  timex clock{};
  clock.status = status;
  clock.offset = offset;
  clock.maxerror = 16'000'000;
  HostValues values;
  clock_values(clock, values);
  return values;
}

TEST_CASE("a clock's offset is in ns or us, and unknown while nothing keeps the clock right") {
  CHECK(clock_of(STA_PLL | STA_NANO, -1234).get("sys.clock.offset") == -0.001234);
  CHECK(clock_of(STA_PLL, 1234).get("sys.clock.offset") == 1.234);
  CHECK(clock_of(STA_PLL, 0).get("sys.clock.synced") == 1);
  CHECK(clock_of(STA_PLL, 0).get("sys.clock.error") == 16000.0);
  const HostValues unsynced = clock_of(STA_UNSYNC | STA_NANO, 0);
  CHECK(unsynced.get("sys.clock.synced") == 0);
  CHECK_FALSE(unsynced.get("sys.clock.offset"));
  CHECK_FALSE(unsynced.get("sys.clock.error"));
}

TEST_CASE("random counters with resets never yield a negative or an impossible share of a core") {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    RandomCore core(seed);
    procfs::Last<procfs::CoreTimes> last;
    int64_t now_ns = 0;
    for (int window = 0; window < 50; ++window) {
      const uint64_t ticks = core.below(300);
      now_ns += static_cast<int64_t>(ticks) * 10'000'000;
      HostValues values;
      core_values(last.exchange(core.next(ticks), now_ns), 100, core.one_in(2) ? Formulas::reference : Formulas::atalaya, values);
      for (const atalaya_field &field : values.fields()) {
        REQUIRE(field.value.f64 >= 0);
        REQUIRE(field.value.f64 <= 100.01);
      }
      if (ticks == 0) REQUIRE(values.fields().empty());
    }
  }
}

TEST_CASE("a counter of a core that jumps further than time has no value; the others have theirs") {
  procfs::Last<procfs::CoreTimes> last;
  procfs::CoreTimes before{0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, after{50, 0, 25, 25, 0, 0, 0, uint64_t{1} << 60, 0, 0};
  HostValues values;
  core_values(last.exchange(before, 1), 100, Formulas::atalaya, values);
  core_values(last.exchange(after, 1'000'000'001), 100, Formulas::atalaya, values);
  CHECK_FALSE(values.get("sys.cpu.steal"));
  CHECK(values.get("sys.cpu.user") == 50.0);
  CHECK(values.get("sys.cpu.usage") == 75.0);
}

TEST_CASE("random disk counters of any size yield finite rates that are not negative") {
  std::mt19937_64 random(7);
  procfs::Last<procfs::DiskCounters> last;
  for (int64_t window = 1; window < 20000; ++window) {
    const auto any = [&random]() -> procfs::Count {
      if (random() % 16 == 0) return std::nullopt;
      return random() >> (random() % 64);
    };
    const procfs::DiskCounters now{any(), any(), any(), any(), any(), any(), any(), any(),
                                   any(), any(), any(), any(), any(), any(), any(), any()};
    HostValues values;
    disk_values(last.exchange(now, window), values);
    for (const atalaya_field &field : values.fields()) {
      REQUIRE(std::isfinite(field.value.f64));
      REQUIRE(field.value.f64 >= 0);
    }
  }
}

TEST_CASE("entities that are missing for a round are removed") {
  procfs::History<procfs::InterfaceCounters> history;
  procfs::InterfaceCounters counters;
  const auto rate_at = [&](int64_t at_ns, uint64_t packets) {
    counters.packets_in = packets;
    history.begin(at_ns);
    const auto rate = history.exchange("eth0", counters).per_second(&procfs::InterfaceCounters::packets_in);
    history.end();
    return rate;
  };
  CHECK_FALSE(rate_at(1'000'000'000, 10));
  CHECK(rate_at(3'000'000'000, 30) == 10.0);
  history.begin(4'000'000'000);
  history.end();
  CHECK_FALSE(rate_at(5'000'000'000, 50));
}

TEST_CASE("space of a file system as df counts it") {
  HostValues values;
  space_values({.block_bytes = 4096, .blocks = 25600, .free = 10240, .available = 7680, .inodes = 1000, .free_inodes = 900},
               values);
  CHECK(values.get("sys.fs.size") == 100.0);
  CHECK(values.get("sys.fs.used") == 60.0);
  CHECK(values.get("sys.fs.free") == 40.0);
  CHECK(values.get("sys.fs.available") == 30.0);
  CHECK(values.get("sys.fs.usage") == 66.67);  // 60 of 60 + 30
  CHECK(values.get("sys.fs.inodes.free") == 900);
  values.clear();
  space_values({.block_bytes = 4096, .blocks = 10, .free = 10, .available = 10}, values);
  CHECK_FALSE(values.get("sys.fs.inodes.total"));
  CHECK(values.get("sys.fs.usage") == 0.0);
  values.clear();
  space_values({}, values);
  CHECK(values.fields().empty());
}

std::vector<FileSystem> selected(std::string_view mountinfo) {
  std::vector<procfs::Mount> mounts;
  parse_mountinfo(mountinfo, mounts);
  return select_file_systems(mounts, {"ext4", "btrfs"});
}

TEST_CASE("file systems: each device once, where its root is, and nothing that is hidden or of another type") {
  const auto found = selected(
      "20 1 8:2 /docker/hosts /etc/hosts rw - ext4 /dev/sda2 rw\n"
      "21 1 8:1 / / rw shared:1 master:2 - ext4 /dev/sda1 rw\n"
      "22 1 8:1 /srv /bind rw - ext4 /dev/sda1 rw\n"
      "23 1 8:2 / /data\\040two rw - ext4 /dev/sda2 rw\n"
      "24 1 0:40 / /nfs rw - nfs4 server:/x rw\n"
      "25 1 8:3 / /covered rw - ext4 /dev/sda3 rw\n"
      "26 1 0:41 / /covered rw - btrfs /dev/mapper/vg-x rw\n"
      "27 1 0:5 / /proc rw - proc proc rw\n");
  REQUIRE(found.size() == 3);
  CHECK(found[0].mount == "/data two");
  CHECK(found[0].disk == "sda2");
  CHECK(found[1].mount == "/");
  CHECK(found[2].mount == "/covered");
  CHECK(found[2].disk == "mapper/vg-x");
}

}  // namespace
}  // namespace atalaya::proc
