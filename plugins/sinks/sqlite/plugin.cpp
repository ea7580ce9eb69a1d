// SPDX-License-Identifier: Apache-2.0
// The sink "sqlite": every batch is one transaction of the embedded store.
#include <atalaya/plugin.hpp>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "plugins/shared/store/sqlite/writer.h"

namespace atalaya::sqlite_sink {
namespace {

using namespace atalaya::literals;

Code code_of(store::Cause cause) {
  switch (cause) {
    case store::Cause::retry:
    case store::Cause::full:
      return Code::retry;
    case store::Cause::permanent:
      return Code::permanent;
    case store::Cause::config:
      return Code::bad_config;
  }
  return Code::permanent;
}

constexpr Param kLevel[] = {
    {.name = "after"_str,
     .type = ATALAYA_DURATION,
     .flags = ATALAYA_REQUIRED | ATALAYA_BOUNDED,
     .summary =
         "What arrived longer ago is rolled up: longer than any sample may come late or twice; it is done when it is up to half as "
         "old again."_str,
     .min = 3.6e12,
     .max = 3.1536e18},
    {.name = "every"_str,
     .type = ATALAYA_DURATION,
     .flags = ATALAYA_REQUIRED | ATALAYA_BOUNDED,
     .summary = "The length of the steps: a divisor of the steps one asks for, and a multiple of the level before."_str,
     .min = 1e9,
     .max = 3.16224e16},
    {.name = "retain"_str,
     .type = ATALAYA_DURATION,
     .flags = ATALAYA_BOUNDED,
     .summary = "What arrived longer ago is deleted; 0s keeps it whatever its age; absent: as the sink's."_str,
     .min = 0,
     .max = 9.2e18},
};
constexpr Param kRollup[] = {{.type = ATALAYA_RECORD,
                              .summary = "A level: old samples, or those of the level before, become one a step."_str,
                              .items = kLevel,
                              .item_count = std::size(kLevel),
                              .item_size = sizeof(Param)}};

std::vector<store::RollupLevel> read_rollup(Host host) {
  std::vector<store::RollupLevel> levels;
  for (uint64_t i = 0; host.child("rollup", i); ++i) {
    const std::string level = "rollup[" + std::to_string(i) + "]";
    store::RollupLevel &read = levels.emplace_back();
    read.after_ns = host.integer(level + ".after");
    read.every_ns = host.integer(level + ".every");
    if (const auto retain = host.find(level + ".retain")) read.retain_ns = retain->integer();
  }
  return levels;
}

class SqliteSink final : public Sink {
 public:
  static constexpr Param params[] = {
      {.name = "path"_str,
       .type = ATALAYA_STRING,
       .summary = "The database file; by default $ATALAYA_STORE, else atalaya.db in the state folder."_str},
      {.name = "retain"_str,
       .type = ATALAYA_DURATION,
       .flags = ATALAYA_BOUNDED,
       .default_text = "7d"_str,
       .summary = "What arrived longer ago is deleted; 0s keeps it whatever its age."_str,
       .min = 0,
       .max = 9.2e18},
      {.name = "max_size"_str,
       .type = ATALAYA_SIZE,
       .flags = ATALAYA_BOUNDED,
       .default_text = "4 GiB"_str,
       .summary = "The oldest arrivals are deleted while the data is larger; 0 B sets no limit."_str,
       .min = 0,
       .max = 9.2e18},
      {.name = "min_free"_str,
       .type = ATALAYA_SIZE,
       .flags = ATALAYA_BOUNDED,
       .default_text = "1 GiB"_str,
       .summary =
           "The oldest arrivals, except for a rest of 64 MiB, are deleted while the disk has less free space; 0 B sets no limit."_str,
       .min = 0,
       .max = 9.2e18},
      {.name = "rollup"_str,
       .type = ATALAYA_LIST,
       .summary = "What is kept of old samples, a level after the other, such as { { after = \"2d\", every = \"1m\", retain = "
                  "\"90d\" } }; "
                  "absent: all of them."_str,
       .items = kRollup,
       .item_count = 1,
       .item_size = sizeof(Param)},
      {.name = "sync"_str,
       .type = ATALAYA_ENUM,
       .default_text = "normal"_str,
       .allowed = "normal|full"_str,
       .summary = "normal: what is committed survives the end of the agent; full: a power cut too, at one fsync a batch."_str},
  };
  static constexpr Description description = {
      .name = "sqlite"_str, .summary = "keeps samples in the embedded store, one transaction a batch"_str, .params = params};

  explicit SqliteSink(Host host) : host_(host) {
    if (const auto path = host_.find("path")) options_.path = path->text();
    options_.limits = {host_.integer("retain"), host_.integer("max_size"), host_.integer("min_free"), read_rollup(host_)};
    if (const auto problem = store::problem_of(options_.limits.rollup, options_.limits.retain_ns))
      throw Failure(Code::bad_config, *problem);
    options_.warn = [host = host_](const std::string &text) { host.log(Level::warning, text); };
    options_.full_sync = host_.text("sync") == "full";
  }

  void start() override {
    if (writer_) return;
    answer([&] {
      writer_.emplace(
          options_, [host = host_](uint32_t id) { return host.name_of(id); }, [host = host_](uint32_t id) { return host.metric(id); });
    });
  }
  void stop() override { writer_.reset(); }

  Code write(std::span<const Sample> samples, int64_t & /*retry_after_ns*/) override {
    if (!writer_) throw Failure(Code::retry, "the sink \"sqlite\" is not started");
    const int64_t now = host_.realtime();
    answer([&] { report(writer_->write(samples, now)); });
    try {
      writer_->maintain(now);
    } catch (const std::exception &error) {
      // The batch is committed whatever becomes of deletion and compression, which the next batch tries again.
      host_.log(Level::warning, std::string("retention and compression have to wait: ") + error.what());
    }
    return Code::ok;
  }
  Code flush(int64_t) override { return Code::ok; }

 private:
  template <class Action>
  static void answer(Action &&action) {
    try {
      action();
    } catch (const store::Error &error) {
      throw Failure(code_of(error.cause()), error.what());
    }
  }
  void report(const store::Refused &refused) {
    host_.dropped("no value that can be stored", refused.samples);
    if (refused.values > 0)
      host_.log(Level::warning, "values that are not finite, or have no name, were left out of the store " + writer_->path());
    if (refused.stack_ends > 0)
      host_.log(Level::warning, "stacks of more than " + std::to_string(store::kMostFrames) + " frames or " +
                                    std::to_string(store::kLongestStack >> 10) + " KiB have only their leaf ends in the store " +
                                    writer_->path() + ", below the frame " + std::string(store::kTruncated));
  }

  Host host_;
  store::Options options_;
  std::optional<store::Writer> writer_;
};

}  // namespace
}  // namespace atalaya::sqlite_sink

ATALAYA_PLUGIN("sqlite", "0.1.0", "sink sqlite", atalaya::sqlite_sink::SqliteSink)
