// SPDX-License-Identifier: Apache-2.0
// Both ways to sample on the running host: a thread that works for a known time is seen in proportion to it.
#include "plugins/sources/perf/sampling/sampler.h"

#include <doctest/doctest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "plugins/shared/code/symbols/process/process_memory.h"
#include "tests/unit/without_bpf.h"

namespace atalaya::perf {
namespace {

constexpr int kFrequency = 499;

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// Until this thread has used so much CPU time.
double burn(double seconds) {
  double used = 0;
  while (used < seconds) used = cpu_seconds();
  return used;
}

// With one frame and more than 1 KiB of the stack in use for each `kib`. A sanitizer would make the frames larger.
__attribute__((noinline, no_sanitize("address", "undefined"))) double burn_below(size_t kib, double seconds) {
  std::array<volatile char, 1024> used{};
  const double worked = kib == 0 ? burn(seconds) : burn_below(kib - 1, seconds);
  used[kib] = 1;
  return worked;
}

struct Seen {
  uint64_t own = 0, all = 0, with_frames = 0;
  uint64_t whole = 0;  // up to the first function of the thread
  ProcessId id;
};

Seen take(Sampler &sampler, Totals &totals, size_t least_frames = 0) {
  Seen seen;
  totals = sampler.take([&](const StackCount &stack) {
    seen.all += stack.count;
    if (stack.process.pid != ::getpid()) return;
    seen.own += stack.count;
    seen.id = stack.process;
    if (!stack.user.empty()) seen.with_frames += stack.count;
    if (stack.end == End::root && stack.user.size() > least_frames) seen.whole += stack.count;
  });
  return seen;
}

// The thread that pumps a sampler.
class Pump {
 public:
  explicit Pump(Sampler &sampler)
      : thread_([this, &sampler] {
          while (!stopping_) sampler.pump(stop_, [&](const ProcessId &id, bool) { reported_ = reported_ || id.pid == ::getpid(); });
        }) {}
  ~Pump() {
    stopping_ = true;
    const uint64_t one = 1;
    CHECK(::write(stop_, &one, sizeof(one)) == sizeof(one));
    thread_.join();
    ::close(stop_);
  }
  bool has_reported() const { return reported_; }  // this process

 private:
  const int stop_ = ::eventfd(0, 0);
  std::atomic<bool> reported_ = false, stopping_ = false;
  std::thread thread_;
};

bool is_open(const core::Result<std::unique_ptr<Sampler>> &opened) {
  if (opened) return true;
  tests::skip_without_bpf(opened.error());
  return false;
}

void check(core::Result<std::unique_ptr<Sampler>> opened) {
  if (!is_open(opened)) return;
  Sampler &sampler = **opened;
  const Pump pump(sampler);
  Totals totals;
  take(sampler, totals);
  double seconds = 0;
  std::thread worker([&] { seconds = burn(0.5); });
  worker.join();
  for (int i = 0; i < 6000 && !pump.has_reported(); ++i) ::usleep(10'000);
  const Seen seen = take(sampler, totals);
  CHECK(seen.all + totals.lost == totals.samples);
  const Seen after = take(sampler, totals);

  // Of the ticks of a clock that is not the scheduler's.
  CHECK(static_cast<double>(seen.own) > kFrequency * seconds * 0.5);
  CHECK(static_cast<double>(seen.own) < kFrequency * seconds * 2 + 50);
  CHECK(seen.with_frames > 0);
  CHECK(after.own < seen.own);  // nothing is reported twice
  CHECK(pump.has_reported());
  const auto mark = symbols::read_mark(::getpid());
  const auto ticks = static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  CHECK(seen.id.image == mark->image);
  CHECK(seen.id.start_ns / (1'000'000'000 / ticks) == mark->start_ticks);
}

}  // namespace

TEST_CASE("in the kernel") {
  check(open_bpf_sampler({.frequency = kFrequency}));
}

TEST_CASE("from rings") {
  check(open_ring_sampler({.frequency = kFrequency}));
}

TEST_CASE("a copy has all frames of a stack of less than 64 KiB, and each sample is counted once") {
  auto opened = open_bpf_sampler({.frequency = kFrequency, .dwarf = true});
  if (!is_open(opened)) return;
  const Pump pump(**opened);
  Totals totals;
  for (const size_t kib : {0, 2, 5, 12, 20, 40}) {
    for (const bool first_thread : {false, true}) {
      CAPTURE(kib);
      CAPTURE(first_thread);
      take(**opened, totals);
      std::thread other([&] {
        if (!first_thread) burn_below(kib, 0.2);
      });
      if (first_thread) burn_below(kib, cpu_seconds() + 0.2);
      other.join();
      const Seen seen = take(**opened, totals, kib);
      CHECK(seen.all + totals.lost == totals.samples);
      // Another program may delay the reader of copies: what it missed is counted.
      CHECK(seen.own + totals.lost > kFrequency * 0.2 * 0.5);
      CHECK(seen.whole > 0);
      CHECK(seen.whole + totals.lost + totals.not_copied >
            kFrequency * 0.2 * 0.5);  // the reader works, too, and its stack is not as deep
    }
  }
  for (int i = 0; i < 6000 && !pump.has_reported(); ++i) ::usleep(10'000);
  CHECK(pump.has_reported());
}

// The ring has copies of large stacks for an eighth of a second: a reader that no copy wakes would miss three of four.
TEST_CASE("copies of stacks wake their reader before the ring is full") {
  const std::vector<std::string> own = {"unit_perf"};
  auto opened = open_bpf_sampler({.frequency = 999, .dwarf = true, .dwarf_processes = *io::MatcherList::parse(own)});
  if (!is_open(opened)) return;
  Totals totals;
  const Pump pump(**opened);
  std::thread([] { burn(0.1); }).join();
  for (int i = 0; i < 6000 && !pump.has_reported(); ++i) ::usleep(10'000);
  REQUIRE(pump.has_reported());
  take(**opened, totals);
  bool most_copied = false;  // once in three times, because a loaded host may delay the reader, too
  for (int i = 0; i < 3 && !most_copied; ++i) {
    std::thread([] { burn_below(40, 1); }).join();
    const Seen seen = take(**opened, totals);
    most_copied = seen.own > 250 && totals.not_copied < seen.own / 2;
  }
  CHECK(most_copied);
}

TEST_CASE("off-CPU requires BPF") {
  const auto opened = open_ring_sampler({.on_cpu = false, .off_cpu = true});
  CHECK_FALSE(opened);
  CHECK(opened.error() == "profile = \"offcpu\" requires BPF");
}

}  // namespace atalaya::perf
