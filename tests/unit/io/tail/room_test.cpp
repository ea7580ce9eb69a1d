// SPDX-License-Identifier: Apache-2.0
// More files than may be open at a time.
#include <sys/resource.h>

#include <algorithm>

#include "tests/unit/io/tail/fixture.h"

namespace atalaya::testing {
namespace {

namespace fs = std::filesystem;

// Of this process, in the folder.
size_t open_in(const std::string &folder) {
  size_t count = 0;
  for (const auto &entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (fs::read_symlink(entry.path(), gone).string().starts_with(folder + "/")) ++count;
  }
  return count;
}

// Written long before the tests' clocks begin.
void write_finished(const std::string &path, const std::string &text) {
  Writer(path).write(text);
  const timespec long_ago[2] = {{1, 0}, {1, 0}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), long_ago, 0) == 0);
}

}  // namespace

TEST_CASE("tail: thousands of finished files are read once each, few of them open at a time") {
  constexpr size_t kFiles = 3000, kOpen = 100;
  const TemporaryFolder folder;
  const auto path = [&](size_t i) { return folder.path() + "/task_" + std::to_string(i) + ".log"; };
  Lines written;
  for (size_t i = 0; i < kFiles; ++i) {
    written.push_back("line of " + std::to_string(i));
    write_finished(path(i), written.back() + (i % 3 == 0 ? "\nand a half" : "\n"));
  }
  std::sort(written.begin(), written.end());

  Reader reader({.path = folder.path(), .max_files = kOpen});
  Lines seen;
  const auto read_on = [&] {
    for (const std::string &line : reader.look(0)) seen.push_back(line);
    CHECK(open_in(folder.path()) <= kOpen);
    return reader.tail->has_unread_lines();
  };
  size_t looks = 0, restart_after = kFiles;
  SUBCASE("in one run") {}
  SUBCASE("with a restart on the way") {
    restart_after = 7;
  }
  while (read_on())
    if (++looks == restart_after) reader.restart();
  CHECK(looks <= 2 * kFiles / kOpen + 2);
  std::sort(seen.begin(), seen.end());
  CHECK(seen == written);
  CHECK(std::count_if(reader.said.begin(), reader.said.end(), [](const auto &text) {
          return text.find("more than max_files = 100") != std::string::npos;
        }) == (restart_after == kFiles ? 1 : 2));

  reader.restart();
  CHECK(reader.drain().empty());
  CHECK(reader.drain(100).empty());
  for (const size_t i : {size_t{0}, kFiles / 2, kFiles - 1}) Writer(path(i)).write(" goes on\n");
  CHECK(reader.drain(1) == Lines{"and a half goes on", "and a half goes on", " goes on"});
  CHECK(reader.tail->losses() == tail::Losses{});
}

TEST_CASE("tail: a batch under way is made again, for any number of older files") {
  constexpr size_t kOpen = 3;
  const TemporaryFolder folder;
  const std::string log = folder.path() + "/z.log";
  for (size_t i = 0; i < 2 * kOpen; ++i) write_finished(folder.path() + "/task_" + std::to_string(i), "old\n");
  Writer writer(log), other(folder.path() + "/y.log");
  writer.write("1\n");
  other.write("1\n");
  Reader reader({.path = folder.path(), .max_files = kOpen});
  CHECK(reader.drain().size() == 2 * kOpen + 2);
  reader.tail->take_segments();
  auto positions = reader.tail->positions();
  other.write("2\n");
  writer.write("2\n3\n");
  CHECK(reader.drain() == Lines{"2", "2", "3"});
  auto batch = reader.tail->take_segments();
  REQUIRE(batch.size() == 2);
  const auto renumber = [&] {
    for (tail::Position &position : positions) ++position.id.device;
    for (tail::Segment &segment : batch) ++segment.id.device;
  };
  SUBCASE("its files are unchanged") {}
  SUBCASE("with other numbers") {
    renumber();
  }
  SUBCASE("renamed, with other numbers") {
    renumber();
    fs::rename(log, log + ".1");
  }
  SUBCASE("copied and truncated") {
    fs::copy(log, log + ".1");
    fs::resize_file(log, 0);
  }
  reader.begin();
  reader.tail->restore(positions, kBegan, batch);
  reader.tail->scan(kBegan, reader.now += kSecond);
  reader.tail->replay(batch);
  CHECK(open_in(folder.path()) <= kOpen + 2);  // two are the writers'
  CHECK(reader.rest() == Lines{"2", "2", "3"});
  CHECK(reader.tail->take_segments().size() == batch.size());
  CHECK(reader.drain().empty());
  other.write("4\n");
  CHECK(reader.drain(1) == Lines{"4"});
  CHECK(reader.drain(100).empty());
  CHECK(!reader.heard("cannot read the last lines"));
}

