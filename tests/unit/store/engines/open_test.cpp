// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <grp.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "plugins/shared/store/location.h"
#include "tests/unit/store/engines/fixture.h"
#include "tests/unit/store/engines/old_schema.h"
#include "tests/unit/store/engines/small_disk.h"

namespace atalaya::store::test {
namespace {

std::string content(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The error of opening; "" if it opens.
std::string refusal(const std::string &path, Cause *cause = nullptr) {
  try {
    const Writer writer({path, {}, false}, [](uint32_t) { return std::string_view{}; });
  } catch (const Error &error) {
    if (cause != nullptr) *cause = error.cause();
    return error.what();
  }
  return "";
}

// An environment variable as it was before, at the end.
class Environment {
 public:
  Environment(const char *name, const char *value) : name_(name) {
    if (const char *old = std::getenv(name)) old_ = old;
    set(value);
  }
  Environment(const Environment &) = delete;
  Environment &operator=(const Environment &) = delete;
  ~Environment() { set(old_ ? old_->c_str() : nullptr); }

 private:
  void set(const char *value) { value == nullptr ? ::unsetenv(name_) : ::setenv(name_, value, 1); }
  const char *name_;
  std::optional<std::string> old_;
};

TEST_CASE("the default path: $ATALAYA_STORE, else the state folder, which is made") {
  const Folder folder;
  const std::string state = folder / "made/state";
  const Environment state_directory("STATE_DIRECTORY", state.c_str());
  {
    const Environment store("ATALAYA_STORE", "/some/where.db");
    CHECK(default_path() == "/some/where.db");
  }
  const Environment store("ATALAYA_STORE", nullptr);
  CHECK(default_path() == state + "/atalaya.db");
  CHECK(refusal("") == "");
  CHECK(std::filesystem::exists(state + "/atalaya.db"));
}

TEST_CASE("a folder that is missing, or none, is reported") {
  const Folder folder;
  Cause cause{};
  CHECK(refusal(folder / "none/a.db", &cause) ==
        "the store's folder " + (folder / "none") + ": No such file or directory; create it, or choose another path");
  CHECK(cause == Cause::config);
  CHECK(refusal(folder.path()) == "the store's path " + folder.path() + " is not a file; choose another path");
  std::ofstream(folder / "file") << "x";
  CHECK(refusal(folder / "file/a.db") == "the store's folder " + (folder / "file") + " is not a folder; choose another path");
}

TEST_CASE("a file of another program is refused and not touched") {
  const Folder folder;
  const std::string path = folder / "a.db";
  SUBCASE("a text") {
    std::ofstream(path) << std::string(5000, 'x');
    const std::string before = content(path);
    CHECK(refusal(path) == "database " + path + ": file is not a database; the file was left as it is: move it away and restart");
    CHECK(content(path) == before);
    CHECK_FALSE(std::filesystem::exists(path + "-reserve"));
  }
  SUBCASE("another SQLite database") {
    Database(path, Access::read_write).execute("CREATE TABLE theirs(x)");
    const std::string before = content(path);
    CHECK(refusal(path) ==
          "database " + path + " belongs to another program and was left as it is; choose another path for the store");
    CHECK(content(path) == before);
  }
}

TEST_CASE("a store of a newer version is refused") {
  TestStore store;
  store.writer();
  Database(store.path, Access::read_write).execute("PRAGMA user_version = 11");
  const std::string expected =
      "database " + store.path +
      " has schema version 11, this program knows up to 10; use the newer atalaya that wrote it, or choose "
      "another path";
  CHECK(refusal(store.path) == expected);
  CHECK_THROWS_WITH_AS(SqliteStore(store.path), expected.c_str(), Error);
}

TEST_CASE("a store of an older version is refused and left as it is") {
  TestStore store;
  store.writer();
  Database(store.path, Access::read_write).execute("PRAGMA user_version = 5");
  const std::string expected =
      "database " + store.path +
      " was made by an older version of atalaya (schema 5, this program reads 6 and newer ones); move it away, and the "
      "sink \"sqlite\" creates a new one";
  CHECK(refusal(store.path) == expected);
  CHECK_THROWS_WITH_AS(SqliteStore(store.path), expected.c_str(), Error);
  CHECK(store.number("PRAGMA user_version") == 5);
}

// The table of schema 7: with a counter of ids and other indexes.
constexpr const char *kOldWindows = R"sql(
CREATE TABLE old AS SELECT * FROM windows;
DROP TABLE windows;
CREATE TABLE windows(
  id INTEGER PRIMARY KEY AUTOINCREMENT, time_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, arrived_ns INTEGER NOT NULL,
  packed INTEGER NOT NULL DEFAULT 0);
INSERT INTO windows SELECT * FROM old;
DROP TABLE old;
CREATE UNIQUE INDEX windows_open ON windows(time_ns, duration_ns) WHERE packed = 0;
CREATE INDEX windows_time ON windows(time_ns);
CREATE INDEX windows_arrived ON windows(arrived_ns);
CREATE INDEX windows_packed ON windows(id) WHERE packed = 1;
)sql";

constexpr const char *kOldView = R"sql(
DROP VIEW points;
CREATE VIEW points(time, metric, host, pid, process, tags, value) AS
  SELECT w.time_ns / 1000000, m.name, e.host, e.pid, e.process, e.tags, f.value
  FROM windows w CROSS JOIN samples s ON s.window = w.id CROSS JOIN json_each(s.fields) b CROSS JOIN entities e ON e.id = b.key
       CROSS JOIN json_each(b.value) f CROSS JOIN metrics m ON m.id = f.key
  WHERE w.packed = 0;
)sql";

void check_upgrade(const std::string &version, bool is_packed) {
  CAPTURE(version);
  CAPTURE(is_packed);
  TestStore store;
  const auto write = [&](Writer &writer, int64_t second) {
    const int64_t time_ns = kNow + second * kSecond;
    auto samples = store.samples();
    samples.metrics(time_ns, {{"process", "java"}}).real("x", 1.5);
    samples.add(ATALAYA_STACK, time_ns, kSecond, {{"process", "java"}}, "main;run").count("profile.samples", 1);
    writer.write(samples.span(), time_ns);
  };
  const auto rest = [](Writer &writer, int64_t now_ns) {
    for (int i = 0; i < 40; ++i) writer.write({}, now_ns);
    while (writer.maintain(now_ns)) {
    }
  };
  const auto check = [&](int64_t windows) {
    SqliteStore reader(store.path);
    int64_t stacks = 0;
    reader.stacks({}, [&](const Stack &) { ++stacks; });
    CHECK(stacks == windows);
    CHECK(store.scan("x", "process", "java").size() == static_cast<size_t>(windows));
    const auto extent = reader.extent(kNow + kDay);
    REQUIRE(extent);
    CHECK(extent->from_ns == kNow - 1);
    CHECK(extent->to_ns == kNow + (windows - 1) * kSecond);
  };
  {
    Writer writer = store.writer();
    for (int64_t second = 0; second < 5; ++second) write(writer, second);
    if (is_packed) rest(writer, kNow + kDay);
  }
  CHECK(store.row_count() == (is_packed ? 0 : 5));
  const bool has_old_rows = version != "9";
  if (has_old_rows) make_rows_old(store.path);
  {
    Database database(store.path, Access::read_write);
    database.execute(kOldEntities);
    if (has_old_rows) database.execute(kOldView);
    if (version < "8") database.execute(kOldWindows);
    database.execute(("PRAGMA user_version = " + version).c_str());
  }
  CHECK(store.number("SELECT count(*) FROM samples WHERE fields LIKE '{\"1\":{\"1\":1.5}}'") ==
        (is_packed || !has_old_rows ? 0 : 5));
  check(5);
  CHECK(store.point_count() == (is_packed ? 0 : 5));
  CHECK(store.sql("PRAGMA user_version") == std::vector<std::string>{version});
  Writer writer = store.writer();
  CHECK(store.number("PRAGMA user_version") == 10);
  check(5);
  write(writer, 5);
  check(6);
  CHECK(store.sql("SELECT DISTINCT metric, process, value FROM points") == std::vector<std::string>{"x|java|1.5"});
  CHECK(store.point_count() == (is_packed ? 1 : 6));
  CHECK(store.number("SELECT max(id) FROM windows") == 6);
  CHECK(store.number("SELECT count(*) FROM sqlite_sequence WHERE name = 'windows'") == 0);
  write(writer, 3);  // again, into a row of the older schema
  check(6);
  rest(writer, kNow + 3 * kDay);
  CHECK(store.row_count() == 0);
  check(6);
  CHECK(store.sql("PRAGMA integrity_check") == std::vector<std::string>{"ok"});
}

TEST_CASE("a store of schema 6, 7, 8 or 9 is read as it is, and continued with the present schema") {
  for (const char *version : {"6", "7", "8", "9"})
    for (const bool is_packed : {false, true}) check_upgrade(version, is_packed);
}

// Of windows that are gone something may be left, after damage: it must not become a part of a new window.
TEST_CASE("the id of a window is not used again while samples or stacks refer to it") {
  TestStore store;
  {
    Writer writer = store.writer();
    for (int64_t i = 0; i < 3; ++i)
      writer.write(store.samples().metrics(kNow + i, {{"process", "java"}}).real("x", 1.5).span(), kNow);
  }
  Database(store.path, Access::read_write).execute("DELETE FROM windows WHERE id > 1");
  Writer writer = store.writer();
  writer.write(store.samples().metrics(kNow + 9, {{"process", "java"}}).real("x", 2).span(), kNow);
  CHECK(store.sql("SELECT id FROM windows ORDER BY 1") == std::vector<std::string>{"1", "4"});
  CHECK(store.scan("x", "process", "java").size() == 2);
}

TEST_CASE("a store has one writer; the next one may open it when the first is gone") {
  TestStore store;
  {
    const Writer writer = store.writer();
    CHECK(refusal(store.path) == "database " + store.path + " is being written by process " + std::to_string(::getpid()) +
                                     "; add the pipeline to that agent's file, stop that agent, or choose another path");
  }
  CHECK(refusal(store.path) == "");
}

TEST_CASE("a store is readable by its owner and group only, and keeps the mode that it was given later") {
  TestStore store;
  const mode_t mask = ::umask(022);
  const auto modes = [&] {
    std::map<std::string, unsigned> all;
    for (const auto &entry : std::filesystem::directory_iterator(store.folder.path()))
      all[entry.path().filename()] = static_cast<unsigned>(entry.status().permissions());
    return all;
  };
  {
    const Writer writer = store.writer();
    CHECK(modes() == std::map<std::string, unsigned>{{"atalaya.db", 0640},
                                                     {"atalaya.db-wal", 0640},
                                                     {"atalaya.db-shm", 0640},
                                                     {"atalaya.db-lock", 0640},
                                                     {"atalaya.db-reserve", 0640}});
  }
  std::filesystem::permissions(store.path, std::filesystem::perms{0644});
  store.writer();
  CHECK(modes().at("atalaya.db") == 0644);
  ::umask(mask);
}

TEST_CASE("files that root makes in a folder of the agent's user belong to that user") {
  constexpr uid_t kAgent = 65534;
  TestStore store;
  if (::chown(store.folder.path().c_str(), kAgent, kAgent) != 0) {
    MESSAGE("needs root: skipped");
    return;
  }
  std::filesystem::create_symlink(store.folder / "elsewhere", store.path + "-reserve");
  const Writer writer = store.writer();
  size_t files = 0;
  for (const auto &entry : std::filesystem::directory_iterator(store.folder.path())) {
    struct stat status {};
    REQUIRE(::lstat(entry.path().c_str(), &status) == 0);
    if (S_ISLNK(status.st_mode)) continue;
    CHECK_MESSAGE(status.st_uid == kAgent, entry.path());
    CHECK_MESSAGE(status.st_gid == kAgent, entry.path());
    ++files;
  }
  CHECK(files == 4);
}

TEST_CASE("the store behind a symbolic link that has no file yet is readable by its owner and group only") {
  TestStore store;
  const mode_t mask = ::umask(022);
  std::filesystem::create_symlink(store.folder / "elsewhere.db", store.path);
  store.writer();
  ::umask(mask);
  CHECK(std::filesystem::status(store.folder / "elsewhere.db").permissions() == std::filesystem::perms{0640});
}

TEST_CASE("a damaged store is refused and left as it is") {
  TestStore store;
  {
    Writer writer = store.writer();
    auto samples = store.samples();
    for (int i = 0; i < 2000; ++i) samples.metrics(kNow + i, {{"host", "ant"}}).real("a", i);
    writer.write(samples.span(), kNow);
  }
  std::string damaged = content(store.path);
  damaged.replace(100, 900, std::string(900, '\x7f'));
  std::ofstream(store.path, std::ios::binary) << damaged;
  const std::string text = refusal(store.path);
  CHECK(text.find(
            "database " + store.path +
            ": database disk image is malformed; the file was left as it is: end the agent, and run `atalaya store repair`") == 0);
  CHECK(content(store.path) == damaged);
}

TEST_CASE("reading a missing store is an error and creates none") {
  const Folder folder;
  const auto said = [](const std::string &path) -> std::string {
    try {
      const SqliteStore store(path);
      return "";
    } catch (const Error &error) {
      return error.what();
    }
  };
  const std::string path = folder / "a.db", remedy = "name another store with --store or $ATALAYA_STORE";
  CHECK(said(path) == "there is no store " + path + "; `atalaya run pipelines/host.lua` fills one, or " + remedy +
                          " (the service's is /var/lib/atalaya/atalaya.db)");
  CHECK(!std::filesystem::exists(path));
  CHECK(said(folder.path()) == folder.path() + " is a folder: it is no store; " + remedy);
  std::ofstream(path) << std::string(5000, 'x');
  CHECK(said(path) == "database " + path + ": file is not a database; it is no store: name one with --store or $ATALAYA_STORE");
}

// In a separate process, on a file system of 16 MiB: fills it and returns the error, "" if all was as expected.
std::string fill_the_disk(const std::string &folder) {
  core::Symbols symbols;
  const std::string path = folder + "/atalaya.db";
  Writer writer({path, {.retain_ns = kDay}, false}, [&](uint32_t id) { return symbols.name(id); });
  const auto write = [&](int64_t window, int64_t arrived_ns) -> std::string {
    Samples samples(symbols);
    for (int i = 0; i < 500; ++i) samples.metrics(kNow + window, {{"pid", std::to_string(i)}}).real("a", 0.123456);
    try {
      writer.write(samples.span(), arrived_ns);
    } catch (const Error &error) {
      return error.cause() == Cause::full ? error.what() : std::string("wrong cause: ") + error.what();
    }
    return "";
  };
  int64_t windows = 0;
  std::string reason;
  while (windows < 10'000 && (reason = write(windows, kNow)).empty()) ++windows;
  if (reason != "database " + path + ": database or disk is full; make room on its disk, or lower max_size")
    return "text: " + reason;
  if (Database(path, Access::read_only).number("SELECT count(*) FROM points") != windows * 500)
    return "acknowledged points are missing";

  // Two days later there is something to delete: retries make room for themselves.
  for (int tries = 0; tries < 20 && !reason.empty(); ++tries) reason = write(windows, kNow + 2 * kDay);
  return reason;
}

TEST_CASE("a full disk causes a retry, and loses nothing that was acknowledged") {
  const Folder folder;
  check_unless_skipped(in_child([&] { return mount_small_disk(folder.path()) ? fill_the_disk(folder.path()) : "skip"; }), "");
}

TEST_CASE("missing permission to write is reported at the start") {
  TestStore store;
  store.writer();
  SUBCASE("a read-only file system") {
    const std::string outcome = in_child([&]() -> std::string {
      if (!mount_small_disk(store.folder.path())) return "skip";
      if (::mount("none", store.folder.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) return "skip";
      return refusal(store.path);
    });
    check_unless_skipped(outcome, "the store's lock " + store.path +
                                      "-lock: Read-only file system; allow the agent's user to write in its folder, or choose "
                                      "another path");
  }
  SUBCASE("a file of another user") {
    std::filesystem::permissions(store.folder.path(), std::filesystem::perms::all);
    std::filesystem::remove(store.path + "-lock");
    const std::string outcome = in_child([&]() -> std::string {
      if (::setuid(65534) != 0) return "skip";
      return refusal(store.path);
    });
    check_unless_skipped(outcome, "database " + store.path +
                                      ": attempt to write a readonly database; allow the agent's user to write the file and its "
                                      "folder");
  }
}

TEST_CASE("a user outside the store's group gets the reason why it may not be read") {
  TestStore store;
  store.writer();
  std::filesystem::permissions(store.folder.path(), std::filesystem::perms{0755});
  const std::string outcome = in_child([&]() -> std::string {
    if (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0) return "skip";
    SqliteStore reader(store.path);
    return "";
  });
  check_unless_skipped(outcome, "database " + store.path +
                                    ": unable to open database file (Permission denied); run as the agent's user, or as a member "
                                    "of the file's group");
}

}  // namespace
}  // namespace atalaya::store::test
