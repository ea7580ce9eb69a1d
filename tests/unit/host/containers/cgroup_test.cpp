// SPDX-License-Identifier: Apache-2.0
// The real thing: a process in a cgroup of this host that is named as docker names it.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "plugins/shared/host/containers/containers.h"
#include "tests/unit/host/containers/test_ids.h"
#include "tests/unit/temporary_folder.h"

namespace atalaya::containers {
namespace {

namespace fs = std::filesystem;

// A cgroup for the test, gone with it. Empty where none can be made.
class TestCgroup {
 public:
  TestCgroup(const std::string &hierarchy, const std::string &name)
      : top_(hierarchy + "/atalaya-test-" + std::to_string(::getpid())), path_(top_ + "/" + name) {
    std::error_code error;
    fs::create_directories(path_, error);
    if (error || !fs::exists(path_ + "/cgroup.procs")) path_.clear();
  }
  TestCgroup(const TestCgroup &) = delete;
  TestCgroup &operator=(const TestCgroup &) = delete;
  ~TestCgroup() {
    if (!path_.empty()) ::rmdir(path_.c_str());
    ::rmdir(top_.c_str());
  }
  bool ok() const { return !path_.empty(); }
  bool enter(pid_t pid) const {
    std::ofstream procs(path_ + "/cgroup.procs");
    procs << pid << std::flush;
    return procs.good();
  }

 private:
  std::string top_, path_;
};

class Sleeper {
 public:
  Sleeper() : pid_(::fork()) {
    if (pid_ != 0) return;
    for (;;) ::pause();
  }
  Sleeper(const Sleeper &) = delete;
  Sleeper &operator=(const Sleeper &) = delete;
  ~Sleeper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  std::string cgroup() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/cgroup");
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  pid_t pid_;
};

void check_named(const std::string &hierarchy) {
  const TestCgroup cgroup(hierarchy, "docker-" + id("d7") + ".scope");
  if (!cgroup.ok()) {
    MESSAGE("skipped: no cgroup can be made in ", hierarchy);
    return;
  }
  const Sleeper sleeper;
  if (!cgroup.enter(sleeper.pid())) {
    MESSAGE("skipped: no process can be moved in ", hierarchy);
    return;
  }
  const cgroup::Place place = cgroup::place_of(cgroup::parse_cgroup(sleeper.cgroup()));
  CHECK(place.runtime == cgroup::Runtime::docker);
  CHECK(place.id == id("d7"));
  CHECK(place.unit == "docker-" + id("d7") + ".scope");

  // Its state comes after the process; the clock is the test's, so that a busy host does not matter.
  constexpr int64_t kStep = 100'000'000;
  const testing::TemporaryFolder root;
  ContainerNames names({.root = root.path()});
  int64_t now = 0;
  CHECK(names.find(place, now).name == "d7d7d7d7d7d7");
  const std::string folder = root / ("var/lib/docker/containers/" + id("d7"));
  fs::create_directories(folder);
  std::ofstream(folder + "/config.v2.json") << R"({"ID":")" << id("d7") << R"(","Name":"/real"})";
  while (!names.find(place, now).known && now < 50 * kStep) now += kStep;
  CHECK(names.find(place, now).name == "real");
}

TEST_CASE("a process in docker's cgroup has the container's name within 5 seconds") {
  for (const std::string hierarchy : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/systemd"})
    if (fs::exists(hierarchy + "/cgroup.procs")) {
      CAPTURE(hierarchy);
      check_named(hierarchy);
    }
}

}  // namespace
}  // namespace atalaya::containers
