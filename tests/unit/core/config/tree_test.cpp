// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/procfs/tree.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tests/unit/temporary_folder.h"

namespace atalaya::core {
namespace {

struct Files {
  Files() { REQUIRE(tree.open()); }
  void write(const std::string &name, const std::string &text) {
    std::filesystem::create_directories(std::filesystem::path(root / name).parent_path());
    std::ofstream(root / name) << text;
  }
  testing::TemporaryFolder root;
  procfs::Tree tree{root.path()};
};

TEST_CASE("a root that is no folder is named, with the fix") {
  Files files;
  files.write("file", "");
  CHECK(procfs::Tree(files.root / "nowhere").open().error() ==
        "cannot open root \"" + files.root / "nowhere" + "\": No such file or directory; name a folder that holds proc and sys");
  CHECK_FALSE(procfs::Tree(files.root / "file").open());
}

TEST_CASE("texts, lines and numbers of files") {
  Files files;
  files.write("sys/a", " 17 \n");
  files.write("sys/b", "17 apples\n");
  CHECK(files.tree.read("sys/a", 100).text == " 17 \n");
  CHECK(files.tree.read("/sys/a", 5).ok());
  CHECK(files.tree.read("sys/a", 4).error == EFBIG);
  CHECK(files.tree.line("sys/a") == "17");
  CHECK(files.tree.number("sys/a") == 17);
  CHECK_FALSE(files.tree.number("sys/b"));
  CHECK_FALSE(files.tree.number("sys/c"));
  CHECK(files.tree.line("sys/c").empty());
  CHECK(files.tree.read("sys/c", 100).missing());
  CHECK(files.tree.full_path("sys/a") == files.root / "sys/a");
  CHECK(procfs::Tree("/").full_path("sys/a") == "/sys/a");
}

TEST_CASE("a special file is not read, and does not block") {
  Files files;
  files.write("sys/a", "");
  REQUIRE(::mkfifo((files.root / "pipe").c_str(), 0600) == 0);
  CHECK(files.tree.read("sys", 100).error == EISDIR);
  CHECK(files.tree.read("pipe", 100).error == EINVAL);
  CHECK_FALSE(files.tree.read("pipe", 100).missing());
}

TEST_CASE("names are in the order of their numbers") {
  Files files;
  for (const char *const name : {"cpu10", "cpu2", "cpu0", "cpufreq", "online"}) files.write(name, "");
  CHECK(files.tree.list("", "cpu").names == std::vector<std::string>{"cpu0", "cpu2", "cpu10", "cpufreq"});
  CHECK(files.tree.list(".").names.size() == 5);
  CHECK(files.tree.list("nowhere").missing());
  CHECK(files.tree.list("online").error == ENOTDIR);
}

TEST_CASE("links: their targets, and names of one file are reported as one") {
  Files files;
  files.write("devices/coretemp.0/x", "");
  std::filesystem::create_directory_symlink("devices/coretemp.0", files.root / "device");
  CHECK(files.tree.link_name("device") == "coretemp.0");
  CHECK(files.tree.link_name("devices").empty());
  CHECK(files.tree.is_folder("devices"));
  CHECK_FALSE(files.tree.is_folder("device"));
  CHECK(files.tree.has("device"));
  CHECK(files.tree.identity("device/x") == files.tree.identity("devices/coretemp.0/x"));
  CHECK_FALSE(files.tree.identity("nowhere"));
}

}  // namespace
}  // namespace atalaya::core
