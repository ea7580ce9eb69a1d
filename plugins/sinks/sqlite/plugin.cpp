// SPDX-License-Identifier: Apache-2.0
// The sink "sqlite": every batch is one transaction of the embedded store.
#include <dlfcn.h>

#include <atalaya/plugin.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/files.h"
#include "core/base/now.h"
#include "core/base/own_command.h"
#include "plugins/shared/store/sqlite/writer.h"
#include "plugins/sinks/sqlite/trace_files.h"

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
    param::duration(
        "after",
        "Age by arrival from which samples are rolled up; longer than any sample may be late. A roll-up is done when they "
        "are half as old again")
        .required()
        .range(3.6e12, 3.1536e18),
    param::duration("every", "Length of a step: a divisor of the steps of queries, and a multiple of the level before")
        .required()
        .range(1e9, 3.16224e16),
    param::duration("retain", "Maximum age by arrival; 0s: no limit (default: that of the sink)").range(0, 9.2e18),
};
constexpr Param kRollup[] = {
    param::record("", kLevel, "A level: old samples, or those of the level before, become one sample per step")};

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

constexpr Param kTraces[] = {
    param::string("folder", "Folder of the files, of this sink alone; a relative path is below the agent's state folder")
        .required(),
    param::integer("files", "Maximum number of files; the oldest are removed").defaults("20").range(1, 10000),
    param::size("max_size", "Maximum size of all files; the oldest are removed").defaults("1 GiB").range(1 << 20, 1e15),
};

// Delay before a trace file is written: the recorders of one trigger complete their recordings within a few windows.
constexpr int64_t kSettleNs = 2'000'000'000;
constexpr int64_t kTimeoutNs = int64_t{180} * 1'000'000'000;

TraceLimits read_traces(Host host) {
  return {std::filesystem::path(core::state_folder()) / host.text("traces.folder"),
          static_cast<size_t>(host.integer("traces.files")), static_cast<uint64_t>(host.integer("traces.max_size"))};
}

// The folder of this plugin, which the agent may have loaded from a folder of --plugins.
std::string own_folder() {
  Dl_info about{};
  if (::dladdr(reinterpret_cast<void *>(&own_folder), &about) == 0 || about.dli_fname == nullptr) return "";  // NOLINT
  return std::filesystem::path(about.dli_fname).parent_path();
}

// Runs `atalaya trace` in a child process, so that its memory is not part of the agent's. Its times are in milliseconds.
core::Status write_trace(const std::string &store, const RecordedTime &time, int file, int stop) {
  constexpr int64_t kMs = 1'000'000;
  std::vector<std::string> words = {"trace",   "--recording",
                                    "--store", "sqlite:" + store,
                                    "--from",  std::to_string(time.from_ns / kMs),
                                    "--to",    std::to_string(time.until_ns / kMs + (time.until_ns % kMs > 0 ? 1 : 0))};
  if (const std::string folder = own_folder(); !folder.empty()) words.insert(words.end(), {"--plugins", folder});
  const core::Status written = core::run_own_command(file, std::move(words), kTimeoutNs, stop);
  return written ? written : core::Status(core::Error{with_advice(written.error(), kTimeoutNs)});
}

class SqliteSink final : public Sink {
 public:
  static constexpr Param params[] = {
      param::string("path", "The database file (default: $ATALAYA_STORE, else atalaya.db in the state folder)").unit("output file"),
      param::duration("retain", "Maximum age by arrival; older data is deleted; 0s: no limit").defaults("7d").range(0, 9.2e18),
      param::size("max_size", "Maximum size of the data; the oldest arrivals are deleted; 0 B: no limit")
          .defaults("4 GiB")
          .range(0, 9.2e18),
      param::size("min_free",
                  "Minimum free space of the disk; the oldest arrivals are deleted, except for the last 64 MiB; 0 B: no limit")
          .defaults("1 GiB")
          .range(0, 9.2e18),
      param::duration("min_retain",
                      "Minimum age by arrival before max_size and min_free delete; a store that is full of younger data refuses "
                      "batches, which wait; at most retain")
          .defaults("5m")
          .range(0, 9.2e18),
      param::list("rollup", kRollup,
                  "Levels of roll-ups of old samples, such as { { after = \"2d\", every = \"1m\", retain = \"90d\" } } (default: "
                  "none, all samples are kept)"),
      param::record("traces", kTraces, "Write each recording of the filter recorder as a file for Perfetto, too (absent: none)"),
      param::choice("sync", "normal|full",
                    "normal: a commit survives the end of the agent; full: a power cut too, with an fsync per batch")
          .defaults("normal"),
  };
  static constexpr Description description = {
      .name = "sqlite"_str, .summary = "Keep samples in the embedded store, one transaction per batch"_str, .params = params};

