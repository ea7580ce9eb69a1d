// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/names/resolve/resolver_thread.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace atalaya::names {
namespace {

constexpr std::chrono::milliseconds kStopTimeout{200};
// Reserved capacity for questions: enough for a window without new processes.
constexpr size_t kUsual = 64;

// An exception, such as out of memory, costs only one answer.
Answer guarded(const ResolverThread::AnswerOne &answer_one, const Question &question) {
  try {
    return answer_one(question);
  } catch (const std::exception &) {
    return {.question = question};
  }
}

}  // namespace

struct ResolverThread::Shared {
  Shared() {
    questions.reserve(kUsual);
    answers.reserve(kUsual);
  }

  std::function<AnswerOne()> make;
  std::mutex mutex;
  std::condition_variable wake, done;
  std::vector<Question> questions;  // those from `next` on are waiting; while `busy`, the question `next` is being answered
  size_t next = 0;
  std::vector<Answer> answers;
  int64_t waits_since_ns = 0;  // time at which the caller first saw the current question; 0: not yet
  bool busy = false, stopping = false, ended = false;
  std::thread thread;

  size_t waiting() const { return questions.size() - next; }
};

void ResolverThread::start() {
  stop();
  stuck_threads_ = 0;
  const auto shared = std::make_shared<Shared>();
  shared->make = make_;
  shared->thread = std::thread([shared] { work(shared); });
  shared_ = shared;
}

void ResolverThread::stop() {
  if (!shared_) return;
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->wake.notify_one();
  const bool ended = shared_->done.wait_for(lock, kStopTimeout, [this] { return shared_->ended; });
  lock.unlock();
  if (ended)
    shared_->thread.join();
  else
    shared_->thread.detach();
  shared_.reset();
}

std::shared_ptr<ResolverThread::Shared> ResolverThread::current() {
  const std::lock_guard lock(replacing_);
  return shared_;
}

size_t ResolverThread::ask(const std::vector<Question> &questions) {
  if (questions.empty()) return 0;
  const std::shared_ptr<Shared> shared = current();
  std::unique_lock lock(shared->mutex);
  shared->questions.erase(shared->questions.begin(), shared->questions.begin() + static_cast<ptrdiff_t>(shared->next));
  shared->next = 0;
  const size_t room = options_.capacity - std::min(options_.capacity, shared->waiting() + shared->answers.size());
  const size_t taken = std::min(room, questions.size());
  shared->questions.insert(shared->questions.end(), questions.begin(), questions.begin() + static_cast<ptrdiff_t>(taken));
  lock.unlock();  // otherwise the thread would wake up and wait for the lock
  shared->wake.notify_one();
  return taken;
}

void ResolverThread::wait(int64_t ns) {
  std::unique_lock lock(shared_->mutex);
  if (shared_->busy && shared_->waits_since_ns != 0) return;
  shared_->done.wait_for(lock, std::chrono::nanoseconds(ns), [this] { return shared_->waiting() == 0; });
}

bool ResolverThread::take(std::vector<Answer> &answers, int64_t now_ns) {
  answers.clear();
  answers.reserve(kUsual);
  std::unique_lock lock(shared_->mutex);
  std::swap(answers, shared_->answers);
  if (!shared_->busy || stuck_threads_ == options_.max_stuck_threads) return false;
  if (shared_->waits_since_ns == 0) shared_->waits_since_ns = now_ns;
  if (now_ns - shared_->waits_since_ns < options_.timeout_ns) return false;
  lock.unlock();
  return replace_thread(answers);
}

bool ResolverThread::replace_thread(std::vector<Answer> &answers) {
  const std::shared_ptr<Shared> old = shared_;
  const auto shared = std::make_shared<Shared>();
  {
    const std::lock_guard lock(old->mutex);
    if (!old->busy) return false;  // the answer has just arrived
    answers.push_back({.question = old->questions[old->next]});
    shared->questions.assign(old->questions.begin() + static_cast<ptrdiff_t>(old->next) + 1, old->questions.end());
    old->questions.resize(old->next + 1);
    old->stopping = true;
  }
  old->thread.detach();
  ++stuck_threads_;
  shared->make = make_;
  shared->thread = std::thread([shared] { work(shared); });
  const std::lock_guard lock(replacing_);
  shared_ = shared;
  return true;
}

void ResolverThread::work(const std::shared_ptr<Shared> &shared) {
  pthread_setname_np(pthread_self(), "names");
  const AnswerOne answer_one = shared->make();
  std::unique_lock lock(shared->mutex);
  while (!shared->stopping) {
    if (shared->waiting() == 0) {
      shared->wake.wait(lock, [&] { return shared->stopping || shared->waiting() > 0; });
      continue;
    }
    const Question question = shared->questions[shared->next];
    shared->busy = true;
    shared->waits_since_ns = 0;
    lock.unlock();
    Answer answer = guarded(answer_one, question);
    lock.lock();
    shared->busy = false;
    ++shared->next;
    shared->answers.push_back(std::move(answer));
    if (shared->waiting() == 0) shared->done.notify_one();
  }
  shared->ended = true;
  shared->done.notify_one();
}

}  // namespace atalaya::names
