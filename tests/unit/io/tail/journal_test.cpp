// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/tail/journal.h"

#include <algorithm>

#include "plugins/shared/io/tail/journal_file.h"
#include "tests/unit/io/tail/fixture.h"

namespace atalaya::testing {
namespace {

tail::Position position(uint64_t inode, int64_t offset) {
  return {{1, inode}, "/logs/" + std::to_string(inode), offset, offset, false, {}, {}};
}

tail::Journal journal_of(uint64_t files) {
  tail::Journal journal{.began_ns = 5};
  for (uint64_t inode = 0; inode < files; ++inode) journal.positions.push_back(position(inode, 100));
  return journal;
}

// As another agent would find it, its files by their numbers.
tail::Journal back_from(const std::string &path) {
  auto kept = tail::JournalFile(path).read();
  CHECK(kept.problem.empty());
  std::sort(kept.journal.positions.begin(), kept.journal.positions.end(), [](const auto &a, const auto &b) { return a.id < b.id; });
  return kept.journal;
}

void check_same(const tail::Journal &a, const tail::Journal &b) {
  CHECK(a.began_ns == b.began_ns);
  CHECK(a.positions == b.positions);
  CHECK(a.batch_time_ns == b.batch_time_ns);
  CHECK(a.segments == b.segments);
  CHECK(a.own == b.own);
}

}  // namespace

TEST_CASE("tail: a journal comes back as it was") {
  const TemporaryFolder folder;
  const tail::Journal journal{.began_ns = 5,
                              .positions = {{{1, 2}, "/var/log/a b%\n\xff", 300, 400, true, {256, 7}, {256, 4294967295}},
                                            {{1, 3}, "x", 0, 0, false, {}, {}}},
                              .batch_time_ns = 99,
                              .segments = {{{1, 2}, 0, 300, {256, 1}, {256, 2}}},
                              .own = {"open span", ""}};
  const std::string path = folder.path() + "/journal";
  REQUIRE(tail::JournalFile(path).write(journal).ok());
  check_same(back_from(path), journal);
}

TEST_CASE("tail: no journal is an empty one; one that is cut or changed is an error with the reason") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/journal";
  CHECK(back_from(path).positions.empty());
  const std::string text = tail::journal_text({1, 1, {{{1, 2}, "/x", 3, 4, false, {3, 1}, {3, 1}}}, 0, {}, {}});
  for (size_t size = 0; size < text.size(); ++size) CHECK_FALSE(tail::parse_journal(text.substr(0, size)).ok());
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    CHECK_FALSE(tail::parse_journal(changed).ok());
  }
  const std::string said = path + " is incomplete; renamed to " + path + ".damaged";
  for (const char *other : {"something else", ""}) {
    std::ofstream(path) << other;
    const auto kept = tail::JournalFile(path).read();
    CHECK(kept.problem == said);
    CHECK(kept.journal.began_ns == 0);
    CHECK_FALSE(std::filesystem::exists(path));
  }
}

TEST_CASE("tail: a journal that could not be read back is not written") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/journal";
  tail::JournalFile file(path);
  tail::Journal journal{.began_ns = 5};
  REQUIRE(file.write(journal).ok());
  journal.own.emplace_back(tail::kMaxJournalBytes, 'x');
  for (int i = 0; i < 2; ++i) {
    const auto done = file.write(journal);
    REQUIRE_FALSE(done.ok());
    CHECK(done.error().find("bytes exceeds the maximum") != std::string::npos);
  }
  CHECK(back_from(path).own.empty());
  journal.own = {"short"};
  REQUIRE(file.write(journal).ok());
  check_same(back_from(path), journal);
}

