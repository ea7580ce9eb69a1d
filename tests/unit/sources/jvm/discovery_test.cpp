// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/discovery.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "plugins/shared/code/jvm/perf_map_refresh.h"
#include "tests/unit/temporary_folder.h"

namespace atalaya::jvm {

TEST_CASE("a process with HotSpot's library is a JVM, under any name") {
  const std::string library = "7f00-7f10 r-xp 00000000 fe:01 12 /opt/jdk/lib/server/libjvm.so\n";
  const std::string file = "7f10-7f20 rw-s 00000000 fe:01 13 /tmp/hsperfdata_me/77\n";
  CHECK(parse_jvm_maps(library + file, 77).is_jvm);
  CHECK(parse_jvm_maps(library + file, 77).shared_path == "/tmp/hsperfdata_me/77");
  CHECK(parse_jvm_maps(library, 77).is_jvm);
  CHECK(parse_jvm_maps(library, 77).shared_path.empty());
  CHECK_FALSE(parse_jvm_maps(file, 77).is_jvm);
  CHECK_FALSE(parse_jvm_maps("", 77).is_jvm);
}

TEST_CASE("names of processes may hold anything") {
  CHECK(comm_in("12 (java) S 1") == "java");
  CHECK(comm_in("12 (a) b (c) S 1") == "a) b (c");
  CHECK(comm_in("12 java").empty());
  CHECK(comm_in(")(").empty());
}

namespace {

// A file of this name that this process has mapped.
class Mapped {
 public:
  explicit Mapped(const std::string &path) {
    std::ofstream(path) << "x";
    const core::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    memory_ = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file.get(), 0);
    REQUIRE(memory_ != MAP_FAILED);
  }
  Mapped(const Mapped &) = delete;
  Mapped &operator=(const Mapped &) = delete;
  ~Mapped() { ::munmap(memory_, 4096); }

 private:
  void *memory_ = nullptr;
};

std::optional<FoundJvm> own(Discovery &discovery) {
  for (const FoundJvm &jvm : discovery.find())
    if (jvm.target.pid == ::getpid()) return jvm;
  return std::nullopt;
}

}  // namespace

TEST_CASE("a JVM is found when it has made its file, and not before") {
  const testing::TemporaryFolder folder;
  Discovery discovery;
  CHECK_FALSE(own(discovery));
  const Mapped library(folder / "libjvm.so");
  CHECK_FALSE(own(discovery));
  const std::string shared = folder / "hsperfdata_me";
  REQUIRE(::mkdir(shared.c_str(), 0755) == 0);
  const Mapped file(shared + "/" + std::to_string(::getpid()));
  const auto found = own(discovery);
  REQUIRE(found);
  CHECK(found->shared_path == shared + "/" + std::to_string(::getpid()));
  CHECK(found->comm == "unit_jvm");
  CHECK(found->target.mark == symbols::read_mark(::getpid()));

  // Without descriptors it is not lost.
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const core::Descriptor next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  for (const rlim_t maximum : {rlim_t{0}, static_cast<rlim_t>(next.get() + 2)}) {
    const rlimit few{maximum, limit.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    const auto still = own(discovery);
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK(still);
  }
}

TEST_CASE("a JVM that has ended gets no advice about its files") {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  const auto mark = symbols::read_mark(child);
  const auto status = symbols::read_status(child);
  REQUIRE(mark);
  REQUIRE(status);
  const Target target{child, *mark, *status};
  CHECK_FALSE(is_unreachable(target));
  ::kill(child, SIGKILL);
  siginfo_t ended{};
  ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);  // a zombie
  CHECK(is_unreachable(target));
  CHECK(reserve_perf_map(target).error().find("has ended") != std::string::npos);
  std::vector<std::string> reports;
  PerfMapRefresh refresh({}, [&reports](std::string_view text) { reports.emplace_back(text); });
  refresh.refresh(child, *mark, *status);
  ::waitpid(child, nullptr, 0);
  refresh.refresh(child, *mark, *status);
  CHECK(reports.empty());
  CHECK(refresh.take_failures() == 0);
}

}  // namespace atalaya::jvm
