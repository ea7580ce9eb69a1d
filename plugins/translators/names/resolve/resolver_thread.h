// SPDX-License-Identifier: Apache-2.0
// Answers questions on a separate thread, so that the engine never waits for the files of a process. A process can block its reader
// forever (its memory is locked, its /tmp is a file system that hangs): then the thread is detached and another one continues
// without that question.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "plugins/translators/names/resolve/resolver.h"

namespace atalaya::names {

class ResolverThread {
 public:
  using AnswerOne = std::function<Answer(const Question &)>;
  struct Options {
    size_t capacity = 65536;             // waiting questions
    int64_t timeout_ns = 5'000'000'000;  // per answer
    size_t max_stuck_threads = 8;        // then questions wait
  };
  // `make` is called on each thread and returns its resolver.
  ResolverThread(std::function<AnswerOne()> make, Options options) : make_(std::move(make)), options_(options) {}
  ResolverThread(const ResolverThread &) = delete;
  ResolverThread &operator=(const ResolverThread &) = delete;
  ~ResolverThread() { stop(); }

  void start();
  // A thread that hangs is detached.
  void stop();

  // Takes questions up to the capacity; returns their number. Other threads may call it, too, between start and stop.
  size_t ask(const std::vector<Question> &questions);
  // Until all questions are answered, but at most so long; not while one hangs.
  void wait(int64_t ns);
  // The answers since the last call. After a timeout, the question is answered as for an ended process; this is the last of the
  // answers then, and the result is true.
  bool take(std::vector<Answer> &answers, int64_t now_ns);

 private:
  struct Shared;
  static void work(const std::shared_ptr<Shared> &shared);
  bool replace_thread(std::vector<Answer> &answers);
  std::shared_ptr<Shared> current();

  std::function<AnswerOne()> make_;
  Options options_;
  std::mutex replacing_;            // guards the pointer below against changes while another thread asks
  std::shared_ptr<Shared> shared_;  // with the thread, which may outlive this
  size_t stuck_threads_ = 0;
};

}  // namespace atalaya::names
