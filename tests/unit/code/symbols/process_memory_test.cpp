// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/symbols/process/process_memory.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>

namespace atalaya::symbols {
namespace {

std::string perf_map_path() {
  return "/tmp/perf-" + std::to_string(::getpid()) + ".map";
}

}  // namespace

TEST_CASE("a process is marked by its start and the position of its program") {
  const auto mark =
      parse_mark("7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 555 1000 20 18446744073709551615 11 22 33 0\n");
  REQUIRE(mark);
  CHECK(mark->start_ticks == 555);
  CHECK(mark->image == image_mark(11, 22, 33));
  CHECK_FALSE(parse_mark("7 (a) S 1"));
  CHECK_FALSE(parse_mark(""));
}

TEST_CASE("the status has the pid inside its namespace") {
  const auto status = parse_status("Name:\tx\nUid:\t1 2 3 4\nGid:\t5 6 7 8\nNSpid:\t100\t7\nSigCgt:\t0000000000000004\n");
  REQUIRE(status);
  CHECK(status->user == 2);
  CHECK(status->group == 6);
  CHECK(status->inner_pid == 7);
  CHECK(status->handled_signals == 4);
  CHECK_FALSE(parse_status("Name:\tx\n"));
}

TEST_CASE("a process that is not the one that was meant is not read") {
  ProcessMemory memory(::getpid());
  ProcessMark mark = *read_mark(::getpid());
  mark.image += 1;
  CHECK_FALSE(memory.refresh(mark));
  CHECK(memory.maps().mappings().empty());
}

TEST_CASE("exec makes another process of it, a fork does not") {
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ready[1], 1);
    ::execlp("sh", "sh", "-c", "echo; read x", nullptr);
    ::_exit(1);
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  const auto own = read_mark(::getpid()), other = read_mark(child);
  CHECK(other);
  CHECK(own->image != other->image);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

namespace {

// An anonymous page of code, as runtimes make it.
class Code {
 public:
  Code() : at_(::mmap(nullptr, kSize, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) { REQUIRE(at_ != MAP_FAILED); }
  Code(const Code &) = delete;
  Code &operator=(const Code &) = delete;
  ~Code() {
    ::munmap(at_, kSize);
    ::unlink(perf_map_path().c_str());
  }
  uint64_t address() const { return reinterpret_cast<uint64_t>(at_); }
  // A line that names its first bytes.
  std::string line(int size, const std::string &name) const {
    std::array<char, 64> text{};
    (void)std::snprintf(text.data(), text.size(), "%lx %x %s\n", address(), static_cast<unsigned>(size), name.c_str());
    return text.data();
  }

 private:
  static constexpr size_t kSize = 4096;
  void *at_;
};

}  // namespace

TEST_CASE("code made at run time is named by the perf map, as it is now") {
  const Code code;
  ProcessMemory memory(::getpid());
  ElfFiles files(1 << 20);
  const ProcessMark mark = *read_mark(::getpid());
  REQUIRE(memory.refresh(mark));
  CHECK(memory.find(code.address(), files).kind == CodeKind::runtime);
  CHECK(memory.find(code.address(), files).name.empty());
  std::ofstream(perf_map_path()) << code.line(16, "hot");
  REQUIRE(memory.refresh(mark));
  CHECK(memory.find(code.address(), files).name == "hot");
  CHECK(memory.find(code.address() + 16, files).name.empty());
  std::ofstream(perf_map_path()) << code.line(32, "other");
  REQUIRE(memory.refresh(mark));
  CHECK(memory.find(code.address() + 16, files).name == "other");
}

TEST_CASE("code is found while it is mapped, and in the one reading after") {
  ProcessMaps maps(::getpid());
  const ProcessMark mark = *read_mark(::getpid());
  REQUIRE(maps.refresh(mark));
  uint64_t address = 0;
  {
    const Code code;
    address = code.address();
    for (int reading = 0; reading < 3; ++reading) {
      REQUIRE(maps.refresh(mark));
      CHECK(maps.at(address) != nullptr);
    }
  }
  REQUIRE(maps.refresh(mark));
  CHECK(maps.at(address) != nullptr);
  REQUIRE(maps.refresh(mark));
  CHECK(maps.at(address) == nullptr);
}

TEST_CASE("a perf map of before the process is that of another one") {
  const Code code;
  std::ofstream(perf_map_path()) << code.line(16, "stale");
  const timespec long_ago[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  REQUIRE(::utimensat(AT_FDCWD, perf_map_path().c_str(), long_ago, 0) == 0);
  ProcessMemory memory(::getpid());
  ElfFiles files(1 << 20);
  REQUIRE(memory.refresh(*read_mark(::getpid())));
  CHECK_FALSE(memory.has_perf_map());
  std::ofstream(perf_map_path()) << code.line(16, "new");
  REQUIRE(memory.refresh(*read_mark(::getpid())));
  CHECK(memory.find(code.address(), files).name == "new");
}

TEST_CASE("of a perf map that is too long the end is read") {
  const Code code;
  std::ofstream(perf_map_path()) << code.line(32, "old");
  REQUIRE(::truncate(perf_map_path().c_str(), static_cast<off_t>(kMaxPerfMap)) == 0);
  std::ofstream(perf_map_path(), std::ios::app) << "\n" << code.line(16, "new");
  ProcessMemory memory(::getpid());
  ElfFiles files(1 << 20);
  REQUIRE(memory.refresh(*read_mark(::getpid())));
  CHECK(memory.find(code.address(), files).name == "new");
  CHECK(memory.find(code.address() + 16, files).name.empty());
}

TEST_CASE("a perf map behind a link is not followed") {
  ProcessMemory memory(::getpid());
  REQUIRE(::symlink("/etc/passwd", perf_map_path().c_str()) == 0);
  REQUIRE(memory.refresh(*read_mark(::getpid())));
  CHECK_FALSE(memory.has_perf_map());
  ::unlink(perf_map_path().c_str());
}

}  // namespace atalaya::symbols
