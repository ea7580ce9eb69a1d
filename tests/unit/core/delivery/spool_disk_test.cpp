// SPDX-License-Identifier: Apache-2.0
// A disk that is full: a small tmpfs in a mount namespace of a child process.
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>

#include "tests/unit/core/delivery/spool_fixture.h"

using namespace atalaya::core;
using namespace atalaya::core::test;
using atalaya::testing::TemporaryFolder;

namespace {

constexpr int kNoTmpfs = 77;

// Runs the checks on a tmpfs of 1 MiB; "" when all hold, else the first that does not. Nothing where tmpfs cannot be mounted.
std::optional<std::string> on_small_disk(const std::string &mount_point, const std::function<std::string()> &checks) {
  int answer[2];
  REQUIRE(::pipe(answer) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const int flags = ::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
    if (::unshare(flags) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=1m") != 0)
      ::_exit(kNoTmpfs);
    const std::string text = checks();
    const bool written = ::write(answer[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    ::_exit(written ? 0 : 1);
  }
  ::close(answer[1]);
  std::string text;
  char buffer[256];
  for (ssize_t size = 0; (size = ::read(answer[0], buffer, sizeof(buffer))) > 0;) text.append(buffer, static_cast<size_t>(size));
  ::close(answer[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoTmpfs) return std::nullopt;
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 0);
  return text;
}

std::string fill(const std::string &dir, WhenFull policy) {
  SpoolLimits limits = limits_in(dir);
  limits.max_bytes = int64_t{2} << 20;  // more than the disk has
  limits.when_full = policy;
  constexpr uint64_t kLast = 4000;
  uint64_t accepted = 0;
  {
    auto opened = Spool::open(limits);
    if (!opened) return opened.error();
    Spool &spool = **opened;
    bool full = false;
    for (uint64_t i = 0; i < kLast && !full; ++i) {
      const Spool::Put put = append(spool, i);
      if (put == Spool::Put::failed) return "an append failed";
      if (put != Spool::Put::full) accepted += 10;
      full = put == Spool::Put::full;
    }
    if (full != (policy == WhenFull::block)) return "full only when it blocks";
    if (!spool.sync()) return "a full disk can still be synced";
    // Delivery continues, and delivered records free space.
    SpoolDrops drops;
    for (int i = 0; i < 400; ++i) {
      if (!spool.take(drops)) return "nothing to take";
      spool.settle({.delivered = 10, .dead_letter = 0, .dropped = {}});
    }
    if (append(spool, kLast) != Spool::Put::stored) return "no room after delivery";
    accepted += 10;
  }
  auto again = Spool::open(limits);
  if (!again) return again.error();
  const auto left = drain(**again);
  const SpoolCounts counts = counts_of(**again);
  if (left.empty() || left.back() != kLast) return "the last one stored did not come";
  if (counts.queued() != 0 || counts.dropped.count("spool damaged") != 0) return "something is damaged";
  if (counts.delivered + counts.dropped_total() != accepted) return "it does not balance";
  if (policy == WhenFull::block && counts.dropped_total() != 0) return "it dropped though it blocks";
  return "";
}

}  // namespace

TEST_CASE("a full disk loses nothing that was stored, and the state can still be written") {
  for (const WhenFull policy : {WhenFull::drop_oldest, WhenFull::drop_newest, WhenFull::block}) {
    CAPTURE(static_cast<int>(policy));
    const TemporaryFolder folder;
    const auto failed = on_small_disk(folder.path(), [&] { return fill(folder / "s", policy); });
    if (!failed) {
      MESSAGE("no tmpfs can be mounted here; skipped");
      return;
    }
    CHECK(*failed == "");
  }
}

TEST_CASE("a disk with less free space than wanted counts as full, and a segment stays") {
  const TemporaryFolder folder;
  SpoolLimits limits = limits_in(folder / "s");
  limits.min_free_bytes = INT64_MAX / 2;
  const auto spool = open_spool(limits);
  SpoolDrops drops;
  CHECK(spool->append("p", 10, payload_of(1), drops).put == Spool::Put::dropped);
  CHECK(drops.back().reason == "spool full");
  limits.dir = folder / "t";
  limits.when_full = WhenFull::block;
  const auto blocking = open_spool(limits);
  CHECK(append(*blocking, 1) == Spool::Put::full);
}
