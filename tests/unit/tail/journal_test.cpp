// SPDX-License-Identifier: Apache-2.0
#include "plugins/tail/journal.h"

#include "tests/unit/tail/fixture.h"

namespace atalaya::testing {

TEST_CASE("tail: a journal comes back as it was") {
  const TemporaryFolder folder;
  const tail::Journal journal{.began_ns = 5,
                              .positions = {{{1, 2}, "/var/log/a b%\n\xff", 300, 400, true, {256, 7}, {256, 4294967295}},
                                            {{1, 3}, "x", 0, 0, false, {}, {}}},
                              .batch_time_ns = 99,
                              .segments = {{{1, 2}, 0, 300, {256, 1}, {256, 2}}},
                              .own = {"open span", ""}};
  const std::string path = folder.path() + "/journal";
  REQUIRE(tail::write_journal(path, tail::journal_text(journal)).ok());
  auto back = tail::read_journal(path);
  REQUIRE_MESSAGE(back.ok(), (back ? "" : back.error()));
  CHECK(back->began_ns == 5);
  CHECK(back->positions == journal.positions);
  CHECK(back->batch_time_ns == 99);
  CHECK(back->segments == journal.segments);
  CHECK(back->own == journal.own);
}

TEST_CASE("tail: no journal is an empty one; one that is cut or changed is an error that says which") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/journal";
  CHECK(tail::read_journal(path)->positions.empty());
  const std::string text = tail::journal_text({1, {{{1, 2}, "/x", 3, 4, false, {3, 1}, {3, 1}}}, 0, {}, {}});
  for (size_t size = 0; size < text.size(); ++size) CHECK_FALSE(tail::parse_journal(text.substr(0, size)).ok());
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    CHECK_FALSE(tail::parse_journal(changed).ok());
  }
  std::ofstream(path) << "something else";
  CHECK(tail::read_journal(path).error() == path + " is not complete");
}

TEST_CASE("tail: a journal that could not be read back is not written") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/journal", text = tail::journal_text({.began_ns = 5});
  REQUIRE(tail::write_journal(path, text).ok());
  const auto done = tail::write_journal(path, std::string(tail::kMaxJournalBytes + 1, 'x'));
  REQUIRE_FALSE(done.ok());
  CHECK(done.error().find("more than can be read back") != std::string::npos);
  CHECK(tail::read_journal(path)->began_ns == 5);
}

}  // namespace atalaya::testing