TEST_CASE("tail: of many files only those are written that have changed") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/journal", recent = path + ".recent";
  tail::JournalFile file(path);
  tail::Journal journal = journal_of(1000);
  REQUIRE(file.write(journal).ok());
  const auto whole = std::filesystem::file_size(path);
  const auto inode = [&path] {
    struct stat found {};
    REQUIRE(::stat(path.c_str(), &found) == 0);
    return found.st_ino;
  };
  const auto written = inode();  // a rewritten journal is another file
  REQUIRE(file.write(journal).ok());
  CHECK_FALSE(std::filesystem::exists(recent));  // nothing has changed
  const auto step = [&] {
    REQUIRE(file.write(journal).ok());
    check_same(back_from(path), journal);
    CHECK(inode() == written);
    CHECK(std::filesystem::file_size(recent) < whole / 7);
  };
  journal.positions[7].offset = 200;
  journal.batch_time_ns = 9;
  journal.segments = {{{1, 7}, 100, 200, {}, {}}};
  step();
  journal.positions.push_back(position(1000, 5));
  journal.batch_time_ns = 0;
  journal.segments.clear();
  journal.own = {"open"};
  step();
  journal.positions.erase(journal.positions.begin() + 3);
  journal.positions[6].offset = 100;  // as it was
  journal.own.clear();
  step();
  journal.positions.pop_back();
  journal.positions.insert(journal.positions.begin() + 3, position(3, 100));
  step();  // all as at first
  for (size_t i = 0; i < 120; ++i) journal.positions[i].offset += 50;
  step();
  for (size_t i = 0; i < 200; ++i) journal.positions[i].offset += 50;
  REQUIRE(file.write(journal).ok());
  CHECK(inode() != written);
  check_same(back_from(path), journal);
}

TEST_CASE("tail: changes are of one journal only") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/journal", recent = path + ".recent";
  tail::Journal journal = journal_of(20);
  tail::JournalFile first(path);
  REQUIRE(first.write(journal).ok());
  journal.positions[0].offset = 200;
  REQUIRE(first.write(journal).ok());
  // The next agent begins with all of it, and whoever is killed then leaves changes that are in it already.
  journal.positions[0].offset = 100;
  tail::JournalFile second(path);
  REQUIRE(second.write(journal).ok());
  check_same(back_from(path), journal);
  CHECK_FALSE(std::filesystem::exists(recent));
  CHECK_FALSE(tail::parse_journal(tail::recent_text({})).ok());
  CHECK_FALSE(tail::parse_recent(tail::journal_text({})).ok());
}

TEST_CASE("tail: a journal is later than the one before, also when the clock was set back") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/journal";
  constexpr int64_t kFuture = 4'000'000'000'000'000'000;
  tail::Journal journal = journal_of(2);
  journal.written_ns = kFuture;
  std::ofstream(path) << tail::journal_text(journal);
  tail::JournalFile file(path);
  REQUIRE(file.read().problem.empty());
  REQUIRE(file.write(journal).ok());
  CHECK(back_from(path).written_ns > kFuture);
}

TEST_CASE("tail: if the changes are damaged, the journal is used without them") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/journal", recent = path + ".recent";
  const tail::Journal journal = journal_of(20);
  const std::string said = recent + " is incomplete; renamed to " + recent + ".damaged";
  for (const bool is_empty : {false, true}) {
    tail::JournalFile file(path);
    REQUIRE(file.write(journal).ok());
    tail::Journal later = journal;
    later.positions[1].offset = 200;
    REQUIRE(file.write(later).ok());
    std::filesystem::resize_file(recent, is_empty ? 0 : std::filesystem::file_size(recent) - 1);
    const auto kept = tail::JournalFile(path).read();
    CHECK(kept.problem == said);
    check_same(kept.journal, journal);
  }
}

TEST_CASE("tail: changes to a journal that is gone, or an older one, are none") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/journal", recent = path + ".recent", older = folder.path() + "/older";
  tail::Journal journal = journal_of(20);
  REQUIRE(tail::JournalFile(path).write(journal).ok());
  std::filesystem::copy_file(path, older);
  tail::JournalFile file(path);
  const auto write = [&] {
    ++journal.positions[1].offset;
    REQUIRE(file.write(journal).ok());
  };
  write();
  write();
  std::filesystem::copy_file(older, path, std::filesystem::copy_options::overwrite_existing);
  CHECK(tail::JournalFile(path).read().problem ==
        recent + " has changes to another journal than " + path + "; renamed to " + recent + ".damaged");
  std::filesystem::remove(path);
  write();  // the process that removed it finds a new one
  check_same(back_from(path), journal);
  write();
  std::filesystem::remove(path);
  CHECK(tail::JournalFile(path).read().problem ==
        recent + " has changes to " + path + ", which is missing; renamed to " + recent + ".damaged");
}

}  // namespace atalaya::testing
