// SPDX-License-Identifier: Apache-2.0
// Answers questions on a separate thread, so that files of a process cannot block the engine. A process can block its reader
// without end (a lock on its memory, a file system that does not respond at its /tmp): then the thread is detached, and a new
// thread continues with the next question.
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
    size_t capacity = 65536;             // maximum waiting questions
    int64_t timeout_ns = 5'000'000'000;  // maximum time for one answer
    size_t max_stuck_threads = 8;        // maximum detached threads; beyond it questions wait
  };
  // `make` is called on each thread and returns its resolver.
  ResolverThread(std::function<AnswerOne()> make, Options options) : make_(std::move(make)), options_(options) {}
  ResolverThread(const ResolverThread &) = delete;
  ResolverThread &operator=(const ResolverThread &) = delete;
  ~ResolverThread() { stop(); }

  void start();
  // A blocked thread is detached.
  void stop();

  // Queues questions up to the capacity, which answers that were not taken use, too; returns the number of queued ones. Any thread
  // may call it between start and stop.
  size_t ask(const std::vector<Question> &questions);
  // Waits until all questions are answered, maximum `ns`. Does not wait if the thread is blocked.
  void wait(int64_t ns);
  // Returns the answers since the last call in `answers`. Returns true if a question exceeded the timeout: its answer is the last
  // one and equals that of an ended process.
  bool take(std::vector<Answer> &answers, int64_t now_ns);

 private:
  struct Shared;
  static void work(const std::shared_ptr<Shared> &shared);
  bool replace_thread(std::vector<Answer> &answers);
  std::shared_ptr<Shared> current();

  std::function<AnswerOne()> make_;
  Options options_;
  std::mutex replacing_;            // guards the pointer below against changes while another thread asks
  std::shared_ptr<Shared> shared_;  // state shared with the thread, which may outlive this object
  size_t stuck_threads_ = 0;
};

}  // namespace atalaya::names
