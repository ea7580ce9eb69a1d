// SPDX-License-Identifier: Apache-2.0
#include "core/control/status_server.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <mutex>
#include <string>

#include "core/base/files.h"
#include "core/base/own_command.h"
#include "core/base/status_socket.h"
#include "tests/unit/temporary_folder.h"

using namespace atalaya::core;

namespace {

constexpr int64_t kLong = 600'000'000'000;

// An answer that is held until the test lets it go, or until the server stops.
class Held {
 public:
  SlowAnswers::Make make() {
    return [this](int stop) {
      ++made;
      std::unique_lock lock(mutex_);
      begun_ = true;
      changed_.notify_all();
      lock.unlock();
      pollfd wait[2] = {{stop, POLLIN, 0}, {release_read_.get(), POLLIN, 0}};
      ::poll(wait, 2, -1);
      return std::string(wait[0].revents != 0 ? "{\"error\":\"stopped\"}\n" : "[]\n");
    };
  }
  void wait_until_begun() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return begun_; });
  }
  bool begun() {
    const std::lock_guard lock(mutex_);
    return begun_;
  }
  void release() { release_write_.reset(); }

  std::atomic<int> made = 0;

 private:
  static Descriptor end(int (&ends)[2], int at) {
    if (at == 0) REQUIRE(::pipe(ends) == 0);
    return Descriptor(ends[at]);
  }

  int ends_[2] = {-1, -1};
  Descriptor release_read_ = end(ends_, 0), release_write_ = end(ends_, 1);
  std::mutex mutex_;
  std::condition_variable changed_;
  bool begun_ = false;
};

// A busy machine may be slower than the patience of a client.
std::string status_of(const std::string &path, bool json) {
  auto status = ask_status(path, json);
  while (!status) status = ask_status(path, json);
  return status.value();
}

// Until the answer, or until the server makes it: then the client waits for it.
Result<std::string> first_doctor(const std::string &path, Held &held) {
  auto answer = ask_doctor(path);
  while (!answer && !held.begun()) answer = ask_doctor(path);
  return answer;
}

Result<std::string> doctor_of(const std::string &path) {
  auto answer = ask_doctor(path);
  while (!answer) answer = ask_doctor(path);
  return answer;
}

}  // namespace

TEST_CASE("a slow doctor does not delay the status, and its answer is used for all who wait") {
  const atalaya::testing::TemporaryFolder folder;
  const std::string path = folder / "status.sock";
  Held held;
  auto server = StatusServer::listen(
      path, [](bool json) { return std::string(json ? "{}\n" : "table\n"); }, held.make());
  REQUIRE(server);
  auto first = std::async(std::launch::async, [&] { return first_doctor(path, held); });
  held.wait_until_begun();
  auto second = std::async(std::launch::async, [&path] { return doctor_of(path); });
  CHECK(status_of(path, true) == "{}\n");
  CHECK(status_of(path, false) == "table\n");
  held.release();
  for (auto *answer : {&first, &second}) {
    const auto text = answer->get();
    REQUIRE(text);
    CHECK(text.value() == "[]\n");
  }
  CHECK(held.made == 1);
}

TEST_CASE("a server that stops does not wait for the doctor") {
  const atalaya::testing::TemporaryFolder folder;
  const std::string path = folder / "status.sock";
  Held held;
  auto server = StatusServer::listen(
      path, [](bool) { return std::string("{}\n"); }, held.make());
  REQUIRE(server);
  auto client = std::async(std::launch::async, [&] { return first_doctor(path, held); });
  held.wait_until_begun();
  server->reset();
  const auto answer = client.get();
  REQUIRE(answer);
  CHECK(answer.value() == "{\"error\":\"stopped\"}\n");
}

TEST_CASE("never ends" * doctest::skip()) {
  for (;;) ::pause();
}

TEST_CASE("fails with a reason" * doctest::skip()) {
  std::fputs("no store there\n", stderr);
  std::_Exit(3);
}

TEST_CASE("is killed" * doctest::skip()) {
  ::kill(::getpid(), SIGKILL);
}

TEST_CASE("the output of another command of this binary, whose time is limited") {
  int stop[2] = {-1, -1};
  REQUIRE(::pipe(stop) == 0);
  const Descriptor stop_read(stop[0]);
  Descriptor stop_write(stop[1]);
  const auto version = output_of_own_command({"--version"}, kLong, stop_read.get());
  REQUIRE(version);
  CHECK(version.value().find(DOCTEST_VERSION_STR) != std::string::npos);
  const std::vector<std::string> endless = {"--no-skip", "--test-case=never ends"};
  const auto late = output_of_own_command(endless, 1'000'000, stop_read.get());
  REQUIRE(!late);
  CHECK(late.error() == "it takes too long");
  stop_write.reset();
  const auto stopped = output_of_own_command(endless, kLong, stop_read.get());
  REQUIRE(!stopped);
  CHECK(stopped.error() == "the agent stops");
}

TEST_CASE("the output of another command of this binary, into a file") {
  int stop[2] = {-1, -1};
  REQUIRE(::pipe(stop) == 0);
  const Descriptor stop_read(stop[0]);
  const Descriptor stop_write(stop[1]);
  const atalaya::testing::TemporaryFolder folder;
  const std::string path = folder / "output";
  const Descriptor file(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  REQUIRE(file);
  CHECK(run_own_command(file.get(), {"--version"}, kLong, stop_read.get()));
  const auto text = read_file(path, 1 << 20);
  REQUIRE(text);
  CHECK(text.value().find(DOCTEST_VERSION_STR) != std::string::npos);
  const Status failed = run_own_command(file.get(), {"--no-skip", "--test-case=fails with a reason"}, kLong, stop_read.get());
  REQUIRE(!failed);
  CHECK(failed.error() == "no store there");
  const Status killed = run_own_command(file.get(), {"--no-skip", "--test-case=is killed"}, kLong, stop_read.get());
  REQUIRE(!killed);
  CHECK(killed.error() == "it was ended by signal 9");
}
