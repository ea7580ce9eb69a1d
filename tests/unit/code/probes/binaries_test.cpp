// SPDX-License-Identifier: Apache-2.0
// Files that appear, disappear and are replaced, with a fake kernel that records attachments.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/code/probes/binaries.h"
#include "tests/unit/temporary_folder.h"

namespace atalaya::probes {

extern "C" __attribute__((noinline, used)) int region_of_the_test(int value) {
  return value * 11;
}
extern "C" __attribute__((noinline, used)) int end_of_the_test(int value) {
  return value * 13;
}

namespace {

constexpr int64_t kSecond = 1'000'000'000;

struct Kernel {
  std::set<uint64_t> attached;  // inodes
  std::string refusal;
  int asked = 0;
  std::vector<std::string> said;
};

class FakeAttachment final : public Attachment {
 public:
  FakeAttachment(Kernel &kernel, uint64_t inode) : kernel_(kernel), inode_(inode) { kernel.attached.insert(inode); }
  FakeAttachment(const FakeAttachment &) = delete;
  FakeAttachment &operator=(const FakeAttachment &) = delete;
  ~FakeAttachment() override { kernel_.attached.erase(inode_); }

 private:
  Kernel &kernel_;
  uint64_t inode_;
};

class World {
 public:
  explicit World(const std::string &function = "region_of_the_test", const std::string &leave = "return") : path(folder / "app") {
    CHECK(region_of_the_test(1) == 11);
    auto regions = parse_regions({{"work", path, function, leave, ""}});
    REQUIRE(regions);
    binaries = std::make_unique<Binaries>(
        *regions,
        [this](uint32_t /*region*/, int file, const Points & /*points*/) -> core::Result<std::unique_ptr<Attachment>> {
          ++kernel.asked;
          if (!kernel.refusal.empty()) return core::Error{kernel.refusal};
          struct stat info {};
          REQUIRE(::fstat(file, &info) == 0);
          return std::unique_ptr<Attachment>(std::make_unique<FakeAttachment>(kernel, info.st_ino));
        },
        [this](bool problem, std::string_view text) {
          kernel.said.push_back((problem ? "problem: " : "info: ") + std::string(text));
        });
  }

  void look(int64_t after_ns = 0) { binaries->update(now_ns += after_ns); }
  void install() const { std::filesystem::copy_file("/proc/self/exe", path, std::filesystem::copy_options::overwrite_existing); }
  // As a package does it.
  void replace() const {
    std::filesystem::copy_file("/proc/self/exe", path + ".new");
    std::filesystem::rename(path + ".new", path);
  }
  uint64_t inode() const {
    struct stat info {};
    REQUIRE(::stat(path.c_str(), &info) == 0);
    return info.st_ino;
  }
  std::vector<std::string> take_said() { return std::exchange(kernel.said, {}); }

