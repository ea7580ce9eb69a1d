// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "plugins/sources/btrace/line_reader.h"
#include "plugins/sources/btrace/btrace_metrics.h"
#include "plugins/sources/btrace/read_rules.h"
#include "plugins/sources/btrace/record_builder.h"
#include "plugins/shared/tail/journal_file.h"
#include "plugins/shared/tail/tail.h"

namespace atalaya::btrace {

// Lines go on as batches, one at a time. Before one is handed over, the journal says what is in it and which times it has; when the
// sinks hold it, that it is done. Who is killed in between makes the same batch again, sample for sample: a store then has each
// once.
class BtraceSource final : public PushSource {
 public:
  static constexpr Param params[] = {
      {.name = "path"_str,
       .type = ATALAYA_STRING,
       .flags = ATALAYA_REQUIRED,
       .summary = "A file, a folder, or a glob. Rotated files are found beside it; compressed ones are not read."_str},
      {.name = "from"_str,
       .type = ATALAYA_ENUM,
       .default_text = "begin"_str,
       .allowed = "begin|end"_str,
       .summary = "Where files that are there at the very first look are read from; later it is where the agent was."_str},
      {.name = "phase_lines"_str,
       .type = ATALAYA_BOOL,
       .default_text = "true"_str,
       .summary = "Lines such as `atalaya begin phase job=J task=T phase=spill time=MS` become spans."_str},
      {.name = "forms"_str,
       .type = ATALAYA_BOOL,
       .default_text = "true"_str,
       .summary = "What BTrace's own functions print (numbers, maps, aggregations, snapshots) becomes metrics."_str},
      {.name = "rules"_str,
       .type = ATALAYA_LIST,
       .summary = "What else lines mean; the first rule that matches counts, before phase lines and forms."_str,
       .items = kRule,
       .item_count = 1,
       .item_size = sizeof(Param)},
      {.name = "open_spans"_str,
       .type = ATALAYA_BOOL,
       .default_text = "false"_str,
       .summary = "Spans are told when they begin, too, with a duration of -1, and replaced when they end."_str},
      {.name = "max_open"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "10000"_str,
       .unit = "spans"_str,
       .summary = "Spans that may be open; beyond it the oldest is given up, and counted."_str,
       .min = 1,
       .max = 1000000},
      {.name = "max_age"_str,
       .type = ATALAYA_DURATION,
       .flags = ATALAYA_BOUNDED,
       .default_text = "7d"_str,
       .summary = "A begin whose end has not come for so long, since it was read, is given up, and counted."_str,
       .min = 1e9,
       .max = 3.1536e16},
      {.name = "poll"_str,
       .type = ATALAYA_DURATION,
       .flags = ATALAYA_BOUNDED,
       .default_text = "500ms"_str,
       .summary = "How often the files are looked at."_str,
       .min = 1e7,
       .max = 3.6e12},
      {.name = "linger"_str,
       .type = ATALAYA_DURATION,
       .flags = ATALAYA_BOUNDED,
       .default_text = "10s"_str,
       .summary = "A renamed or deleted file that has not grown for so long is finished."_str,
       .min = 1e7,
       .max = 3.6e12},
      {.name = "max_line"_str,
       .type = ATALAYA_SIZE,
       .flags = ATALAYA_BOUNDED,
       .default_text = "64 KiB"_str,
       .summary = "Longer lines are left out, and counted."_str,
       .min = 64,
       .max = 4194304},
      {.name = "max_files"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "1000"_str,
       .unit = "files"_str,
       .summary = "Files that may be open; those that are read and have not grown for linger make room for others."_str,
       .min = 1,
       .max = 100000},
      {.name = "max_names"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "4096"_str,
       .unit = "names"_str,
       .summary = "Different names of metrics and tags that lines may give; samples with further ones are dropped."_str,
       .min = 64,
       .max = 500000},
  };
  static constexpr Need needs[] = {
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_DAC_READ_SEARCH"_str, "logs that only other users may read"_str, "logs"_str}};
  static constexpr Description description = {
      .name = "btrace"_str,
      .summary = "follows BTrace's output and other logs, over rotations and restarts: lines become metrics and spans"_str,
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
  // All that has been counted since the start.
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
  // Each brings a batch to the sinks. False: there was nothing more, or the host is stopping.
  bool next_lines(int64_t time_ns, bool limited);
  bool next_expired(int64_t time_ns);
  void replay();
  // `replayable`: whoever is killed before the sinks hold it can make it again.
  bool deliver(const Totals &before, bool replayable);
  bool hand_over();
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

  // Of the thread of run, and of start and stop when there is none.
  std::optional<tail::Tail> tail_;
  std::optional<LineReader> reader_;
  RecordBuilder builder_;
  atalaya_batch *batch_ = nullptr;
  tail::Journal journal_;
  std::optional<tail::JournalFile> journal_file_;  // nothing: it is not kept
  Totals told_;                                    // by add_account
  int64_t batch_time_ns_ = 0;                      // of the batch that is being made
  int64_t last_time_ns_ = 0;                       // of a sample, as read

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = true, emitting_ = false;
  std::optional<uint64_t> in_flight_;
  std::optional<Code> answer_;  // of the sinks, for the batch in flight
  std::optional<std::pair<uint64_t, Code>> early_;
};

}  // namespace atalaya::btrace
