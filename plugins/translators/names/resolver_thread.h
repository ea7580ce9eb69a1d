// SPDX-License-Identifier: Apache-2.0
// Answers questions on a thread of its own, so that nobody waits for the files of a process. A process can hold up its reader for
// ever (its memory is locked, its /tmp is a file system that hangs): then the thread is left behind and another goes on without
// that one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "plugins/translators/names/resolver.h"

namespace atalaya::names {

class ResolverThread {
 public:
  using AnswerOne = std::function<Answer(const Question &)>;
  struct Options {
    size_t capacity = 65536;              // questions that wait
    int64_t patience_ns = 5'000'000'000;  // for one answer
    size_t most_left_behind = 8;          // threads; then questions wait
  };
  // `make` is called on each thread, for what answers there.
  ResolverThread(std::function<AnswerOne()> make, Options options) : make_(std::move(make)), options_(options) {}
  ResolverThread(const ResolverThread &) = delete;
  ResolverThread &operator=(const ResolverThread &) = delete;
  ~ResolverThread() { stop(); }

  void start();
  // A thread that hangs is left behind.
  void stop();

  // The questions are taken, as many as there is room for; the number is returned.
  size_t ask(const std::vector<Question> &questions);
  // What has been answered since the last call. A question whose answer does not come in time is answered as of a process that has
  // ended; it is the last of the answers then, and the result is true.
  bool take(std::vector<Answer> &answers, int64_t now_ns);

 private:
  struct Shared;
  static void work(const std::shared_ptr<Shared> &shared);
  bool leave_behind(std::vector<Answer> &answers);

  std::function<AnswerOne()> make_;
  Options options_;
  std::shared_ptr<Shared> shared_;  // with the thread, which may outlive this
  size_t left_behind_ = 0;
};

}  // namespace atalaya::names
