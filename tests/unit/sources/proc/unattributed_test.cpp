// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/process/unattributed.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace atalaya::proc {
namespace {

constexpr uint64_t kNoise = 10;

// Passes of an Unattributed, with the host's counters as their growth.
class Passes {
 public:
  explicit Passes(uint64_t noise_ns = kNoise) : unattributed_(noise_ns) { unattributed_.add(busy_, {}, false); }

  Remainder add(const procfs::HostBusy &growth, const CpuTime &attributed) {
    busy_.user_ns += growth.user_ns;
    busy_.kernel_ns += growth.kernel_ns;
    busy_.irq_ns += growth.irq_ns;
    const auto remainder = unattributed_.add(busy_, attributed, false);
    REQUIRE(remainder);
    return *remainder;
  }

 private:
  procfs::HostBusy busy_{1000, 2000, 3000};
  Unattributed unattributed_;
};

void check(const Remainder &remainder, uint64_t irq, uint64_t user, uint64_t kernel) {
  CHECK(remainder.irq_ns == irq);
  CHECK(remainder.user_ns == user);
  CHECK(remainder.kernel_ns == kernel);
}

TEST_CASE("CPU time charged to no process is unattributed, in user and kernel time") {
  Passes passes;
  check(passes.add({100, 50, 0}, {100, 50}), 0, 0, 0);
  check(passes.add({100, 50, 0}, {40, 45}), 0, 60, 5);
  check(passes.add({0, 0, 0}, {0, 0}), 0, 0, 0);
}

TEST_CASE("interrupts come first") {
  Passes passes;
  check(passes.add({100, 50, 20}, {100, 50}), 20, 0, 0);
  check(passes.add({100, 50, 20}, {90, 50}), 20, 10, 0);
  check(passes.add({100, 50, 20}, {105, 50}), 15, 0, 0);
}

TEST_CASE("a debt is carried: nothing is reported until the host has caught up") {
  Passes passes;
  check(passes.add({100, 0, 0}, {130, 0}), 0, 0, 0);
  check(passes.add({100, 0, 0}, {90, 0}), 0, 0, 0);
  check(passes.add({100, 0, 0}, {70, 0}), 0, 10, 0);
}

TEST_CASE("where processes have too much of one kind and too little of the other, only the sum counts") {
  Passes passes;
  check(passes.add({100, 50, 0}, {120, 30}), 0, 0, 0);
  check(passes.add({100, 50, 0}, {100, 44}), 0, 0, 6);  // the kernel's 20 of before are user's 20 too many
}

TEST_CASE("interrupts that tasks were charged with do not pass for time that is lost later") {
  Passes passes;
  for (int i = 0; i < 100; ++i) check(passes.add({100, 50, 20}, {110, 60}), 0, 0, 0);
  check(passes.add({300, 50, 0}, {100, 50}), kNoise, 190, 0);
}

TEST_CASE("interrupts that wait for a debt are reported when it is paid") {
  Passes passes;
  check(passes.add({100, 0, 40}, {400, 0}), 0, 0, 0);
  check(passes.add({300, 0, 0}, {0, 0}), 40, 0, 0);
}

TEST_CASE("the first pass, a baseline and a counter that went down report nothing and start again") {
  Unattributed unattributed(kNoise);
  CHECK_FALSE(unattributed.add({100, 100, 100}, {}, false));
  CHECK(unattributed.add({200, 100, 100}, {150, 0}, false)->user_ns == 0);  // a debt of 50
  CHECK_FALSE(unattributed.add({300, 100, 100}, {0, 0}, true));
  CHECK(unattributed.add({340, 100, 100}, {0, 0}, false)->user_ns == 40);  // without it
  for (const procfs::HostBusy &less :
       {procfs::HostBusy{339, 100, 100}, procfs::HostBusy{400, 99, 100}, procfs::HostBusy{500, 200, 99}}) {
    CHECK_FALSE(unattributed.add(less, {1000, 1000}, false));
    procfs::HostBusy more = less;
    more.kernel_ns += 7;
    const auto next = unattributed.add(more, {0, 0}, false);
    REQUIRE(next);
    check(*next, 0, 0, 7);
    unattributed.add({600, 300, 300}, {}, true);
  }
}

// Running cores, of which the kernel counts whole ticks: the remainder below a tick comes with the next one.
class Host {
 public:
  static constexpr uint64_t kTick = 10'000'000;
  explicit Host(size_t cores, uint32_t seed) : cores_(cores), online_(cores), random_(seed) {}

  struct Window {
    procfs::HostBusy busy;
    CpuTime attributed;
  };

  Window next() {
    if (random_() % 10 == 0) online_ = 1 + random_() % cores_.size();
    CpuTime attributed;
    for (size_t i = 0; i < online_; ++i) {
      Core &core = cores_[i];
      const uint64_t user = amount(), kernel = amount(), irq = amount() / 10, lost_user = amount() / 50,
                     lost_kernel = amount() / 50;
      core.user += user + lost_user;
      core.kernel += kernel + lost_kernel;
      core.irq += irq;
      attributed.user_ns += user;
      attributed.kernel_ns += kernel;
    }
    Window window;
    window.attributed = attributed;
    for (const Core &core : cores_) {
      window.busy.user_ns += whole_ticks(core.user);
      window.busy.kernel_ns += whole_ticks(core.kernel);
      window.busy.irq_ns += whole_ticks(core.irq);
    }
    return window;
  }

 private:
  struct Core {
    uint64_t user = 0, kernel = 0, irq = 0;
  };
  uint64_t amount() { return random_() % 3 == 0 ? 0 : random_() % 700'000'000; }
  // A tick is counted up to half of one early or late.
  uint64_t whole_ticks(uint64_t ns) { return (ns + kTick / 2) / kTick * kTick; }

  std::vector<Core> cores_;
  size_t online_;
  std::mt19937_64 random_;
};

TEST_CASE("over many windows attributed + irq + unattributed equals the host's count, within a tick of each core") {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    constexpr size_t kCores = 8;
    // Three counters of each core are rounded here, by up to half a tick; a tick of each core in both directions.
    constexpr uint64_t kTolerance = 3 * kCores * Host::kTick;
    Host host(kCores, seed);
    Unattributed unattributed(kCores * Host::kTick);
    const procfs::HostBusy first = host.next().busy;
    unattributed.add(first, {}, false);
    uint64_t attributed = 0, emitted = 0, irq = 0, largest_rest = 0;
    for (int i = 0; i < 2000; ++i) {
      const Host::Window window = host.next();
      const auto rest = unattributed.add(window.busy, window.attributed, false);
      REQUIRE(rest);
      attributed += window.attributed.user_ns + window.attributed.kernel_ns;
      emitted += rest->irq_ns + rest->user_ns + rest->kernel_ns;
      irq += rest->irq_ns;
      largest_rest = std::max({largest_rest, rest->irq_ns, rest->user_ns, rest->kernel_ns});
      const uint64_t busy =
          window.busy.user_ns - first.user_ns + window.busy.kernel_ns - first.kernel_ns + window.busy.irq_ns - first.irq_ns;
      REQUIRE(attributed + emitted + kTolerance >= busy);
      REQUIRE(attributed + emitted <= busy + kTolerance);
      REQUIRE(irq <= window.busy.irq_ns - first.irq_ns);
    }
    CHECK(largest_rest < 10'000'000'000);  // none wrapped around
    CHECK(emitted > 0);
  }
}

}  // namespace
}  // namespace atalaya::proc
