// SPDX-License-Identifier: Apache-2.0
// A file system that hangs must cost nothing but its own samples.
#include "plugins/sources/proc/host/host_file_systems.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "plugins/sources/proc/host/host_collector.h"
#include "tests/unit/sources/proc/host_fixture.h"

namespace atalaya::proc {
namespace {

using namespace test;

// File systems of which one can be made to hang.
class Kernel {
 public:
  std::optional<Space> query(const std::string &mount) {
    std::unique_lock lock(mutex_);
    ++queries_[mount];
    changed_.notify_all();
    changed_.wait(lock, [&] { return !hanging_ || (!hanging_->empty() && mount != *hanging_); });
    return mount == "/broken" ? std::nullopt : std::optional(Space{4096, 100, 50, 50, 0, 0});
  }
  void hang(const std::string &mount) {
    const std::lock_guard lock(mutex_);
    hanging_ = mount;
  }
  void release() {
    const std::lock_guard lock(mutex_);
    hanging_.reset();
    changed_.notify_all();
  }
  int queries(const std::string &mount) {
    const std::lock_guard lock(mutex_);
    return queries_[mount];
  }
  void await_query(const std::string &mount) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queries_[mount] > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::string> hanging_;  // empty: every one
  std::map<std::string, int> queries_;
};

constexpr std::chrono::seconds kLong{60};

FileSystemQueryOptions query_options(const std::shared_ptr<Kernel> &kernel, std::chrono::milliseconds wait,
                                     std::chrono::milliseconds response_timeout = kLong) {
  return {.query = [kernel](const std::string &mount) { return kernel->query(mount); }, .wait = wait, .timeout = response_timeout};
}

std::vector<FileSystem> mounts(std::initializer_list<const char *> paths) {
  std::vector<FileSystem> all;
  for (const char *path : paths) all.push_back({"8:1", "sda1", path});
  return all;
}

// Queries until there is an answer; the test's own time limit ends it when none comes.
template <class Query>
void query_until(Query &&answered) {
  while (!answered()) std::this_thread::yield();
}

TEST_CASE("answers come in the order of the mounts; one that fails has none") {
  FileSystemSpaces spaces(query_options(std::make_shared<Kernel>(), kLong));
  spaces.start();
  const auto answers = spaces.query(mounts({"/", "/broken", "/var"}));
  REQUIRE(answers.size() == 3);
  CHECK(answers[0]->blocks == 100);
  CHECK_FALSE(answers[1]);
  CHECK(answers[2]);
}

TEST_CASE("while one hangs the others answer, and no further query of it is sent; then its answer comes") {
  const auto kernel = std::make_shared<Kernel>();
  FileSystemSpaces spaces(query_options(kernel, std::chrono::milliseconds(1)));
  spaces.start();
  kernel->hang("/nfs");
  const auto all = mounts({"/", "/nfs", "/var"});
  for (int window = 0; window < 3; ++window) {
    bool root = false, var = false;
    query_until([&] {
      const auto answers = spaces.query(all);
      CHECK_FALSE(answers[1]);
      root = root || answers[0];
      var = var || answers[2];
      return root && var;
    });
  }
  CHECK(kernel->queries("/nfs") == 1);
  kernel->release();
  query_until([&] { return spaces.query(all)[1].has_value(); });
}

TEST_CASE("one is unresponsive only after the patience") {
  const auto kernel = std::make_shared<Kernel>();
  kernel->hang("/nfs");
  FileSystemSpaces patient(query_options(kernel, std::chrono::milliseconds(1)));
  patient.start();
  patient.query(mounts({"/nfs"}));
  kernel->await_query("/nfs");
  CHECK(patient.unresponsive().empty());
  FileSystemSpaces hasty(query_options(kernel, std::chrono::milliseconds(1), std::chrono::milliseconds(0)));
  hasty.start();
  hasty.query(mounts({"/nfs", "/"}));
  query_until([&] { return hasty.unresponsive() == std::vector<std::string>{"/nfs"}; });
  kernel->release();
  query_until([&] {
    hasty.query(mounts({"/nfs", "/"}));
    return hasty.unresponsive().empty();
  });
}

TEST_CASE("more may hang than there are threads: the rest has no answers, and the stop does not wait") {
  const auto kernel = std::make_shared<Kernel>();
  kernel->hang("");  // every one
  {
    FileSystemSpaces spaces(query_options(kernel, std::chrono::milliseconds(1)));
    spaces.start();
    const auto many = mounts({"/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8", "/9", "/10"});
    for (const auto &answer : spaces.query(many)) CHECK_FALSE(answer);
  }
  kernel->release();
}

TEST_CASE("a hanging file system holds up neither the stop nor a new start") {
  const auto kernel = std::make_shared<Kernel>();
  kernel->hang("/nfs");
  {
    FileSystemSpaces spaces(query_options(kernel, std::chrono::milliseconds(1)));
    spaces.start();
    CHECK_FALSE(spaces.query(mounts({"/nfs"}))[0]);
    kernel->await_query("/nfs");
    spaces.stop();
    spaces.stop();
    spaces.start();
    query_until([&] { return spaces.query(mounts({"/var"}))[0].has_value(); });
  }
  kernel->release();
}

TEST_CASE("a collector on a host with a hanging file system: all other metrics are present, and the log names it once") {
  const auto kernel = std::make_shared<Kernel>();
  FakeHost fake;
  core::Batch batch;
  HostOptions options;
  options.file_systems = {"ext4", "xfs", "btrfs", "overlay", "tmpfs"};
  HostCollector collector(fake.host(), options, query_options(kernel, std::chrono::milliseconds(20), std::chrono::milliseconds(0)));
  collector.start();
  const auto window = [&] {
    fake.now_ns += 1'000'000'000;
    return collect(fake, collector, batch);
  };
  const auto answered = [&] { return !with_field(window(), "sys.fs.size").fields.empty(); };
  std::string mount;
  query_until([&] {
    const Seen seen = with_field(window(), "sys.fs.size");
    if (!seen.fields.empty()) mount = seen.tags.at("mount");
    return !mount.empty();
  });
  fake.log.clear();

  kernel->hang(mount);
  for (int i = 0; i < 3; ++i) {
    const std::vector<Seen> samples = window();
    for (const Seen &sample : samples) CHECK((sample.fields.count("sys.fs.size") == 0 || sample.tags.at("mount") != mount));
    CHECK_FALSE(with_field(samples, "sys.mem.free").fields.empty());
    CHECK_FALSE(with_field(samples, "sys.load.1m").fields.empty());
  }
  query_until([&] {
    window();
    return !fake.log.empty();
  });
  CHECK(fake.log == std::vector<std::string>{"the file system at " + mount +
                                             " does not respond: its sys.fs is absent until it does; repair or unmount it, or "
                                             "remove its type from the parameter file_systems"});
  kernel->release();
  query_until(answered);
  const int queries = kernel->queries(mount);
  fake.now_ns += 699'000'000;
  CHECK(with_field(collect(fake, collector, batch), "sys.fs.size").fields.empty());  // at most every 0.7 s
  CHECK(kernel->queries(mount) == queries);
  kernel->hang(mount);
  query_until([&] {
    window();
    return fake.log.size() == 2;  // it hangs again
  });
  kernel->release();
  collector.stop();
}

// In a mount namespace of its own: 0: right, 1: wrong, 2: it may not have one.
int follow_mounts() {
  if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 2;
  std::vector<char> buffer(1 << 20);
  procfs::PersistentFile file("proc/self/mountinfo");
  const core::Descriptor root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto changes = [&] {
    const bool changed = file.may_have_changed();
    return file.read(root.get(), buffer).ok() && changed;
  };
  if (!changes() || changes() || changes()) return 1;
  if (::mount("atalaya-test", "/tmp", "tmpfs", 0, nullptr) != 0) return 2;
  if (!changes() || changes()) return 1;
  if (::umount2("/tmp", 0) != 0) return 2;
  return changes() && !changes() ? 0 : 1;
}

TEST_CASE("the list of mounts is read again only after a mount") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(follow_mounts());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2)
    MESSAGE("no mount namespace: not tested");
  else
    CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace atalaya::proc
