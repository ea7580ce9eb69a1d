// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/http/fair_queue.h"

#include <doctest/doctest.h>

#include <string>

namespace atalaya::serve {
namespace {

TEST_CASE("clients take turns, and requests of one client keep their order") {
  FairQueue<int> queue(4);
  for (const int item : {1, 2, 3}) queue.push("a", item);
  queue.push("b", 10);
  queue.push("c", 20);
  std::string order;
  for (const char *client : {"a", "b", "c", "a", "a"}) {
    order += std::to_string(*queue.pop()) + " ";
    queue.finish(client);
  }
  CHECK(order == "1 10 20 2 3 ");
  CHECK_FALSE(queue.pop());
}

TEST_CASE("one client uses all workers but one; with one worker it uses that") {
  for (const unsigned workers : {1U, 2U, 4U}) {
    FairQueue<int> queue(workers);
    for (int item = 0; item < 10; ++item) queue.push("a", item);
    unsigned running = 0;
    while (queue.pop()) ++running;
    CHECK(running == (workers == 1 ? 1 : workers - 1));
    queue.push("b", 99);
    CHECK(queue.pop() == 99);
    CHECK_FALSE(queue.pop());
    queue.finish("a");
    CHECK(queue.pop() == static_cast<int>(running));
  }
}

TEST_CASE("a cleared queue has passed all waiting items, and none is left") {
  FairQueue<int> queue(2);
  for (const int item : {1, 2, 4}) queue.push(item == 4 ? "b" : "a", item);
  CHECK(queue.pop() == 1);
  int sum = 0;
  queue.clear([&](int item) { sum += item; });
  CHECK(sum == 6);
  CHECK(queue.size() == 0);
  CHECK_FALSE(queue.pop());
  queue.finish("a");
}

}  // namespace
}  // namespace atalaya::serve
