// SPDX-License-Identifier: Apache-2.0
// The source "jvm": every JVM of the host, its heap, its collections, and where its threads spend their time.
#include <atalaya/plugin.hpp>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "plugins/sources/jvm/collector.h"
#include "plugins/sources/jvm/jvm_metrics.h"

namespace atalaya::jvm {
namespace {

core::MatcherList matchers(const Host &host, const char *name) {
  const std::vector<std::string> patterns = host.texts(name);
  auto list = core::MatcherList::parse(patterns);
  if (!list) throw Failure(Code::bad_config, std::string(name) + ": " + list.error());
  return std::move(*list);
}

Options options_of(const Host &host) {
  return {.processes = matchers(host, "processes"),
          .main = matchers(host, "main"),
          .profile = host.boolean("profile"),
          .sampler = {.budget = host.number("budget") / 100,
                      .least_interval_ns = host.integer("interval"),
                      .timeout_ns = host.integer("timeout"),
                      .all_threads = host.text("threads") == "all"},
          .top = static_cast<size_t>(host.integer("top")),
          .stacks = static_cast<size_t>(host.integer("stacks")),
          .flags = host.boolean("flags")};
}

constexpr Param kPattern[] = {
    {.name = "pattern"_str, .type = ATALAYA_STRING, .summary = "A name, glob or ~regular expression."_str}};

class Jvm final : public Source {
 public:
  static constexpr std::array params = {
      Param{.name = "processes"_str,
            .type = ATALAYA_LIST,
            .summary = "Only JVMs in processes of these names, as the kernel has them (15 bytes)."_str,
            .items = kPattern,
            .item_count = 1,
            .item_size = sizeof(Param)},
      Param{.name = "main"_str,
            .type = ATALAYA_LIST,
            .summary = "Only JVMs of these main classes or files of jars, as they were started with."_str,
            .items = kPattern,
            .item_count = 1,
            .item_size = sizeof(Param)},
      Param{.name = "profile"_str,
            .type = ATALAYA_BOOL,
            .default_text = "true"_str,
            .summary = "JVMs are asked for thread dumps; false: nothing but what they share is read, and they notice nothing."_str},
      Param{
          .name = "budget"_str,
          .type = ATALAYA_NUMBER,
          .flags = ATALAYA_BOUNDED,
          .default_text = "2"_str,
          .unit = "% of a core"_str,
          .summary =
              "What it all may cost, here and in all JVMs together: thread dumps come as often as that allows, each JVM has the same part."_str,
          .min = 0.001,
          .max = 50},
      Param{.name = "interval"_str,
            .type = ATALAYA_DURATION,
            .flags = ATALAYA_BOUNDED,
            .default_text = "10ms"_str,
            .summary = "A JVM is not asked more often, however cheap its dumps are."_str,
            .min = 1e6,
            .max = 3600e9},
      Param{.name = "timeout"_str,
            .type = ATALAYA_DURATION,
            .flags = ATALAYA_BOUNDED,
            .default_text = "2s"_str,
            .summary = "How long a JVM may take to answer; one that takes longer is asked again much later."_str,
            .min = 1e8,
            .max = 10e9},
      Param{.name = "threads"_str,
            .type = ATALAYA_ENUM,
            .default_text = "running"_str,
            .allowed = "running|all"_str,
            .summary = "Stacks of threads on CPUs, by CPU time, or of all, by the time they were in them."_str},
      Param{.name = "top"_str,
            .type = ATALAYA_INT,
            .flags = ATALAYA_BOUNDED,
            .default_text = "32"_str,
            .unit = "functions"_str,
            .summary = "Of each JVM so many are told, those with most CPU time of their own."_str,
            .min = 0,
            .max = 10000},
      Param{.name = "stacks"_str,
            .type = ATALAYA_INT,
            .flags = ATALAYA_BOUNDED,
            .default_text = "1000"_str,
            .summary = "Stacks of a JVM and window, those with most time; what the others took is told as [other]. 0: none."_str,
            .min = 0,
            .max = 65536},
      Param{.name = "flags"_str,
            .type = ATALAYA_BOOL,
            .default_text = "false"_str,
            .summary = "Tells the options -X... that a JVM was started with; properties, agents and arguments are never told."_str},
  };
  static constexpr Need needs[] = {
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_SYS_PTRACE"_str, "JVMs of other users"_str, "others"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_SETUID"_str, "the same: a JVM answers its own user"_str, "others"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_SETGID"_str, "the same"_str, "others"_str},
  };
  static constexpr Description description = {
      .name = "jvm"_str,
      .summary = "Heap, collections and hot functions of every JVM, nothing loaded into it"_str,
      .params = params,
      .metrics = kMetrics,
      .needs = needs,
      .flags = ATALAYA_BLOCKING};

  explicit Jvm(Host host) : collector_(host, options_of(host)) {}
  void start() override { collector_.start(); }
  void stop() override { collector_.stop(); }
  Code collect(const Window &window, Batch &batch) override {
    collector_.collect(window, batch);
    return Code::ok;
  }

 private:
  Collector collector_;
};

}  // namespace
}  // namespace atalaya::jvm

ATALAYA_PLUGIN("jvm", "0.1.0", "source jvm", atalaya::jvm::Jvm)
