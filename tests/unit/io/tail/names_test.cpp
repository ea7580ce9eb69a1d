// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/tail/file_names.h"

#include "tests/unit/io/tail/fixture.h"

namespace atalaya::testing {

TEST_CASE("tail: suffixes that rotation adds to a name, and others") {
  const Lines bases{"app", "app.log"};
  for (const char *name : {"app.log.1", "app.log-20261122", "app.log.2026-11-22_10:30", "app.log.old", "app.log.1.old.2"})
    CHECK_MESSAGE((tail::family_of(name, bases) == (std::string(name) == "app.log.1.old.2" ? "" : "app.log")), name);
  for (const char *name : {"app.log", "app", "app.log.bak2", "app.log-other", "app.log.", "other.1", "app1", ""})
    CHECK_MESSAGE(tail::family_of(name, bases).empty(), name);
  CHECK(tail::family_of("app.1", bases) == "app");
}

TEST_CASE("tail: a path, a folder and a glob") {
  const TemporaryFolder folder;
  for (const char *name : {"a.log", "a.log.1", "a.log.2.gz", "b.log", "c.txt", ".d.log"}) Writer(folder.path() + "/" + name);
  std::filesystem::create_directory(folder.path() + "/sub.log");
  const auto names = [&](const std::string &path) {
    Lines result;
    const auto found = tail::find_files(path, {});
    REQUIRE(found.ok());
    for (const tail::Found &one : found.value())
      result.push_back(one.path.substr(folder.path().size() + 1) +
                       (one.rotated() ? " of " + one.family.substr(folder.path().size() + 1) : "") +
                       (one.matched ? "" : " beside"));
    std::sort(result.begin(), result.end());
    return result;
  };
  CHECK(names(folder.path() + "/a.log") == Lines{"a.log", "a.log.1 of a.log beside"});
  CHECK(names(folder.path() + "/*.log") == Lines{"a.log", "a.log.1 of a.log beside", "b.log"});
  CHECK(names(folder.path()) == Lines{"a.log", "a.log.1 of a.log", "b.log", "c.txt"});
  // A link counts on the path, and not elsewhere.
  std::filesystem::create_symlink("/etc/passwd", folder.path() + "/a.log.3");
  std::filesystem::create_symlink("c.txt", folder.path() + "/link");
  CHECK(names(folder.path() + "/a.log") == Lines{"a.log", "a.log.1 of a.log beside"});
  CHECK(names(folder.path() + "/link") == Lines{"link"});
  CHECK(names(folder.path() + "/none").empty());
  CHECK(names(folder.path() + "/none/*/x").empty());
}

TEST_CASE("tail: the older of two files by their names") {
  const auto older = [](const char *a, const char *b) { return tail::older_name({a, "/x/log", true}, {b, "/x/log", true}); };
  CHECK(older("/x/log.2", "/x/log.1"));
  CHECK(older("/x/log.10", "/x/log.9"));
  CHECK(older("/x/log.1", "/x/log"));
  CHECK(older("/x/log-20261121", "/x/log-20261122"));
  CHECK_FALSE(older("/x/log", "/x/log.1"));
}

}  // namespace atalaya::testing
