// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/inventory/collector.h"

#include <doctest/doctest.h>

#include <optional>

#include "tests/unit/sources/proc/host_fixture.h"

namespace atalaya::inventory {
namespace {

using proc::test::TempRoot;

constexpr int64_t kSecond = 1'000'000'000;

struct Seen {
  std::string fact, value;
  int64_t start_ns, duration_ns;
  bool operator==(const Seen &) const = default;
};

// A fake host that has a state folder.
class StatefulHost {
 public:
  explicit StatefulHost(std::string folder) : folder_(std::move(folder)), table_(*fake.host().raw()) {
    inner_ = table_.self;
    table_.self = this;
    table_.log = [](void *self, int32_t level, atalaya_str text) { of(self).fake.host().raw()->log(of(self).inner_, level, text); };
    table_.intern = [](void *self, atalaya_str name) { return of(self).fake.host().raw()->intern(of(self).inner_, name); };
    table_.state_dir = [](void *self, atalaya_str *path) {
      *path = str(of(self).folder_);
      return of(self).folder_.empty() ? int32_t{ATALAYA_NOTHING} : int32_t{ATALAYA_OK};
    };
  }
  Host host() { return Host(&table_); }
  proc::test::FakeHost fake;

 private:
  static StatefulHost &of(void *self) { return *static_cast<StatefulHost *>(self); }
  std::string folder_;
  atalaya_host table_;
  void *inner_ = nullptr;
};

struct Machine {
  explicit Machine(bool with_state = true) : host(with_state ? state.path() : std::string()) {
    root.write("proc/sys/kernel/osrelease", "6.1\n");
    start();
  }
  void start() {
    Options options;
    options.root = root.path();
    options.repeat_ns = 100 * kSecond;
    collector.emplace(host.host(), options);
    collector->start();
  }
  // The spans of one look; the metrics go to `metrics`.
  std::vector<Seen> look(int64_t seconds) {
    batch.clear();
    Window window{};
    window.struct_size = sizeof(window);
    window.time_ns = window.monotonic_ns = seconds * kSecond;
    Batch wrapped(host.host(), &batch.raw());
    collector->collect(window, wrapped);
    std::vector<Seen> spans;
    metrics.clear();
    for (const Sample &sample : wrapped.samples()) {
      if (sample.kind == ATALAYA_SPAN) {
        CHECK(view(sample.text) == "fact");
        spans.push_back({std::string(view(sample.tags[0].value)), std::string(view(sample.tags[1].value)), sample.time_ns / kSecond,
                         sample.duration_ns < 0 ? -1 : sample.duration_ns / kSecond});
      }
      for (uint32_t i = 0; i < sample.field_count; ++i)
        metrics.emplace(host.fake.name(sample.fields[i].name), as_double(sample.fields[i]));
    }
    return spans;
  }

  TempRoot root, state;
  StatefulHost host;
  core::Batch batch;
  std::optional<Collector> collector;
  std::map<std::string, double, std::less<>> metrics;
};

using Spans = std::vector<Seen>;

}  // namespace

TEST_CASE("all facts at the start, then changes, all facts again at intervals") {
  Machine machine;
  CHECK(machine.look(1000) == Spans{{"kernel.release", "6.1", 1000, -1}});
  CHECK(machine.metrics["inventory.facts"] == 1);
  CHECK_FALSE(machine.metrics.contains("inventory.changes"));
  CHECK(machine.look(1010).empty());
  CHECK(machine.metrics["inventory.changes"] == 0);
  machine.root.write("proc/sys/kernel/osrelease", "6.2\n");
  CHECK(machine.look(1020) == Spans{{"kernel.release", "6.1", 1000, 20}, {"kernel.release", "6.2", 1020, -1}});
  CHECK(machine.metrics["inventory.changes"] == 2);
  CHECK(machine.look(1101).size() == 2);
  CHECK(machine.look(1110).empty());
}

TEST_CASE("a restart ends no fact, and detects the changes meanwhile") {
  Machine machine;
  machine.look(1000);
  machine.start();
  CHECK(machine.look(1010) == Spans{{"kernel.release", "6.1", 1000, -1}});
  CHECK(machine.metrics["inventory.changes"] == 0);
  machine.root.write("proc/sys/kernel/osrelease", "6.2\n");
  machine.start();
  const Spans changed = {{"kernel.release", "6.1", 1000, 20}, {"kernel.release", "6.2", 1020, -1}};
  CHECK(machine.look(1020) == changed);
  // As after a crash before anyone had it.
  machine.start();
  CHECK(machine.look(1030) == changed);
}

TEST_CASE("without a state folder it works until it ends") {
  Machine machine(false);
  machine.look(1000);
  machine.start();
  CHECK(machine.look(1010) == Spans{{"kernel.release", "6.1", 1010, -1}});
  CHECK(machine.host.fake.log.empty());
}

TEST_CASE("a damaged state is reported, and all facts start again") {
  Machine machine;
  machine.look(1000);
  machine.state.write("facts", "nonsense");
  machine.start();
  CHECK(machine.look(1010) == Spans{{"kernel.release", "6.1", 1010, -1}});
  REQUIRE(machine.host.fake.log.size() == 1);
  CHECK(machine.host.fake.log[0] ==
        (machine.state / "facts") + " is damaged; the start times of facts are lost, all facts begin now");
}

TEST_CASE("a root that is no folder") {
  proc::test::FakeHost fake;
  Collector collector(fake.host(), {.root = "/nowhere/at/all"});
  CHECK_THROWS_WITH(collector.start(),
                    "cannot open root \"/nowhere/at/all\": No such file or directory; name a folder that holds proc and sys");
}

}  // namespace atalaya::inventory
