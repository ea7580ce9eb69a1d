// SPDX-License-Identifier: Apache-2.0
// Disks that are full or may not be written, for a separate process.
#pragma once

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string>

namespace atalaya::store::test {

// Runs the action in a separate process and returns its text, or its exception's.
template <class Action>
std::string in_child(Action &&action) {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string text;
    try {
      text = action();
    } catch (const std::exception &error) {
      text = error.what();
    }
    (void)!::write(pipe[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(pipe[1]);
  std::array<char, 1024> text{};
  const ssize_t size = ::read(pipe[0], text.data(), text.size());
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  return {text.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

inline bool mount_small_disk(const std::string &folder) {
  return ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=16m") == 0;
}

inline void check_unless_skipped(const std::string &outcome, const std::string &expected) {
  if (outcome == "skip") {
    MESSAGE("needs root: skipped");
  } else {
    CHECK(outcome == expected);
  }
}

}  // namespace atalaya::store::test
