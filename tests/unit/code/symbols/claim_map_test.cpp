// SPDX-License-Identifier: Apache-2.0
// A hostile user in the JVM's /tmp, where the kernel does not protect symbolic links (fs.protected_symlinks = 0).
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>

#include "plugins/shared/code/jvm/attach.h"
#include "plugins/shared/code/jvm/perf_map_refresh.h"

namespace atalaya::jvm {
namespace {

constexpr uid_t kVictim = 1234, kAttacker = 1235;

void become(uid_t user) {
  if (::setresgid(user, user, user) != 0 || ::setresuid(user, user, user) != 0) ::_exit(1);
}

// A process of a user, in a mount namespace with a /tmp of this mode, that calls `work` until it is killed.
class Child {
 public:
  Child(uid_t user, mode_t mode, const std::function<void()> &work) {
    int pipe[2];
    REQUIRE(::pipe(pipe) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      if (mode != 0) own_tmp(mode);
      become(user);
      (void)!::write(pipe[1], "", 1);
      for (;;) work();
    }
    ::close(pipe[1]);
    char byte = 0;
    REQUIRE(::read(pipe[0], &byte, 1) == 1);
    ::close(pipe[0]);
  }
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Target target() const { return {pid_, *symbols::read_mark(pid_), *symbols::read_status(pid_)}; }

 private:
  static void own_tmp(mode_t mode) {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", "/tmp", "tmpfs", 0, nullptr) != 0 || ::chmod("/tmp", mode) != 0)
      ::_exit(1);
  }

  pid_t pid_ = 0;
};

bool can_be_others() {
  if (::geteuid() == 0) return true;
  MESSAGE("skipped: only root");
  return false;
}

std::string content_of(const std::string &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// As the JVM does.
void write_map(const std::string &path) {
  const pid_t writer = ::fork();
  if (writer == 0) {
    become(kVictim);
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file >= 0) (void)!::write(file, "map", 3);
    ::_exit(0);
  }
  ::waitpid(writer, nullptr, 0);
}

}  // namespace

TEST_CASE("a user that races for the name of a perf map never makes the JVM write to another file") {
  if (!can_be_others()) return;
  constexpr int kRounds = 300;
  const Child jvm(kVictim, 0, ::pause);
  const std::string map = "/tmp/perf-" + std::to_string(jvm.target().pid) + ".map", precious = map + ".precious";
  std::ofstream(precious) << "precious";
  REQUIRE(::chown(precious.c_str(), kVictim, kVictim) == 0);
  const Child attacker(kAttacker, 0, [&] {
    ::symlink(precious.c_str(), map.c_str());
    ::unlink(map.c_str());
  });
  int claimed = 0, refused = 0;
  while (claimed < kRounds && refused < 100 * kRounds) {
    const auto done = reserve_perf_map(jvm.target());
    ++(done ? claimed : refused);
    if (!done) continue;
    write_map(map);
    REQUIRE(content_of(precious) == "precious");
    CHECK(content_of(map) == "map");
    ::unlink(map.c_str());
  }
  CHECK(claimed > 0);
  MESSAGE(claimed << " maps written, " << refused << " requests refused");
  ::unlink(map.c_str());
  ::unlink(precious.c_str());
}

TEST_CASE("the perf map of a JVM is removed a window after its end, unless it existed before") {
  if (!can_be_others()) return;
  for (const bool existed : {false, true}) {
    CAPTURE(existed);
    auto jvm = std::make_unique<Child>(kVictim, 0, ::pause);
    const Target target = jvm->target();
    const std::string map = "/tmp/perf-" + std::to_string(target.pid) + ".map";
    if (existed) {
      std::ofstream(map) << "map";
      REQUIRE(::chown(map.c_str(), kVictim, kVictim) == 0);
    }
    PerfMapRefresh refresh({}, [](std::string_view) {});
    refresh.refresh(target.pid, target.mark, target.status);  // it is no JVM, and does not answer
    refresh.next_window();
    refresh.next_window();
    CHECK(::access(map.c_str(), F_OK) == 0);
    jvm.reset();
    refresh.next_window();
    CHECK(::access(map.c_str(), F_OK) == 0);  // for its last stacks
    refresh.next_window();
    CHECK((::access(map.c_str(), F_OK) == 0) == existed);
    ::unlink(map.c_str());
  }
}

TEST_CASE("no perf map where other users can replace the file") {
  if (!can_be_others()) return;
  for (const mode_t mode : {0777U, 0775U, 0770U}) {
    CAPTURE(mode);
    const Child jvm(kVictim, mode, ::pause);
    const auto claimed = reserve_perf_map(jvm.target());
    CHECK_FALSE(claimed);
    CHECK(claimed.error().find("other users could replace the file in its /tmp") != std::string::npos);
  }
  CHECK(reserve_perf_map(Child(kVictim, 01777, ::pause).target()));
  const auto refused = reserve_perf_map(Child(kVictim, 0755, ::pause).target());  // it cannot write there either
  CHECK(refused.error().find("cannot create perf-") != std::string::npos);
}

}  // namespace atalaya::jvm
