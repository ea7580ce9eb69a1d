// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/containers/state_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/temporary_folder.h"

namespace atalaya::containers {
namespace {

namespace fs = std::filesystem;

void write(const std::string &path, std::string_view text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

TEST_CASE("a file is read once while it stays the same") {
  const testing::TemporaryFolder folder;
  write(folder / "a/b/c", "one");
  const StatePath path{.base = folder.path(), .below = "a/b/c"};
  std::string text;
  FileMark mark;
  CHECK(read_state(path, text, &mark) == Access::read);
  CHECK(text == "one");
  CHECK(read_state(path, text, &mark) == Access::same);
  write(folder / "a/b/c", "three");
  CHECK(read_state(path, text, &mark) == Access::read);
  CHECK(text == "three");
  fs::remove(folder / "a/b/c");
  CHECK(read_state(path, text, &mark) == Access::absent);
}

TEST_CASE("no link below the folder is followed, and nothing but a file is opened") {
  const testing::TemporaryFolder folder;
  write(folder / "secret/file", "secret");
  write(folder / "home/real/file", "mine");
  fs::create_symlink(folder / "secret/file", folder / "home/link");
  fs::create_directory_symlink(folder / "secret", folder / "home/folder");
  REQUIRE(::mkfifo((folder / "home/fifo").c_str(), 0600) == 0);
  const auto access = [&](const char *below) {
    std::string text;
    return read_state({.base = folder / "home", .below = below}, text);
  };
  CHECK(access("real/file") == Access::read);
  CHECK(access("link") == Access::not_trusted);
  CHECK(access("folder/file") == Access::absent);
  CHECK(access("fifo") == Access::not_trusted);  // and does not wait for a writer
  CHECK(access("real") == Access::not_trusted);
  CHECK(access("none/file") == Access::absent);
  // The folder itself may lie behind a link: the administrator's.
  fs::create_directory_symlink(folder / "home", folder / "moved");
  std::string text;
  CHECK(read_state({.base = folder / "moved", .below = "real/file"}, text) == Access::read);
}

TEST_CASE("in a user's folder only files of that user or of root are read") {
  const testing::TemporaryFolder folder;
  write(folder / "file", "x");
  const auto access = [&](uid_t user) {
    std::string text;
    return read_state({.base = folder.path(), .below = "file", .user = user}, text);
  };
  CHECK(access(::geteuid()) == Access::read);
  if (::geteuid() != 0) {
    CHECK(access(::geteuid() + 1) == Access::not_trusted);
    return;
  }
  CHECK(access(1000) == Access::read);
  REQUIRE(::chown((folder / "file").c_str(), 1001, 1001) == 0);
  CHECK(access(1000) == Access::not_trusted);
}

TEST_CASE("a file larger than the limit is not read") {
  const testing::TemporaryFolder folder;
  write(folder / "file", std::string(200'001, 'x'));
  std::string text;
  CHECK(read_state({.base = folder.path(), .below = "file", .max_bytes = 200'000}, text) == Access::too_large);
  CHECK(read_state({.base = folder.path(), .below = "file", .max_bytes = 200'001}, text) == Access::read);
  CHECK(text.size() == 200'001);
}

}  // namespace
}  // namespace atalaya::containers
