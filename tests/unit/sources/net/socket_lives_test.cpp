// SPDX-License-Identifier: Apache-2.0
// Random lives of sockets, as the kernel reports them: readings of changed sockets, all of them now and then, ends that come late
// or never, sockets that nobody holds for long. The oracle knows only what each socket had moved when it was reported last.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "plugins/sources/net/socket_model.h"
#include "tests/unit/sources/net/records.h"

namespace atalaya::net {
namespace {

constexpr int kWindows = 2000;
constexpr uint64_t kCompleteWalkInterval = 4;

struct Life {
  uint64_t cookie = 0, bytes = 0, base = 0, reported = 0, marked = UINT64_MAX;
  uint32_t flags = 0;
  int32_t pid = 0;
  int held_until = 0, dies_at = 0, returns_at = -1;
  bool loses_its_end = false, met = false;

  bool held(int window) const {
    return window < held_until || (returns_at >= 0 && window >= returns_at && window < returns_at + 8);
  }
};

class Kernel {
 public:
  explicit Kernel(unsigned seed) : random_(seed) {}

  void run(SocketModel &model, int window) {
    const bool whole = static_cast<uint64_t>(window) % kCompleteWalkInterval == 0;
    while (draw(3) == 0) begin(window);
    for (Life &life : lives_)
      if (draw(2) == 0) life.bytes += draw(100000);
    model.begin(window == 0, whole);
    for (Life &life : lives_)
      if (life.held(window) && (whole || life.marked != life.bytes)) read(model, life);
    model.end_walk();
    for (Life &life : lives_)
      if (life.dies_at == window && !life.loses_its_end) end(model, life);
    model.end();
    std::erase_if(lives_, [this, window](const Life &life) {
      if (life.dies_at > window) return false;
      moved_ += life.reported - life.base;
      vanished_ += life.loses_its_end && life.met ? 1 : 0;
      return true;
    });
  }
  // Of all sockets, up to the last report of each.
  uint64_t moved() const {
    uint64_t all = moved_;
    for (const Life &life : lives_) all += life.reported - life.base;
    return all;
  }
  uint64_t vanished() const { return vanished_; }
  std::map<int32_t, uint64_t> held(int window) const {
    std::map<int32_t, uint64_t> by_pid;
    for (const Life &life : lives_)
      if (life.held(window) && life.met) ++by_pid[life.pid];
    return by_pid;
  }
  void stop_births() { births_ = false; }
  size_t living() const { return lives_.size(); }

