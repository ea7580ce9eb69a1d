// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/symbols/process/process_root.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <string>

#include "tests/unit/temporary_folder.h"

namespace atalaya::symbols {
namespace {

// A process that has this folder as its root.
class Prisoner {
 public:
  explicit Prisoner(const std::string &folder) {
    std::array<int, 2> ready{};
    REQUIRE(::pipe(ready.data()) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const char done = ::chroot(folder.c_str()) == 0 ? 'y' : 'n';
      (void)!::write(ready[1], &done, 1);
      for (;;) ::pause();
    }
    char done = 'n';
    CHECK(::read(ready[0], &done, 1) == 1);
    is_in_ = done == 'y';
    ::close(ready[0]);
    ::close(ready[1]);
  }
  Prisoner(const Prisoner &) = delete;
  Prisoner &operator=(const Prisoner &) = delete;
  ~Prisoner() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  bool is_in() const { return is_in_; }

 private:
  pid_t pid_;
  bool is_in_ = false;
};

std::string text_of(const core::Descriptor &file) {
  std::array<char, 64> text{};
  const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : 0;
  return {text.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

}  // namespace

TEST_CASE("links in a process's files lead nowhere else than they do for it") {
  const testing::TemporaryFolder folder;
  const Prisoner prisoner(folder.path());
  if (!prisoner.is_in()) {
    MESSAGE("skipped: only root gives a process another root");
    return;
  }
  std::ofstream(folder.path() + "/passwd") << "inside";
  REQUIRE(::mkdir((folder.path() + "/etc").c_str(), 0755) == 0);
  std::ofstream(folder.path() + "/etc/passwd") << "inside too";
  for (const char *target : {"/etc/passwd", "../../../../../../etc/passwd"}) {
    REQUIRE(::symlink(target, (folder.path() + "/link").c_str()) == 0);
    CHECK(text_of(ProcessRoot(prisoner.pid()).open_regular("/link")) == "inside too");
    ::unlink((folder.path() + "/link").c_str());
  }
  REQUIRE(::symlink("/", (folder.path() + "/folder").c_str()) == 0);
  CHECK(text_of(ProcessRoot(prisoner.pid()).open_regular("/folder/passwd")) == "inside");
}

TEST_CASE("a special file is not opened") {
  const testing::TemporaryFolder folder;
  REQUIRE(::mkfifo((folder.path() + "/pipe").c_str(), 0600) == 0);
  const ProcessRoot root(::getpid());
  CHECK_FALSE(root.open_regular(folder.path() + "/pipe"));
  CHECK_FALSE(root.open_regular("/dev/zero"));
  CHECK_FALSE(root.open_regular(folder.path()));
  CHECK_FALSE(root.open_regular("/proc/self/exe"));
  CHECK_FALSE(open_regular(folder.path() + "/pipe"));
  CHECK_FALSE(ProcessRoot(-1).open_regular("/etc/passwd"));
}

}  // namespace atalaya::symbols