  Kernel kernel;
  int64_t now_ns = 0;
  testing::TemporaryFolder folder;
  std::string path;
  std::unique_ptr<Binaries> binaries;
};

using Said = std::vector<std::string>;

}  // namespace

TEST_CASE("a missing binary is waited for and logged once") {
  World world;
  world.look();
  world.look();
  CHECK(world.take_said() == Said{"problem: region \"work\": " + world.path + ": No such file or directory; waiting for it"});
  CHECK_FALSE(world.binaries->attached(0));
  CHECK(world.binaries->fatal_error().empty());
  world.install();
  world.look();
  CHECK(world.take_said() == Said{"info: region \"work\": attached"});
  CHECK(world.binaries->attached(0));
  CHECK(world.kernel.attached == std::set<uint64_t>{world.inode()});
}

TEST_CASE("a replaced binary is attached again, and processes of the old file stay attached") {
  World world;
  world.install();
  world.look();
  const uint64_t first = world.inode();
  world.replace();
  const uint64_t second = world.inode();
  REQUIRE(first != second);
  world.look();
  world.look();
  CHECK(world.kernel.attached == std::set<uint64_t>{first, second});
  CHECK(world.take_said() == Said{"info: region \"work\": also attached to the file that replaced its binary"});
  std::filesystem::rename(world.path, world.path + ".away");
  world.look();
  CHECK_FALSE(world.binaries->attached(0));
  CHECK(world.kernel.attached == std::set<uint64_t>{first, second});
  CHECK(world.take_said() == Said{"problem: region \"work\": " + world.path + ": No such file or directory; waiting for it"});
  std::filesystem::rename(world.path + ".away", world.path);
  world.look();
  CHECK(world.binaries->attached(0));
  CHECK(world.take_said() == Said{"info: region \"work\": attached"});
  world.replace();
  world.look();
  CHECK(world.kernel.attached.size() == 2);
  CHECK(world.kernel.attached.count(second) + world.kernel.attached.count(world.inode()) == 2);
}

TEST_CASE("a binary that is replaced by one that cannot be read") {
  World world;
  world.install();
  world.look();
  const uint64_t first = world.inode();
  std::filesystem::create_directory(world.path + ".new");
  std::filesystem::rename(world.path, world.path + ".old");
  std::filesystem::rename(world.path + ".new", world.path);
  world.look();
  CHECK_FALSE(world.binaries->attached(0));
  CHECK(world.kernel.attached == std::set<uint64_t>{first});
  CHECK(world.take_said() == Said{"problem: region \"work\": cannot read " + world.path +
                                  " as a regular file; check the path, run as root or grant CAP_DAC_READ_SEARCH"});
  std::filesystem::remove(world.path);
  world.install();
  world.look();
  CHECK(world.binaries->attached(0));
  CHECK(world.kernel.attached == std::set<uint64_t>{first, world.inode()});
}

TEST_CASE("a binary that is rewritten in place is detached first") {
  World world;
  world.install();
  world.look();
  const uint64_t inode = world.inode();
  { std::ofstream(world.path, std::ios::trunc) << "no program"; }
  world.look();
  CHECK(world.inode() == inode);
  CHECK(world.kernel.attached.empty());
  CHECK_FALSE(world.binaries->attached(0));
  CHECK(world.take_said() ==
        Said{"problem: region \"work\": " + world.path + " is not a program or library (ELF) for this machine"});
  world.install();
  world.look();
  CHECK(world.kernel.attached == std::set<uint64_t>{inode});
}

TEST_CASE("a missing function") {
  World world("no_function_of_this_name");
  world.install();
  world.look();
  world.look(100 * kSecond);
  REQUIRE(world.kernel.said.size() == 1);
  CHECK(world.kernel.said.front().starts_with("problem: region \"work\": no function \"no_function_of_this_name\" in "));
  CHECK(world.kernel.asked == 0);
  CHECK(world.binaries->fatal_error().empty());  // debug symbols may yet be installed
}

TEST_CASE("a refusal of the kernel is retried with growing pauses, at most a minute") {
  World world;
  world.install();
  world.kernel.refusal = "no room";
  world.look();
  CHECK(world.take_said() == Said{"problem: region \"work\": no room"});
  CHECK(world.binaries->fatal_error() == "region \"work\": no room");
  std::vector<int64_t> tries;
  while (world.now_ns < 200 * kSecond) {
    const int before = world.kernel.asked;
    world.look(kSecond);
    if (world.kernel.asked > before) tries.push_back(world.now_ns / kSecond);
  }
  CHECK(tries == std::vector<int64_t>{1, 3, 7, 15, 31, 63, 123, 183});
  world.kernel.refusal.clear();
  world.look();
  CHECK_FALSE(world.binaries->attached(0));
  world.look(60 * kSecond);
  CHECK(world.binaries->attached(0));
  CHECK(world.take_said() == Said{"info: region \"work\": attached"});
}

TEST_CASE("a file that was replaced is tried at once") {
  World world;
  world.install();
  world.kernel.refusal = "no room";
  for (int i = 0; i < 10; ++i) world.look(60 * kSecond);
  world.kernel.refusal.clear();
  world.look();
  CHECK_FALSE(world.binaries->attached(0));
  world.replace();
  world.look();
  CHECK(world.binaries->attached(0));
}

// The test's own program has exceptions.
TEST_CASE("a program with exceptions gets a return probe only with leave = return") {
  World by_default("region_of_the_test", ""), by_return("region_of_the_test", "return"),
      by_pair("region_of_the_test", "end_of_the_test");
  for (World *world : {&by_default, &by_return, &by_pair}) {
    world->install();
    world->look();
  }
  CHECK_FALSE(by_default.binaries->attached(0));
  REQUIRE(by_default.kernel.said.size() == 1);
  CHECK(by_default.kernel.said[0].find("has exceptions (C++, Rust): one that leaves region_of_the_test would end the program") !=
        std::string::npos);
  CHECK(by_return.binaries->attached(0));
  CHECK(by_pair.binaries->attached(0));
}

TEST_CASE("a folder is no binary") {
  World world;
  std::filesystem::create_directory(world.path);
  world.look();
  CHECK(world.take_said() == Said{"problem: region \"work\": cannot read " + world.path +
                                  " as a regular file; check the path, run as root or grant CAP_DAC_READ_SEARCH"});
}

}  // namespace atalaya::probes
