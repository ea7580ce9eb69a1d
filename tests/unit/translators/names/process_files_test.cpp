// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/names/resolve/process_files.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <csignal>
#include <memory>

#include "tests/unit/translators/names/fake_processes.h"

namespace atalaya::testing {

using namespace names;

namespace {

struct Read {
  explicit Read(const std::string &root, int pid)
      : proc(::open((root + "/proc").c_str(), O_PATH | O_DIRECTORY)), files(proc.get(), pid, *buffer) {}
  core::Descriptor proc;
  std::unique_ptr<std::array<char, ProcessFiles::kBuffer>> buffer = std::make_unique<std::array<char, ProcessFiles::kBuffer>>();
  ProcessFiles files;
};

std::string said(const FakeProcesses &fake, int pid) {
  Read read(fake.root(), pid);
  return std::string(read.files.java_command());
}

}  // namespace

TEST_CASE("stat returns name, start and position of the program") {
  // Each field behind the name is its number, but for those named.
  const auto stat_of = [](const std::string &begin, int stack = 28) {
    std::string text = begin + " S";
    for (int field = 4; field <= 52; ++field) text += " " + std::to_string(field == 28 ? stack : field);
    return text + "\n";
  };
  const std::string text = stat_of("7 (od) d (n\name)");
  const auto stat = parse_stat(text);
  REQUIRE(stat);
  CHECK(stat->name == "od) d (n\name");
  CHECK(stat->start_ticks == 22);
  CHECK(stat->image != 0);
  CHECK(parse_stat(stat_of("7 (x)", 99))->image != stat->image);
  CHECK(parse_stat(stat_of("7 (x)", 0))->image == 0);  // the kernel does not show it
  for (const char *bad : {"", "7", "7 (x", "7 x) S", "7 )x( S 1", "7 (x) S 1 2"}) CHECK_FALSE(parse_stat(bad));
}

TEST_CASE("status has the effective user and the innermost number") {
  const auto owner = parse_owner("Name:\tNSpid:\nUid:\t1\t1000\t3\t4\nNSpid:\t77\t5\t1\nX:\t1\n");
  REQUIRE(owner);
  CHECK(owner->user == 1000);
  CHECK(owner->inner_pid == "1");
  CHECK(parse_owner("Uid:\t1\t2\nNSpid:\t../x\n")->inner_pid.empty());
  CHECK_FALSE(parse_owner(""));
  CHECK_FALSE(parse_owner("Uid:\t1\n"));
  CHECK_FALSE(parse_owner("Uid:\t1\t99999999999\n"));
}

TEST_CASE("a JVM's file is found by its number inside its container") {
  FakeProcesses fake;
  fake.put({.pid = 70, .name = "java", .words = {"java"}, .inner_pid = 1});
  CHECK(said(fake, 70).empty());
  fake.say(70, 70, "wrong.One");
  CHECK(said(fake, 70).empty());
  fake.say(70, 1, "a.B c");
  CHECK(said(fake, 70) == "a.B c");
  CHECK(said(fake, 71).empty());
}

TEST_CASE("a JVM's file that is none is not read") {
  FakeProcesses fake;
  fake.put({.pid = 70, .name = "java", .words = {"java"}});
  fake.say(70, 70, "a.B");
  const std::string folder = fake.folder(70) + "/root/tmp/hsperfdata_someone", file = folder + "/70";
  SUBCASE("a link") {
    std::filesystem::rename(file, folder + "/real");
    std::filesystem::create_symlink("real", file);
  }
  SUBCASE("a linked folder") {
    std::filesystem::rename(folder, fake.folder(70) + "/root/real");
    std::filesystem::create_directory_symlink("../real", folder);
  }
  SUBCASE("a linked /tmp") {
    std::filesystem::rename(fake.folder(70) + "/root/tmp", fake.folder(70) + "/root/real");
    std::filesystem::create_directory_symlink("real", fake.folder(70) + "/root/tmp");
  }
  SUBCASE("a pipe, which would keep its reader waiting") {
    std::filesystem::remove(file);
    REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  }
  SUBCASE("a folder") {
    std::filesystem::remove(file);
    std::filesystem::create_directory(file);
  }
  SUBCASE("another JVM's") {
    FakeProcesses::write(fake.folder(70) + "/maps", "7f0-7f8 rw-s 0 fe:0 7 /tmp/hsperfdata_someone/71\n");
  }
  SUBCASE("another user's") {
    FakeProcesses::write(fake.folder(70) + "/status", "Uid:\t0\t" + std::to_string(::geteuid() + 1) + "\t0\t0\nNSpid:\t70\n");
  }
  CHECK(said(fake, 70).empty());
}

TEST_CASE("data read of a process does not stay in memory, and a longer file is cut") {
  FakeProcesses fake;
  fake.put({.pid = 70, .name = "x", .words = {"x", std::string(ProcessFiles::kBuffer, 's')}});
  const core::Descriptor proc(::open((fake.root() + "/proc").c_str(), O_PATH | O_DIRECTORY));
  const auto buffer = std::make_unique<std::array<char, ProcessFiles::kBuffer>>();
  {
    ProcessFiles files(proc.get(), 70, *buffer);
    CHECK(files.read("cmdline").size() == ProcessFiles::kBuffer);
    CHECK((*buffer)[1000] == 's');
  }
  CHECK((*buffer)[1000] == 0);
}

TEST_CASE("a process of this host") {
  Read read("", ::getpid());
  CHECK(parse_stat(read.files.read("stat"))->start_ticks > 0);
  CHECK_FALSE(parse_owner(read.files.read("status"))->inner_pid.empty());
  CHECK(read.files.executable().find("unit_names") != std::string_view::npos);
  CHECK(read.files.read("nothing").empty());
  Read none("", INT_MAX);
  CHECK(none.files.read("stat").empty());
  CHECK(none.files.executable().empty());
  CHECK(none.files.java_command().empty());
}

}  // namespace atalaya::testing