 private:
  int draw(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  void begin(int window) {
    if (!births_) return;
    Life life;
    life.cookie = ++cookies_;
    life.pid = 100 + draw(5);
    life.flags = NET_START_SEEN | NET_ESTABLISHED | (draw(2) == 0 ? NET_OUTGOING : NET_INCOMING);
    if (window == 0) life.flags = NET_ESTABLISHED;
    life.bytes = static_cast<uint64_t>(draw(1000));
    life.held_until = window + draw(30);
    life.dies_at = life.held_until + (draw(8) == 0 ? draw(300) : 0);  // an orphan that still sends, or in nobody's files for a time
    if (draw(3) == 0 && life.dies_at > life.held_until + 100) life.returns_at = life.dies_at - 10;
    life.loses_its_end = draw(10) == 0;
    lives_.push_back(life);
  }
  void read(SocketModel &model, Life &life) {
    const uint32_t before = life.met ? NET_REPORTED : 0;
    if (!life.met && (life.flags & NET_START_SEEN) == 0) life.base = life.bytes;
    life.met = true;
    life.reported = life.marked = life.bytes;
    model.add(record(NET_OPEN, life.cookie, owner(life.pid, "x"), life.flags | before, life.bytes, 0));
  }
  void end(SocketModel &model, Life &life) {
    if ((life.flags & NET_START_SEEN) == 0 && !life.met) return;
    life.bytes += static_cast<uint64_t>(draw(500));
    life.reported = life.bytes;
    model.add(record(NET_CLOSED, life.cookie, owner(life.pid, "x"), life.flags | (life.met ? NET_REPORTED | NET_SEEN : 0),
                     life.bytes, 0));
  }

  std::minstd_rand random_;
  std::vector<Life> lives_;
  uint64_t cookies_ = 0, moved_ = 0, vanished_ = 0;
  bool births_ = true;
};

uint64_t bytes_of(SocketModel &model) {
  uint64_t all = model.flows().others().moved.in_bytes;
  for (const Flow &flow : model.flows().collected()) all += flow.moved.in_bytes;
  return all;
}

TEST_CASE("bytes of sockets are never lost and never doubled, and each end that is missing is counted, whatever the order") {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    Kernel kernel(seed);
    SocketModel model{ModelOptions()};
    uint64_t moved = 0, vanished = 0, lost = 0, connections = 0;
    const auto step = [&](int window) {
      kernel.run(model, window);
      moved += bytes_of(model);
      vanished += model.vanished();
      lost += model.lost();
      for (const NetProcess *process : model.processes()) connections += process->connects + process->accepts;
    };
    for (int window = 0; window < kWindows; ++window) {
      step(window);
      if (moved != kernel.moved()) REQUIRE(moved == kernel.moved());
    }
    kernel.stop_births();
    for (int window = kWindows; window < kWindows + 600; ++window) step(window);
    REQUIRE(kernel.living() == 0);
    CHECK(moved == kernel.moved());
    CHECK(lost == 0);
    CHECK(model.sockets() == 0);
    CHECK(vanished >= kernel.vanished());  // an orphan that ended after its time had counted too
    CHECK(vanished > 0);
    CHECK(connections > 0);
    for (const NetProcess *process : model.processes()) CHECK(process->connections == 0);
  }
}

TEST_CASE("a socket without an end is closed from its last reading and counted once; its process no longer holds it") {
  SocketModel model{ModelOptions()};
  const auto window = [&](bool whole, std::vector<net_record> records) {
    model.begin(false, whole);
    for (const net_record &each : records) model.add(each);
    model.end_walk();
    model.end();
  };
  const net_record other = record(NET_OPEN, 2, owner(10, "x"), NET_START_SEEN, 0, 0);
  window(true, {record(NET_OPEN, 1, owner(10, "x"), NET_START_SEEN, 700, 0), other});
  CHECK(model.processes().at(0)->connections == 2);
  window(true, {other});
  window(false, {other});
  CHECK(model.processes().at(0)->connections == 1);
  uint64_t vanished = 0;
  for (int i = 0; i < 40; ++i) {
    window(true, {other});
    vanished += model.vanished();
    CHECK(bytes_of(model) == 0);
  }
  CHECK(vanished == 1);
  CHECK(model.sockets() == 1);
  // It comes back: somebody had it in flight to another process.
  window(false, {record(NET_OPEN, 1, owner(11, "y"), NET_START_SEEN | NET_REPORTED, 900, 0)});
  CHECK(bytes_of(model) == 200);
}

TEST_CASE("of more vanished sockets than are kept, a late record counts as lost and adds nothing twice") {
  ModelOptions options;
  options.max_vanished = 1;
  SocketModel model{options};
  model.begin(false, true);
  for (const uint64_t cookie : {1, 2, 3}) model.add(record(NET_OPEN, cookie, owner(10, "x"), NET_START_SEEN, 500, 0));
  model.end_walk();
  model.end();
  for (int i = 0; i < 20; ++i) {
    model.begin(false, true);
    model.end_walk();
    model.end();
  }
  model.begin(false, false);
  for (const uint64_t cookie : {1, 2, 3})
    model.add(record(NET_OPEN, cookie, owner(10, "x"), NET_START_SEEN | NET_REPORTED, 600, 0));
  model.end_walk();
  model.end();
  CHECK(bytes_of(model) == 100);
  CHECK(model.lost() == 2);
  CHECK(model.processes().at(0)->accepts + model.processes().at(0)->connects == 0);
}

}  // namespace
}  // namespace atalaya::net
