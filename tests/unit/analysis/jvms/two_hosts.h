// SPDX-License-Identifier: Apache-2.0
// A store of ten seconds: JVM 1 of host h1, JVM 2 of host h2 in the second half, JVM 3 that is not profiled, and other programs.
#pragma once

#include <string>
#include <vector>

#include "tests/unit/store/query/memory_store.h"

namespace atalaya::jvms::test {

class TwoHosts final : public query::test::MemoryStore {
 public:
  explicit TwoHosts(bool tells_cpu = true) {
    const store::Tags one = jvm("h1", "1", "java"), named = jvm("h1", "1", "shop"), two = jvm("h2", "2", "java");
    every("jvm.profile.rate", one, 1, 5, 20);
    every("jvm.profile.rate", named, 6, 10, 20);
    every("jvm.profile.cost", one, 1, 5, 2);
    every("jvm.profile.cost", named, 6, 10, 2);
    every("jvm.profile.rate", two, 6, 10, 10);
    if (tells_cpu) every("jvm.profile.cpu", one, 1, 10, 100);
    every("jvm.function.self", function(one, "app.Main work"), 1, 10, 0.5);
    every("jvm.function.self", function(one, "java.lang.String hashCode"), 1, 10, 0.1);
    every("jvm.function.self", function(two, "app.Main work"), 6, 10, 0.2);
    every("jvm.heap.used", jvm("h2", "3", "zoo"), 1, 10, 1e6);
    add_stacks(one, two);
  }

  static store::Range range(int from, int to) {
    return {query::test::kT0 + from * query::test::kSecond, query::test::kT0 + to * query::test::kSecond};
  }

  void whole_stacks(const store::Selection &wanted, const std::function<void(const store::Stack &)> &visitor) override {
    std::map<store::Tags, int64_t> entities;
    std::map<std::string, int64_t> numbers;
    for (const Seen &seen : stacks_) {
      if (!fits(seen.tags, wanted.tags)) continue;
      const std::vector<store::Field> fields = {{"profile.samples", true, 0, seen.samples}, {"profile.ns", true, 0, seen.ns}};
      visitor({0, 0, entities.try_emplace(seen.tags, entities.size()).first->second,
               numbers.try_emplace(seen.folded, numbers.size()).first->second, seen.tags, seen.folded, fields});
    }
  }
  void spans(const store::Selection &wanted, const std::function<void(const store::Span &)> &visitor) override {
    const auto facts = [](const char *version, const char *collector) {
      store::Tags tags = jvm("h1", "1", "java");
      tags["version"] = version;
      tags["collector"] = collector;
      return tags;
    };
    if (wanted.metrics != std::vector<std::string>{"jvm"}) return;
    for (const store::Tags &tags : {facts("11.0.1", "Serial"), facts("17.0.10", "G1")}) visitor({0, -1, 0, tags, "jvm", {}});
    const store::Tags stranger = jvm("h9", "9", "java");
    visitor({0, -1, 0, stranger, "jvm", {}});
  }

 private:
  struct Seen {
    store::Tags tags;
    std::string folded;
    int64_t samples, ns;
  };
  static store::Tags jvm(const char *host, const char *pid, const char *process) {
    return {{"host", host}, {"pid", pid}, {"process", process}};
  }
  static store::Tags function(store::Tags tags, const char *name) {
    tags["function"] = name;
    return tags;
  }
  static store::Tags profile(store::Tags tags, const char *name) {
    tags["profile"] = name;
    if (std::string(name) != "cpu") tags["bias"] = "safepoint";
    return tags;
  }
  void every(const char *metric, const store::Tags &tags, int first, int last, double value) {
    query::test::Values values;
    for (int second = first; second <= last; ++second) values.emplace_back(second, value);
    add(metric, tags, values);
  }
  void add_stacks(const store::Tags &one, const store::Tags &two) {
    const std::string a = "java.lang.Thread.run_[j];app.Main.a_[j];app.Main.work_[j]";
    const std::string b = "java.lang.Thread.run_[j];app.Main.b_[j];app.Main.work_[j]";
    stacks_.push_back({profile(one, "wall"), a, 1, 20});
    stacks_.push_back({profile(one, "wall"), b, 1, 30});
    stacks_.push_back({profile(two, "wall"), b, 1, 45});
    stacks_.push_back({profile(two, "wall"), "app.Main.work_[j]", 1, 5});
    stacks_.push_back({profile(one, "wall"), "app.Main.work_[j];java.lang.String.hashCode_[j]", 1, 500});
    const auto exemplar = [](const char *caller) {
      return std::string("java.lang.Thread run (Thread.java:833);") + caller + ";app.Main work (Main.java:7)";
    };
    stacks_.push_back({function(profile(one, "exemplar"), "app.Main work"), exemplar("app.Main a (Main.java:2)"), 1, 30});
    stacks_.push_back({function(profile(one, "exemplar"), "app.Main work"), exemplar("app.Main b (Main.java:3)"), 1, 20});
    stacks_.push_back({function(profile(two, "exemplar"), "app.Main work"), exemplar("app.Main b (Main.java:3)"), 1, 50});
    stacks_.push_back({function(profile(one, "exemplar"), "java.lang.String hashCode"), "x;y", 1, 900});
    const std::string begin = "start_thread;JavaMain;StubRoutines (1)_[j];";
    stacks_.push_back({profile(one, "cpu"), begin + "void app.Main.b()_[j];void app.Main.work()_[j];do_futex_[k]", 20, 0});
    stacks_.push_back({profile(one, "cpu"), begin + "void app.Main.b()_[j];void app.Main.work()_[j]", 10, 0});
    stacks_.push_back({profile(one, "cpu"), "start_thread;void app.Main.b()_[j];void app.Main.hot()_[j]", 60, 0});
    stacks_.push_back({profile(one, "cpu"), begin + "Interpreter_[j]", 10, 0});
    stacks_.push_back({profile(one, "cpu"), "start_thread;thread_native_entry;G1ServiceThread::run_service()", 25, 0});
    stacks_.push_back({profile(jvm("h1", "8", "node"), "cpu"), "main;LazyCompile:*work_[j]", 1000, 0});
    stacks_.push_back({profile(jvm("h1", "9", "make"), "cpu"), "main;work", 1000, 0});
  }
  static bool fits(const store::Tags &tags, const std::vector<store::TagFilter> &filters) {
    return std::all_of(filters.begin(), filters.end(), [&](const store::TagFilter &filter) {
      const auto tag = tags.find(filter.key);
      return tag != tags.end() && io::MatcherList::parse(filter.patterns).value().matches(tag->second);
    });
  }

  std::vector<Seen> stacks_;
};

}  // namespace atalaya::jvms::test
