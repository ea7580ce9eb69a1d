// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "plugins/shared/io/tail/journal_file.h"
#include "plugins/shared/io/tail/tail.h"
#include "plugins/shared/protocols/btrace/line_reader.h"
#include "plugins/sources/btrace/btrace_metrics.h"
#include "plugins/sources/btrace/read_rules.h"
#include "plugins/sources/btrace/record_builder.h"

namespace atalaya::btrace {

// Follows trace files and emits their lines, one batch at a time. The journal records the lines and times of a batch before the
// source emits it, and its completion when the sinks have stored it. If the agent is killed in between, the source builds the
// identical batch again after the restart, so a store has each sample once.
class BtraceSource final : public PushSource {
 public:
  static constexpr Param params[] = {
      param::string("path", "A file, folder or glob; finds rotated files next to it, reads no compressed files").required(),
      param::choice("from", "begin|end", "Start position in files that exist at the very first scan; later scans continue")
          .defaults("begin"),
      param::boolean("phase_lines", "Turns lines such as `atalaya begin phase job=J task=T phase=spill time=MS` into spans")
          .defaults("true"),
      param::boolean("forms", "Turns output of BTrace's print functions (numbers, maps, aggregations, snapshots) into metrics")
          .defaults("true"),
      param::list("rules", kRule, "Patterns for other lines; the first match wins, before phase lines and forms"),
      param::boolean("open_spans", "Also reports spans at their begin, with duration -1; replaced at their end").defaults("false"),
      param::integer("max_open", "Maximum open spans; beyond it the oldest is given up and counted")
          .defaults("10000")
          .unit("spans")
          .range(1, 1000000),
      param::duration("max_age", "Maximum time to wait for the end of a span; then it is given up and counted")
          .defaults("7d")
          .range(1e9, 3.1536e16),
      param::duration("poll", "Interval of scans of the files").defaults("500ms").range(1e7, 3.6e12),
      param::duration("linger", "Time without growth after which a renamed or deleted file is finished")
          .defaults("10s")
          .range(1e7, 3.6e12),
      param::size("max_line", "Maximum length of a line; longer lines are skipped and counted")
          .defaults("64 KiB")
          .range(64, 4194304),
      param::integer("max_files", "Maximum open files; fully read files that have not grown for linger are closed first")
          .defaults("1000")
          .unit("files")
          .range(1, 100000),
      param::integer("max_names", "Maximum distinct names of metrics and tags; samples with further names are dropped")
          .defaults("4096")
          .unit("names")
          .range(64, 500000),
  };
  static constexpr Need needs[] = {
      need::optional_capability("CAP_DAC_READ_SEARCH", "no logs that only other users may read", "logs")};
  static constexpr Description description = {.name = "btrace"_str,
                                              .summary = "Turn lines of BTrace output and other logs into metrics and spans"_str,
                                              .params = params,
                                              .metrics = kMetrics,
                                              .needs = needs};

  explicit BtraceSource(Host host);

  void start() override;
  void stop() override;
  Code run() override;
  void interrupt() noexcept override;
  void acked(uint64_t batch_id, Code status) noexcept override;

 private:
  // Counters since the start of the source.
  struct Totals {
    LineCounts lines;
    SpanCounts spans;
    tail::Losses losses;
  };

  void make_readers();
  void read_journal();
  void write_journal();

  bool stopping();
  Totals begin_batch(int64_t time_ns);
  // Both emit one batch and wait for the sinks. They return false if there is nothing to emit, or the host is stopping.
  bool next_lines(int64_t time_ns, bool limited);
  bool next_expired(int64_t time_ns);
  void replay();
  // `replayable`: the source can build the batch again after the agent was killed.
  bool deliver(const Totals &before, bool replayable);
  bool emit_batch();
  void settle();
  void add_account();
  void count_drops(const Totals &before);
  Totals totals() const { return {reader_->counts(), reader_->spans().counts(), tail_->losses()}; }
  int64_t batch_time();

  const Host host_;
  const tail::Options tail_options_;
  const ReaderOptions reader_options_;
  const Rules rules_;
  const int64_t poll_ns_;

  // Used by the thread of run(), and by start() and stop() while that thread does not run.
  std::optional<tail::Tail> tail_;
  std::optional<LineReader> reader_;
  RecordBuilder builder_;
  atalaya_batch *batch_ = nullptr;
  tail::Journal journal_;
  std::optional<tail::JournalFile> journal_file_;  // empty: no state folder
  Totals reported_;                                // the totals at the last call of add_account
  int64_t batch_time_ns_ = 0;                      // time of the current batch
  int64_t last_time_ns_ = 0;                       // the latest time of an emitted sample

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = true, emitting_ = false;
  std::optional<uint64_t> in_flight_;
  std::optional<Code> answer_;                      // the sinks' answer for the batch in flight
  std::optional<std::pair<uint64_t, Code>> early_;  // result of a batch that was acknowledged before emit returned its id
};

}  // namespace atalaya::btrace
