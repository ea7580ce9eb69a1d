// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/command_line/output.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "tests/unit/temporary_folder.h"

namespace atalaya::query {
namespace {

using namespace command_line;

namespace fs = std::filesystem;

std::string text_of(const std::string &file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

mode_t mode_of(const std::string &file) {
  struct stat status {};
  ::stat(file.c_str(), &status);
  return status.st_mode & 07777;
}

// Limits files to this many bytes during its lifetime, as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : before_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &limit_);
    const rlimit less{bytes, limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &less);
  }
  FullDisk(const FullDisk &) = delete;
  FullDisk &operator=(const FullDisk &) = delete;
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, before_);
  }

 private:
  rlimit limit_{};
  void (*before_)(int);
};

TEST_CASE("a file that cannot be written stays unchanged") {
  const testing::TemporaryFolder folder;
  const std::string file = folder / "report.html";
  write_output(file, "last week");
  ::chmod(file.c_str(), 0640);
  std::string said;
  try {
    const FullDisk full(4096);
    write_output(file, std::string(100'000, 'x'));
  } catch (const std::exception &failure) {
    said = failure.what();
  }
  CHECK(said == "-o " + file + ": File too large");
  CHECK(text_of(file) == "last week");
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
  write_output(file, "this week");
  CHECK(text_of(file) == "this week");
  CHECK(mode_of(file) == 0640);
}

TEST_CASE("a special file is written, not replaced") {
  const testing::TemporaryFolder folder;
  const std::string file = folder / "file";
  const std::string link = folder / "link";
  fs::create_symlink("file", link);
  write_output(link, "text");
  CHECK(fs::is_symlink(link));
  CHECK(text_of(file) == "text");
  write_output("/dev/null", "text");
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("a key to group by that no series has is an error with the nearest one") {
  const std::vector<Answer> answers = {
      {.metric = "m", .tags = {{"host", "n1"}}, .aggregated_tags = {"core"}, .points = {}, .counts = {}}};
  CHECK_NOTHROW(check_keys({}, answers));
  CHECK_NOTHROW(check_keys({"host", "core", "*"}, answers));
  CHECK_NOTHROW(check_keys({"hst"}, {}));
  CHECK_THROWS_WITH_AS(check_keys({"hst"}, answers), "--group-by: no series here has the tag \"hst\"; did you mean \"host\"?",
                       Wrong);
  CHECK_THROWS_WITH_AS(check_keys({"quite other"}, answers),
                       "--group-by: no series here has the tag \"quite other\"; their tags are core, host", Wrong);
}

}  // namespace
}  // namespace atalaya::query