  explicit SqliteSink(Host host) : host_(host) {
    if (const auto path = host_.find("path")) options_.path = path->text();
    options_.limits = {host_.integer("retain"), host_.integer("max_size"), host_.integer("min_free"), read_rollup(host_),
                       host_.integer("min_retain")};
    if (const auto problem = store::problem_of(options_.limits.rollup, options_.limits.retain_ns))
      throw Failure(Code::bad_config, *problem);
    options_.warn = [host = host_](const std::string &text) { host.log(Level::warning, text); };
    options_.full_sync = host_.text("sync") == "full";
    if (!host_.find("traces.folder")) return;
    traces_ = read_traces(host_);
    recording_ = host_.intern("recording");
  }

  void start() override {
    if (!writer_) answer([&] { open(); });
    if (traces_ && !trace_files_) open_traces();
  }
  void stop() override {
    trace_files_.reset();
    writer_.reset();
  }

  Code write(std::span<const Sample> samples, int64_t & /*retry_after_ns*/) override {
    ensure_open();
    int64_t now = 0;
    try {
      answer([&] {
        now = writer_->arrival(core::read_clocks());
        report(writer_->write(samples, now));
      });
    } catch (const Failure &) {
      check_place();
      throw;
    }
    check_place();
    if (trace_files_) add_recordings(samples);
    try {
      writer_->maintain_when_due(now);
    } catch (const std::exception &error) {
      // The batch is committed; maintenance (deletion, compression) is repeated after the next batch.
      host_.log(Level::warning, std::string("retention and compression are delayed: ") + error.what());
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
  void open() {
    writer_.emplace(
        options_, [host = host_](uint32_t id) { return host.name_of(id); },
        [host = host_](uint32_t id) { return host.metric(id); });
  }
  void open_traces() {
    trace_files_ = std::make_unique<TraceFiles>(
        *traces_, kSettleNs,
        [store = writer_->path()](const RecordedTime &time, int file, int stop) { return write_trace(store, time, file, stop); },
        [host = host_](Level level, const std::string &text) { host.log(level, text); });
  }
  // The span of a recording is written after its samples, so the store has all of them now.
  void add_recordings(std::span<const Sample> samples) {
    for (const Sample &sample : samples)
      if (sample.kind == ATALAYA_SPAN && view(sample.text) == "recording" && find_tag(sample, recording_) != nullptr)
        if (const auto time = recorded_time(sample.time_ns, sample.duration_ns)) trace_files_->add(*time);
  }
  // Only a start may fail permanently: a batch is retried until the store is available.
  void ensure_open() {
    if (writer_) return;
    try {
      open();
    } catch (const store::Error &error) {
      throw Failure(Code::retry, error.what());
    }
  }
  // The batch is written again, to the new store.
  void check_place() {
    if (writer_->is_in_place()) return;
    const std::string path = writer_->path();
    writer_.reset();
    throw Failure(Code::retry, "database " + path +
                                   " or a file beside it was removed or replaced while the agent wrote to it: what it held may be "
                                   "lost, and the batch goes to a new one. Exclude the store from programs that clean up");
  }
  void report(const store::Refused &refused) {
    host_.dropped("no value that can be stored", refused.samples);
    if (refused.values > 0)
      host_.log(Level::warning, "values that are not finite, or have no name, were left out of the store " + writer_->path());
    if (refused.stack_ends > 0)
      host_.log(Level::warning, "stacks of more than " + std::to_string(store::kMaxFrames) + " frames or " +
                                    std::to_string(store::kMaxStackLength >> 10) + " KiB have only their leaf ends in the store " +
                                    writer_->path() + ", below the frame " + std::string(store::kTruncated));
  }

  Host host_;
  uint32_t recording_ = 0;  // id of the tag `recording`
  store::Options options_;
  std::optional<TraceLimits> traces_;
  std::unique_ptr<TraceFiles> trace_files_;
  std::optional<store::Writer> writer_;
};

}  // namespace
}  // namespace atalaya::sqlite_sink

ATALAYA_PLUGIN("sqlite", "0.1.0", "sink sqlite", atalaya::sqlite_sink::SqliteSink)