TEST_CASE("tail: a batch under way is made again with fewer files open than it has") {
  const TemporaryFolder folder;
  for (const char *name : {"/a", "/b", "/c"}) Writer(folder.path() + name).write("1\n");
  Reader reader({.path = folder.path()}), with_less({.path = folder.path(), .max_files = 1});
  CHECK(reader.look().size() == 3);
  const auto batch = reader.tail->take_segments();
  with_less.tail->restore({}, kBegan, batch);
  with_less.tail->scan(kBegan, kSecond);
  with_less.tail->replay(batch);
  CHECK(with_less.rest().size() == 3);
  CHECK(with_less.drain(100).empty());
}

TEST_CASE("tail: files that grow keep others waiting, until they are quiet; that is reported once") {
  const TemporaryFolder folder;
  Writer a(folder.path() + "/a"), b(folder.path() + "/b"), c(folder.path() + "/c");
  for (Writer *writer : {&a, &b, &c}) writer->write("1\n");
  Reader reader({.path = folder.path(), .max_files = 2});
  CHECK(reader.look().size() == 2);
  for (int i = 0; i < 20; ++i) {
    a.write("a\n");
    b.write("b\n");
    CHECK(reader.look(5).size() == 2);
    CHECK(!reader.tail->has_unread_lines());
  }
  CHECK(reader.said.size() == 1);
  CHECK(reader.heard("more than max_files = 2"));
  a.write("a\n");
  CHECK(reader.look(8) == Lines{"a"});
  CHECK(reader.look(5) == Lines{"1"});  // b made room
  b.write("last of b\n");
  a.write("last of a\n");
  CHECK(reader.look(5) == Lines{"last of a"});  // it has just grown: it is not closed
  CHECK(reader.look(6) == Lines{"last of b"});  // c made room
  CHECK(reader.look(100).empty());
}

TEST_CASE("tail: waiting input is known by its file, so that rotation changes nothing") {
  const TemporaryFolder folder;
  const std::string b = folder.path() + "/b.log";
  write_finished(folder.path() + "/a.log", "a\n");
  Writer writer(b);
  writer.write("1\n");
  Reader reader({.path = folder.path() + "/*.log", .linger_ns = 2000 * kSecond, .max_files = 1});
  CHECK(reader.look() == Lines{"a"});
  fs::rename(b, b + ".1");
  writer.open();
  writer.write("2\n");
  CHECK(reader.look().empty());
  CHECK(reader.look(2000) == Lines{"1"});
  CHECK(reader.look(2000).empty());
  CHECK(reader.look() == Lines{"2"});
}

TEST_CASE("tail: from the end on, also those that wait at the first look") {
  const TemporaryFolder folder;
  Writer a(folder.path() + "/a"), b(folder.path() + "/b");
  a.write("old\n");
  b.write("old\n");
  Reader reader({.path = folder.path(), .from_begin = false, .max_files = 1});
  CHECK(reader.look().empty());
  a.write("a\n");
  b.write("b\n");
  CHECK(reader.look() == Lines{"a"});
  CHECK(reader.look(10) == Lines{"b"});
}

