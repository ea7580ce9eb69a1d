// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/names/resolve/resolver_thread.h"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

namespace atalaya::testing {

using namespace names;

namespace {

Question about(int32_t pid) {
  return {.pid = pid};
}

// Answers at once, except process 13, which waits until it is released.
struct Held {
  std::promise<void> let_go;
  std::shared_future<void> may_go = let_go.get_future().share();
  std::atomic<int> begun{0};
};

std::function<ResolverThread::AnswerOne()> answering(const std::shared_ptr<Held> &held) {
  return [held] {
    return [held](const Question &question) {
      if (question.pid == 13) {
        ++held->begun;
        held->may_go.wait();
      }
      if (question.pid == 14) throw std::runtime_error("refused");
      return Answer{.question = question, .found = true};
    };
  };
}

// This number of answers, at the given time.
std::vector<Answer> await(ResolverThread &thread, size_t count, int64_t now_ns = 0) {
  std::vector<Answer> all, some;
  while (all.size() < count) {
    thread.take(some, now_ns);
    for (Answer &answer : some) all.push_back(std::move(answer));
    std::this_thread::yield();
  }
  return all;
}

}  // namespace

TEST_CASE("requests are answered in their order, in parallel to the caller") {
  ResolverThread thread(answering(std::make_shared<Held>()), {});
  thread.start();
  CHECK(thread.ask({}) == 0);
  CHECK(thread.ask({about(1), about(2)}) == 2);
  CHECK(thread.ask({about(14), about(3)}) == 2);
  const std::vector<Answer> answers = await(thread, 4);
  CHECK(answers[0].question.pid == 1);
  CHECK(answers[1].question.pid == 2);
  CHECK_FALSE(answers[2].found);  // a failure is an answer too
  CHECK(answers[3].question.pid == 3);
  thread.stop();
  thread.stop();
  thread.start();
  thread.ask({about(5)});
  CHECK(await(thread, 1)[0].found);
}

TEST_CASE("a full queue accepts requests up to its size") {
  const auto held = std::make_shared<Held>();
  ResolverThread thread(answering(held), {.capacity = 3});
  thread.start();
  CHECK(thread.ask({about(13)}) == 1);
  CHECK(thread.ask({about(1), about(2), about(3), about(4)}) == 2);
  CHECK(thread.ask({about(5)}) == 0);
  held->let_go.set_value();
  CHECK(await(thread, 3)[2].question.pid == 2);
}

TEST_CASE("an answer that does not come costs one thread, and the others continue") {
  const auto held = std::make_shared<Held>();
  ResolverThread thread(answering(held), {.timeout_ns = 100});
  thread.start();
  thread.ask({about(1), about(13), about(2)});
  CHECK(await(thread, 1, 1000)[0].question.pid == 1);
  while (held->begun == 0) std::this_thread::yield();
  std::vector<Answer> answers;
  CHECK_FALSE(thread.take(answers, 1000));  // seen waiting for the first time
  CHECK_FALSE(thread.take(answers, 1099));
  CHECK(thread.take(answers, 1100));
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].question.pid == 13);
  CHECK_FALSE(answers[0].found);
  CHECK(await(thread, 1, 1100)[0].question.pid == 2);
  held->let_go.set_value();
}

TEST_CASE("the number of abandoned threads is limited; stopping waits for none of them") {
  const auto held = std::make_shared<Held>();
  ResolverThread thread(answering(held), {.timeout_ns = 1, .max_stuck_threads = 2});
  thread.start();
  thread.ask({about(13), about(13), about(13), about(1)});
  int left = 0;
  std::vector<Answer> answers;
  for (int64_t now = 1; left < 2; ++now) left += thread.take(answers, now) ? 1 : 0;
  while (held->begun < 3) std::this_thread::yield();
  for (int64_t now = 1'000'000; now < 1'000'010; ++now) CHECK_FALSE(thread.take(answers, now));
  CHECK(answers.empty());
  thread.stop();
  held->let_go.set_value();
}

}  // namespace atalaya::testing
