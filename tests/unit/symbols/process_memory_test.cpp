// SPDX-License-Identifier: Apache-2.0
#include "plugins/symbols/process_memory.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>

#include "plugins/jvm/attach.h"

namespace atalaya::symbols {
namespace {

std::string perf_map_path() {
  return "/tmp/perf-" + std::to_string(::getpid()) + ".map";
}

}  // namespace

TEST_CASE("a process is marked by its start and where its program lies") {
  const auto mark =
      parse_mark("7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 555 1000 20 18446744073709551615 11 22 33 0\n");
  REQUIRE(mark);
  CHECK(mark->start_ticks == 555);
  CHECK(mark->image == image_mark(11, 22, 33));
  CHECK_FALSE(parse_mark("7 (a) S 1"));
  CHECK_FALSE(parse_mark(""));
}

TEST_CASE("the status says who it is inside its namespace") {
  const auto status = parse_status("Name:\tx\nUid:\t1 2 3 4\nNSpid:\t100\t7\nSigCgt:\t0000000000000004\n");
  REQUIRE(status);
  CHECK(status->user == 2);
  CHECK(status->inner_pid == 7);
  CHECK(status->caught == 4);
  CHECK_FALSE(parse_status("Name:\tx\n"));
}

TEST_CASE("a process that is not the one that was meant is not read") {
  ProcessMemory memory(::getpid());
  ProcessMark mark = *read_mark(::getpid());
  mark.image += 1;
  CHECK_FALSE(memory.refresh(mark));
  CHECK(memory.mappings().empty());
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

TEST_CASE("code made at run time is named by the perf map, as it is now") {
  const size_t page = 4096;
  void *code = ::mmap(nullptr, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(code != MAP_FAILED);
  const auto address = reinterpret_cast<uint64_t>(code);
  ProcessMemory memory(::getpid());
  ElfFiles files(1 << 20);
  const ProcessMark mark = *read_mark(::getpid());
  REQUIRE(memory.refresh(mark));
  CHECK(memory.find(address, files).origin == Origin::runtime);
  CHECK(memory.find(address, files).name.empty());

  char line[64];
  (void)std::snprintf(line, sizeof(line), "%lx 10 hot\n", address);
  std::ofstream(perf_map_path()) << line;
  REQUIRE(memory.refresh(mark));
  CHECK(memory.find(address, files).name == "hot");
  CHECK(memory.find(address + 0x10, files).name.empty());
  (void)std::snprintf(line, sizeof(line), "%lx 20 other\n", address);
  std::ofstream(perf_map_path()) << line;
  REQUIRE(memory.refresh(mark));
  CHECK(memory.find(address + 0x10, files).name == "other");
  ::munmap(code, page);
  ::unlink(perf_map_path().c_str());
}

TEST_CASE("a perf map behind a link is not followed") {
  ProcessMemory memory(::getpid());
  REQUIRE(::symlink("/etc/passwd", perf_map_path().c_str()) == 0);
  REQUIRE(memory.refresh(*read_mark(::getpid())));
  CHECK_FALSE(memory.has_perf_map());
  ::unlink(perf_map_path().c_str());
}

TEST_CASE("requests to a JVM, and what it answers") {
  CHECK(jvm::request_bytes("Compiler.perfmap") == std::string("1\0jcmd\0Compiler.perfmap\0\0\0", 26));
  CHECK(*jvm::parse_answer("0\ndone\n") == "done\n");
  CHECK(jvm::parse_answer("").error() == "it answered nothing");
  CHECK(jvm::parse_answer("1\njava.lang.IllegalArgumentException: Unknown diagnostic command\n").error() ==
        "it refused: java.lang.IllegalArgumentException: Unknown diagnostic command");
}

TEST_CASE("a process that does not handle SIGQUIT is not sent it") {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGQUIT, SIG_DFL);
    for (;;) ::pause();
  }
  const auto answer = jvm::run_jcmd({child, read_mark(child)->start_ticks, *read_status(child)}, "VM.version", 1'000'000'000);
  CHECK_FALSE(answer);
  CHECK(answer.error() == "the JVM " + std::to_string(child) + " is stopped, or does not listen to signals (-Xrs)");
  CHECK(::waitpid(child, nullptr, WNOHANG) == 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace atalaya::symbols