TEST_CASE("tail: a file deleted before its turn is counted") {
  const TemporaryFolder folder;
  Writer(folder.path() + "/a").write("a\n");
  Writer(folder.path() + "/b").write("12345\n");
  Reader reader({.path = folder.path(), .max_files = 1});
  CHECK(reader.look() == Lines{"a"});
  fs::remove(folder.path() + "/b");
  CHECK(reader.look().empty());
  CHECK(reader.look(10).empty());
  CHECK(reader.tail->losses().unseen_bytes == 6);
}

TEST_CASE("tail: a file that was read once, grows, and is deleted before its turn is counted") {
  const TemporaryFolder folder;
  const std::string b = folder.path() + "/b";
  Writer a(folder.path() + "/a");
  write_finished(b, "b\n");
  Reader reader({.path = folder.path(), .max_files = 1});
  CHECK(reader.drain() == Lines{"b"});
  a.write("a\n");
  CHECK(reader.look() == Lines{"a"});
  Writer(b).write("12345\n");
  a.write("a\n");
  CHECK(reader.look() == Lines{"a"});
  bool gone = true;
  SUBCASE("in one run") {}
  SUBCASE("with a restart while it waits") {
    reader.restart();
  }
  SUBCASE("but not a file that is read in time") {
    gone = false;
  }
  if (gone) fs::remove(b);
  CHECK(reader.drain(10) == (gone ? Lines{} : Lines{"12345"}));
  CHECK(reader.drain(100'000).empty());  // after a restart, a missing file is waited for a day
  CHECK(reader.tail->losses().unseen_bytes == (gone ? 6 : 0));
}

TEST_CASE("tail: a last line without an end is read when its file, closed meanwhile, is renamed") {
  const TemporaryFolder folder;
  const std::string a = folder.path() + "/a.log";
  write_finished(a, "1\nhalf");
  Writer(folder.path() + "/b.log").write("2\n");
  Reader reader({.path = folder.path(), .max_files = 1});
  CHECK(reader.drain() == Lines{"1", "2"});
  fs::rename(a, a + ".1");
  CHECK(reader.look(10) == Lines{"half"});
  CHECK(reader.look(100).empty());
}

TEST_CASE("tail: an empty rotated file keeps no other waiting, and is read when it is written to") {
  const TemporaryFolder folder;
  Writer a(folder.path() + "/a.log");
  a.write("1\n");
  Reader reader({.path = folder.path(), .max_files = 2});
  CHECK(reader.look() == Lines{"1"});
  Writer empty(folder.path() + "/a.log.1");
  Writer(folder.path() + "/b.log").write("b\n");
  CHECK(reader.look().empty());
  a.write("2\n");
  CHECK(reader.look(10) == Lines{"2"});
  CHECK(reader.tail->has_unread_lines());
  CHECK(reader.look() == Lines{"b"});
  empty.write("late\n");
  CHECK(reader.look(10) == Lines{"late"});
}

TEST_CASE("tail: a file that cannot be opened is logged once, and read later") {
  const TemporaryFolder folder;
  Writer(folder.path() + "/a").write("a\n");
  Writer(folder.path() + "/b").write("b\n");
  Reader reader({.path = folder.path()});
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const rlim_t next = static_cast<rlim_t>(core::Descriptor(::dup(0)).get());
  const rlimit one_more{next + 1, limit.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &one_more) == 0);
  Lines lines;
  for (int i = 0; i < 5; ++i)
    for (const std::string &line : reader.look()) lines.push_back(line);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  CHECK(lines == Lines{"a"});
  CHECK(reader.said.size() == 2);  // the file, and then the folder
  CHECK(reader.heard("b\": Too many open files; give the agent read access"));
  CHECK(reader.look() == Lines{"b"});
}

}  // namespace atalaya::testing
