// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/io/tail/fixture.h"

namespace atalaya::testing {
namespace fs = std::filesystem;

TEST_CASE("tail: whole lines come once, a part of one waits for its end") {
  const TemporaryFolder folder;
  Writer writer(folder.path() + "/log");
  Reader reader({.path = writer.path()});
  writer.write("one\ntwo\nthr");
  CHECK(reader.look() == Lines{"one", "two"});
  CHECK(reader.look().empty());
  writer.write("ee\n\nfive\n");
  CHECK(reader.look() == Lines{"three", "", "five"});
  CHECK(reader.look(100).empty());
}

TEST_CASE("tail: a file that is there at the first look is read from its begin, or only on") {
  const TemporaryFolder folder;
  Writer writer(folder.path() + "/log");
  writer.write("old\nhalf ");
  Reader all({.path = writer.path()}), on({.path = writer.path(), .from_begin = false});
  CHECK(all.look() == Lines{"old"});
  CHECK(on.look().empty());
  writer.write("line\nnew\n");
  CHECK(all.look() == Lines{"half line", "new"});
  CHECK(on.look() == Lines{"half line", "new"});
  Writer later(folder.path() + "/log2");
  Reader folder_on({.path = folder.path(), .from_begin = false});
  CHECK(folder_on.look().empty());
  Writer(folder.path() + "/log3").write("from its begin\n");
  CHECK(folder_on.look() == Lines{"from its begin"});
}

TEST_CASE("tail: a path that matches no file is logged at the first scan of a run") {
  const TemporaryFolder folder;
  std::string path = folder.path();
  SUBCASE("a file") {
    path += "/log";
  }
  SUBCASE("a glob") {
    path += "/l*g";
  }
  SUBCASE("a folder") {}
  SUBCASE("a file in a missing folder") {
    path += "/later/log";
  }
  Reader reader({.path = path});
  const Lines expected = {"path \"" + path + "\" matches no file yet; waiting for one"};
  CHECK(reader.look().empty());
  CHECK(reader.look().empty());
  CHECK(reader.said == expected);
  fs::create_directory(folder.path() + "/later");
  const std::string log = path.ends_with("/later/log") ? path : folder.path() + "/log";
  Writer(log).write("line\n");
  CHECK(reader.look() == Lines{"line"});
  reader.restart();
  CHECK(reader.look().empty());
  fs::remove(log);
  CHECK(reader.look(1'000'000).empty());
  CHECK(reader.said == expected);
}

TEST_CASE("tail: a renamed file is read to its end, before the one that follows it") {
  const TemporaryFolder folder;
  Writer writer(folder.path() + "/log");
  Reader reader({.path = writer.path()});
  writer.write("1\n");
  CHECK(reader.look() == Lines{"1"});
  writer.write("2\n");
  fs::rename(writer.path(), writer.path() + ".1");
  writer.write("3\n");  // the program has not reopened it yet
  Writer next(writer.path());
  next.write("4\n");
  CHECK(reader.look() == Lines{"2", "3", "4"});
  writer.write("5\n");
  next.write("6\n");
  CHECK(reader.look() == Lines{"5", "6"});
  writer.write("without a newline");
  CHECK(reader.look().empty());
  CHECK(reader.look(100) == Lines{"without a newline"});
  CHECK(reader.look(100).empty());
}

TEST_CASE("tail: files that were made and renamed between two looks are found by their names") {
  const TemporaryFolder folder;
  const std::string log = folder.path() + "/log";
  Writer(log + ".7").write("before we came\n");
  Reader reader({.path = log});
  CHECK(reader.look().empty());
  Writer(log).write("1\n");
  CHECK(reader.look() == Lines{"1"});
  Writer(log).write("2\n");
  fs::rename(log, log + ".3");
  Writer(log).write("3\n");
  fs::rename(log, log + ".2");
  Writer(log).write("4\n");
  fs::rename(log, log + ".1");
  Writer(log).write("5\n");
  Writer(log + "-other").write("another program's\n");
  CHECK(reader.look() == Lines{"2", "3", "4", "5"});
  CHECK(reader.look(100).empty());
}

TEST_CASE("tail: a deleted file is read to its end; one that is missing after a restart is logged") {
  const TemporaryFolder folder;
  Writer writer(folder.path() + "/log");
  Reader reader({.path = writer.path()});
  writer.write("1\n");
  CHECK(reader.look() == Lines{"1"});
  fs::remove(writer.path());
  writer.write("2\n");
  CHECK(reader.look() == Lines{"2"});
  CHECK(reader.look(100).empty());
  CHECK(reader.look().empty());
  CHECK(reader.tail->positions().empty());

  Writer again(writer.path());
  again.write("3\nhalf");
  CHECK(reader.look() == Lines{"3"});
  fs::remove(writer.path());
  reader.restart();
  CHECK(reader.look().empty());
  CHECK(reader.tail->losses().unseen_bytes == 0);  // its disk may come yet
  CHECK(reader.look(86'400).empty());
  CHECK(reader.tail->losses().unseen_bytes == 4);
  CHECK(reader.heard("was deleted; at least 4 bytes"));
}

TEST_CASE("tail: files are known again when their device has another number after a reboot") {
  const TemporaryFolder folder;
  Writer writer(folder.path() + "/log");
  Reader reader({.path = writer.path(), .from_begin = false});
  CHECK(reader.look().empty());
  writer.write("1\n2\n");
  CHECK(reader.look() == Lines{"1", "2"});
  fs::rename(writer.path(), writer.path() + ".1");
  writer.open();
  writer.write("3\n");
  CHECK(reader.look() == Lines{"3"});
  reader.tail->take_segments();
  const auto before = reader.tail->positions();
  writer.write("4\n");
  CHECK(reader.look() == Lines{"4"});
  auto batch = reader.tail->take_segments();
  auto positions = before;
  for (tail::Position &position : positions) ++position.id.device;
  for (tail::Segment &segment : batch) ++segment.id.device;
  writer.write("5\n");
  reader.begin();
  SUBCASE("all had arrived") {
    reader.tail->restore(positions, kBegan, {});
    CHECK(reader.look() == Lines{"4", "5"});
  }
  SUBCASE("a batch is made again, from the file that was renamed since") {
    fs::rename(writer.path() + ".1", writer.path() + ".2");
    fs::rename(writer.path(), writer.path() + ".1");
    writer.open();
    writer.write("6\n");
    reader.tail->restore(positions, kBegan, batch);
    reader.tail->scan(kBegan, reader.now += kSecond);
    reader.tail->replay(batch);
    CHECK(reader.rest() == Lines{"4"});
    CHECK(reader.look() == Lines{"5", "6"});
  }
  SUBCASE("another file has their names") {
    fs::remove(writer.path() + ".1");
    fs::remove(writer.path());
    writer.open();
    writer.write("9\n9\n");
    reader.tail->restore(positions, kBegan, {});
    CHECK(reader.look() == Lines{"9", "9"});
  }
  CHECK(reader.look(100).empty());
}

TEST_CASE("tail: a disk that comes after the agent brings nothing twice") {
  const TemporaryFolder folder;
  const std::string logs = folder.path() + "/logs";
  fs::create_directory(logs);
  Writer writer(logs + "/log");
  Reader reader({.path = writer.path()});
  writer.write("1\n");
  CHECK(reader.look() == Lines{"1"});
  reader.restart();
  fs::rename(logs, folder.path() + "/away");
  CHECK(reader.look().empty());
  reader.restart();
  CHECK(reader.look(3600).empty());
  writer.write("2\n");
  fs::rename(folder.path() + "/away", logs);
  CHECK(reader.look() == Lines{"2"});
}

TEST_CASE("tail: a finished file that one look misses, as it is renamed meanwhile, is not read again") {
  const TemporaryFolder folder;
  Writer writer(folder.path() + "/log");
  Reader reader({.path = writer.path()});
  writer.write("1\n");
  CHECK(reader.look() == Lines{"1"});
  fs::rename(writer.path(), writer.path() + ".1");
  writer.open();
  CHECK(reader.look(100).empty());  // it is finished
  fs::rename(writer.path() + ".1", folder.path() + "/.seen by no look");
  CHECK(reader.look().empty());
  fs::rename(folder.path() + "/.seen by no look", writer.path() + ".2");
  CHECK(reader.look().empty());
  CHECK(reader.look(100).empty());
  fs::remove(writer.path() + ".2");
  CHECK(reader.look().empty());
  CHECK(reader.look(10).empty());
  CHECK(reader.tail->positions().size() == 1);  // now it is forgotten
}

TEST_CASE("tail: the copy of a truncated file is read on, nothing twice") {
  const TemporaryFolder folder;
  Writer writer(folder.path() + "/log");
  Reader reader({.path = folder.path() + "/log*"});
  for (int i = 0; i < 100; ++i) writer.write("line " + std::to_string(i) + "\n");
  CHECK(reader.look().size() == 100);
  writer.write("after the look\n");
  fs::copy(writer.path(), writer.path() + ".1");
  CHECK(reader.look() == Lines{"after the look"});  // the copy is not read: it has the same begin
  writer.write("behind the copy\n");
  CHECK(reader.look() == Lines{"behind the copy"});
  fs::resize_file(writer.path(), 0);
  writer.write("again\n");
  CHECK(reader.look() == Lines{"again"});
  CHECK(reader.look(100).empty());
  CHECK(reader.tail->losses().truncations == 1);
  CHECK(reader.tail->losses().unseen_bytes == 0);

  writer.write("unseen before the copy\n");
  fs::rename(writer.path() + ".1", writer.path() + ".2");
  fs::copy(writer.path(), writer.path() + ".1");
  fs::resize_file(writer.path(), 0);
  writer.write("third\n");
  CHECK(reader.look() == Lines{"unseen before the copy", "third"});
  CHECK(reader.heard("is its copy and is read to its end"));
}

TEST_CASE("tail: after a restart, too, and with a path that does not name the copy") {
  const TemporaryFolder folder;
  Writer writer(folder.path() + "/log");
  Reader reader({.path = writer.path()});
  writer.write("1\n2\n");
  CHECK(reader.look() == Lines{"1", "2"});
  reader.restart();
  writer.write("3\n");
  fs::copy(writer.path(), writer.path() + "-20261122");
  fs::resize_file(writer.path(), 0);
  writer.write("4 is longer than all that was before it\n");
  CHECK(reader.look() == Lines{"3", "4 is longer than all that was before it"});
  CHECK(reader.tail->losses().truncations == 1);
}

TEST_CASE("tail: lines lost by a truncation are counted; a hole is no line") {
  const TemporaryFolder folder;
  Writer writer(folder.path() + "/log");
  Reader reader({.path = writer.path()});
  writer.write("1\nhalf of a line");
  CHECK(reader.look() == Lines{"1"});
  fs::resize_file(writer.path(), 0);
  writer.write("2\n");
  CHECK(reader.look() == Lines{"2"});
  CHECK(reader.tail->losses().unseen_bytes == 14);
  CHECK(reader.heard("at least 14 bytes"));

  // A program that continues where it was, without O_APPEND.
  fs::resize_file(writer.path(), 0);
  fs::resize_file(writer.path(), 1'000'000);
  writer.write("behind the hole\n");
  CHECK(reader.look() == Lines{"behind the hole"});
  fs::resize_file(writer.path(), 0);
  CHECK(reader.look().empty());  // it is seen empty
  fs::resize_file(writer.path(), 1'000'000);
  writer.write("behind another\n");
  CHECK(reader.look() == Lines{"behind another"});
  CHECK(reader.tail->losses().long_lines == 0);
}

TEST_CASE("tail: a truncated file that has grown beyond the old place is known by its content") {
  const TemporaryFolder folder;
  Writer writer(folder.path() + "/log");
  Reader reader({.path = writer.path()});
  writer.write("the same heading\nfirst\n");
  CHECK(reader.look().size() == 2);
  fs::resize_file(writer.path(), 0);
  writer.write("the same heading\nother\nmore\n");
  CHECK(reader.look() == Lines{"the same heading", "other", "more"});
}

TEST_CASE("tail: a used inode is not the old file") {
  const TemporaryFolder folder;
  Reader reader({.path = folder.path() + "/*.log"});
  for (int i = 0; i < 20; ++i) {
    const std::string path = folder.path() + "/" + std::to_string(i) + ".log";
    Writer(path).write("the same first line\nfile " + std::to_string(i) + "\n");
    CHECK(reader.look() == Lines{"the same first line", "file " + std::to_string(i)});
    CHECK(reader.look(100).empty());
    reader.restart();
    CHECK(reader.look().empty());
    reader.restart();
    fs::remove(path);
  }
}

TEST_CASE("tail: lines that are too long are left out, over looks and restarts") {
  const TemporaryFolder folder;
  Writer writer(folder.path() + "/log");
  Reader reader({.path = writer.path(), .max_line = 10});
  writer.write("0123456789\n0123456789a\nok\n" + std::string(50, 'x'));
  CHECK(reader.look() == Lines{"0123456789", "ok"});
  CHECK(reader.tail->losses().long_lines == 2);
  writer.write(std::string(50, 'y'));
  CHECK(reader.look().empty());
  reader.restart();
  writer.write("z\nnext\n");
  CHECK(reader.look() == Lines{"next"});
  CHECK(reader.tail->losses().long_lines == 0);  // it was counted before
  Reader large({.path = folder.path() + "/large", .max_line = 1 << 20});
  Writer(folder.path() + "/large").write(std::string(1'000'000, 'a') + "\n" + std::string(1'100'000, 'b') + "\nc\n");
  const Lines lines = large.look();
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].size() == 1'000'000);
  CHECK(lines[1] == "c");
}

TEST_CASE("tail: compressed files are left alone, by name or by content") {
  const TemporaryFolder folder;
  Reader reader({.path = folder.path()});
  Writer(folder.path() + "/log.1.gz").write("not read\n");
  Writer(folder.path() + "/odd").write("\x1f\x8b\x08 not read\n");
  Writer(folder.path() + "/.hidden").write("not read\n");
  Writer(folder.path() + "/log").write("read\n");
  CHECK(reader.look() == Lines{"read"});
  CHECK(reader.heard("odd\" is compressed"));
}

TEST_CASE("tail: a large backlog of one file does not stop the others") {
  const TemporaryFolder folder;
  const std::string block(1 << 20, 'x');
  Writer large(folder.path() + "/large");
  for (int i = 0; i < 40; ++i) large.write(block.substr(1) + "\n");
  Writer(folder.path() + "/small").write("small\n");
  Reader reader({.path = folder.path(), .max_line = 2 << 20});
  const Lines first = reader.look();
  CHECK(first.size() == 17);
  CHECK(std::find(first.begin(), first.end(), "small") != first.end());
  CHECK(reader.tail->has_unread_lines());
  CHECK(reader.drain().size() == 24);
  for (int i = 0; i < 3; ++i) {  // a writer of more than a look reads
    for (int j = 0; j < 20; ++j) large.write(block.substr(1) + "\n");
    CHECK(reader.drain(1).size() == 20);
    CHECK(reader.look().empty());
    CHECK(!reader.tail->has_unread_lines());
  }
}

TEST_CASE("tail: an unconfirmed batch is read again unchanged") {
  const TemporaryFolder folder;
  Writer writer(folder.path() + "/log");
  Reader reader({.path = writer.path()});
  bool at_begin = false;
  SUBCASE("from the begin of the file") {
    at_begin = true;
  }
  SUBCASE("further on") {}
  if (!at_begin) writer.write("1\n2\n");
  CHECK(reader.look().size() == (at_begin ? 0 : 2));
  reader.tail->take_segments();
  const auto before = reader.tail->positions();
  writer.write("3\n4\n");
  CHECK(reader.look() == Lines{"3", "4"});
  const auto batch = reader.tail->take_segments();
  const auto restart = [&] {
    reader.begin();
    reader.tail->restore(before, kBegan, batch);
    reader.tail->scan(kBegan, reader.now += kSecond);
    reader.tail->replay(batch);
    return reader.rest();
  };
  SUBCASE("its file has grown") {
    writer.write("5\n");
    CHECK(restart() == Lines{"3", "4"});
    CHECK(reader.tail->take_segments() == batch);
    CHECK(reader.look() == Lines{"5"});
  }
  SUBCASE("its file was renamed") {
    fs::rename(writer.path(), writer.path() + ".1");
    Writer(writer.path()).write("5\n");
    CHECK(restart() == Lines{"3", "4"});
    CHECK(reader.look() == Lines{"5"});
  }
  SUBCASE("its file was copied and truncated, and has the same size again") {
    writer.write("5\n");
    fs::copy(writer.path(), writer.path() + ".1");
    fs::resize_file(writer.path(), 0);
    writer.write(at_begin ? "6\n7\n" : "6\n7\n8\n9\n");
    CHECK(restart() == Lines{"3", "4"});
    CHECK(reader.look() == (at_begin ? Lines{"5", "6", "7"} : Lines{"5", "6", "7", "8", "9"}));
  }
  SUBCASE("its file was truncated") {
    fs::resize_file(writer.path(), 0);
    writer.write("6\n7\n");
    CHECK(restart().empty());
    CHECK(reader.heard("before the restart again (4 bytes)"));
    CHECK(reader.look() == Lines{"6", "7"});
  }
  SUBCASE("its file is gone") {
    fs::remove(writer.path());
    CHECK(restart().empty());
    CHECK(reader.heard("before the restart again (4 bytes)"));
  }
}

}  // namespace atalaya::testing
