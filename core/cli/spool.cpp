// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include "core/base/encode/flat.h"
#include "core/base/encode/line_encoder.h"
#include "core/base/text/json_writer.h"
#include "core/base/text/units.h"
#include "core/cli/cli.h"
#include "core/config/load.h"
#include "core/control/agent.h"
#include "core/delivery/sink_worker.h"
#include "core/delivery/spool_view.h"
#include "core/pipeline/clock.h"

namespace atalaya::core::cli {
namespace {

constexpr OptionSpec kSpoolOptions[] = {
    {"--format", "FORMAT", "Output format. ls: table or json (default: table); export: samples or jsonlines (default: samples)"},
    {"--sink", "NAME", "Sink of FILE that replay sends to (default: its only sink)"},
    {"--timeout", "TIME", "Stop replay after this time without a delivery (default: 60s)"},
};

int fail(const std::string &text, int status = kFailed) {
  std::fprintf(stderr, "atalaya spool: %s\n", text.c_str());
  return status;
}

// Queued samples of a spool, by pipeline. Reads the segments, because the state file of a running spool is out of date.
struct Summary {
  uint64_t bytes = 0, records = 0, damaged_parts = 0;
  int64_t oldest_ns = 0;  // 0: the spool is empty
  std::map<std::string, SpoolCounts> pipelines;
  std::map<std::string, uint64_t> queued;
};

Summary summary_of(const SpoolView &view) {
  Summary summary;
  for (const auto &segment : view.segments) summary.bytes += segment.size;
  for (const SpoolCounts &counts : view.state.pipelines) summary.pipelines[counts.pipeline] = counts;
  walk_spool(view, false, [&](const auto &, const SegmentReader::Found &found) {
    if (found.kind != SegmentReader::Kind::record) {
      ++summary.damaged_parts;
      return true;
    }
    ++summary.records;
    if (summary.oldest_ns == 0) summary.oldest_ns = found.header.time_ns;
    summary.pipelines[std::string(found.name)].pipeline = found.name;
    summary.queued[std::string(found.name)] += found.header.samples;
    return true;
  });
  return summary;
}

std::string age_of(int64_t time_ns) {
  if (time_ns == 0) return "empty";
  const int64_t second = 1'000'000'000;
  return "age of the oldest " + format_duration(std::max<int64_t>(read_clocks().realtime - time_ns, 0) / second * second);
}

void print_table(const std::string &dir, const SpoolView &view, const Summary &summary) {
  std::printf("%s: %zu segments, %.1f MiB, %" PRIu64 " batches queued; %s\n", dir.c_str(), view.segments.size(),
              static_cast<double>(summary.bytes) / (1 << 20), summary.records, age_of(summary.oldest_ns).c_str());
  if (!view.has_state) std::printf("the state file is missing or damaged: all batches will be sent again\n");
  std::printf("\n%-24s %12s %12s %12s %12s\n", "pipeline", "queued", "delivered", "dropped", "dead letter");
  for (const auto &[name, counts] : summary.pipelines) {
    const auto queued = summary.queued.find(name);
    std::printf("%-24s %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64 "\n", name.c_str(),
                queued == summary.queued.end() ? 0 : queued->second, counts.delivered, counts.dropped_total(), counts.dead_letter);
    for (const auto &[reason, samples] : counts.dropped) std::printf("%24s dropped %" PRIu64 ": %s\n", "", samples, reason.c_str());
  }
}

void print_json(const std::string &dir, const SpoolView &view, const Summary &summary) {
  JsonWriter json;
  json.object().key("dir").text(dir).key("segments").count(view.segments.size()).key("bytes").count(summary.bytes);
  json.key("batches").count(summary.records).key("oldest").integer(summary.oldest_ns).key("pipelines").list();
  for (const auto &[name, counts] : summary.pipelines) {
    const auto queued = summary.queued.find(name);
    json.object().key("pipeline").text(name).key("queued").count(queued == summary.queued.end() ? 0 : queued->second);
    json.key("delivered").count(counts.delivered).key("dropped").count(counts.dropped_total());
    json.key("dead_letter").count(counts.dead_letter).end_object();
  }
  std::puts(json.end_list().end_object().take().c_str());
}

int list(const std::string &dir, const SpoolView &view, const std::string &format) {
  if (format != "table" && format != "json") return fail("--format: \"" + format + "\" is not one of table, json", kWrongUse);
  const Summary summary = summary_of(view);
  if (format == "json") {
    print_json(dir, view, summary);
  } else {
    print_table(dir, view, summary);
  }
  return kDone;
}

// Decodes every record, as a sink does.
int verify(const std::string &dir, const SpoolView &view) {
  Symbols symbols;
  Batch batch;
  uint64_t records = 0;
  uint64_t samples = 0;
  uint64_t damaged = 0;
  walk_spool(view, true, [&](const SpoolView::File &segment, const SegmentReader::Found &found) {
    bool good = found.kind == SegmentReader::Kind::record;
    if (good) {
      batch.recycle();
      const auto decoded = decode_flat(found.payload, symbols, batch);
      good = decoded.ok() && !decoded.value().truncated() && batch.count() == found.header.samples;
    }
    if (good) {
      ++records;
      samples += found.header.samples;
      return true;
    }
    ++damaged;
    std::printf("%s: %" PRIu64 " bytes at %" PRIu64 " are damaged\n", segment.path.c_str(), found.size, found.offset);
    return true;
  });
  std::printf("%s: %zu segments, %" PRIu64 " good batches with %" PRIu64 " samples, %" PRIu64 " damaged parts\n", dir.c_str(),
              view.segments.size(), records, samples, damaged);
  if (!view.has_state) std::printf("%s/state is missing or damaged: all batches will be sent again\n", dir.c_str());
  return damaged == 0 && view.has_state ? kDone : kFailed;
}

int export_lines(const SpoolView &view, const std::string &format) {
  if (format != "samples" && format != "jsonlines")
    return fail("--format: \"" + format + "\" is not one of samples, jsonlines", kWrongUse);
  Symbols symbols;
  Batch batch;
  const auto encoder =
      (format == "samples" ? encoders::make_samples : encoders::make_points)([&](uint32_t id) { return symbols.name(id); });
  std::string lines;
  Refused refused;
  uint64_t damaged = 0;
  bool written = true;
  walk_spool(view, true, [&](const auto &, const SegmentReader::Found &found) {
    batch.recycle();
    const bool good = found.kind == SegmentReader::Kind::record && decode_flat(found.payload, symbols, batch).ok();
    if (!good) ++damaged;
    lines.clear();
    if (good) append_all(*encoder, {batch.raw().samples, batch.count()}, lines, refused);
    written = std::fwrite(lines.data(), 1, lines.size(), stdout) == lines.size();
    return written;
  });
  for (const auto &[reason, count] : refused)
    std::fprintf(stderr, "atalaya spool: %" PRIu64 " samples cannot be written in this format: %s\n", count,
                 std::string(reason).c_str());
  if (damaged > 0) std::fprintf(stderr, "atalaya spool: %" PRIu64 " damaged parts skipped; see `atalaya spool verify`\n", damaged);
  return written && damaged == 0 ? kDone : kFailed;
}

// The sink of the file with this name, or its only sink.
Result<StageDescription> choose_sink(const FileDescription &file, const std::optional<std::string> &name) {
  const StageDescription *chosen = nullptr;
  std::string known;
  for (const StageDescription &sink : file.sinks) {
    known += (known.empty() ? "" : ", ") + sink.name;
    if (name && sink.name != *name) continue;
    if (chosen != nullptr)
      return Error{file.paths.front() + " has several such sinks (" + known + "); use a file with one of them"};
    chosen = &sink;
  }
  if (chosen == nullptr) return Error{file.paths.front() + " has no sink \"" + name.value_or("") + "\"; it has " + known};
  return *chosen;
}

int64_t queued_in(Ledger &ledger) {
  int64_t queued = 0;
  for (const LedgerRow &row : ledger.snapshot()) queued += row.counts.queued;
  return queued;
}

// Delivers until the spool is empty or delivery stalls. May be interrupted at any time without damage to the spool.
int deliver_all(StageDescription sink, const std::string &dir, int64_t timeout_ns, Symbols &symbols) {
  sink.queue.spread_ns = 0;
  sink.spool = {.dir = dir,
                .max_bytes = INT64_MAX,
                .min_free_bytes = 0,
                .max_age_ns = 0,
                .sync_ns = 1'000'000'000,
                .when_full = WhenFull::block};
  Ledger ledger;
  Launcher launcher;
  SinkWorker worker(
      sink, "sink " + sink.name, symbols, ledger, {}, [] {}, &launcher);
  if (const Status made = worker.create(); !made) return fail(prefix_of(sink.where) + made.error());
  if (const Status started = worker.start(); !started) return fail(started.error());
  int64_t queued = queued_in(ledger);
  const int64_t all = queued;
  for (int64_t moved_at = read_clocks().monotonic; queued > 0 && read_clocks().monotonic - moved_at < timeout_ns;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const int64_t now_queued = queued_in(ledger);
    if (now_queued != queued) moved_at = read_clocks().monotonic;
    queued = now_queued;
  }
  static constexpr int64_t kFlush = 5'000'000'000;
  worker.begin_stop(read_clocks().monotonic + kFlush);
  const bool ended = worker.end_stop();
  int64_t delivered = 0;
  int64_t dropped = 0;
  const int64_t left = queued_in(ledger);
  for (const LedgerRow &row : ledger.snapshot()) {
    delivered += row.counts.out;
    dropped += row.counts.dropped + row.counts.dead_letter;
  }
  std::fprintf(stderr,
               "%" PRId64 " of %" PRId64 " samples left the spool, %" PRId64 " remain; since its creation %" PRId64
               " were delivered, %" PRId64 " dropped\n",
               all - left, all, left, delivered, dropped);
  const int status = ended && left == 0 ? kDone : kFailed;
  if (!ended) std::_Exit(status);  // the hanging call still uses this memory
  return status;
}

int replay(const std::string &dir, const Arguments &arguments) {
  if (arguments.positional.size() < 3) return fail("replay needs DIR and FILE, the pipeline file of the sink", kWrongUse);
  const auto timeout = parse_duration(arguments.get("--timeout").value_or("60s"));
  if (!timeout) return fail("--timeout: " + timeout.error(), kWrongUse);
  Symbols symbols;
  Registry registry = scan_plugins(arguments);
  LoadedFiles loaded = load_files({arguments.positional[2]}, registry, symbols, default_lua_library());
  for (const std::string &line : loaded.errors) std::fprintf(stderr, "%s\n", line.c_str());
  if (!loaded.description) return kWrongUse;
  const auto sink = choose_sink(*loaded.description, arguments.get("--sink"));
  if (!sink) return fail(sink.error(), kWrongUse);
  return deliver_all(sink.value(), dir, timeout.value(), symbols);
}

int spool(const Arguments &arguments) {
  const std::string &verb = arguments.positional[0];
  if (verb != "ls" && verb != "verify" && verb != "replay" && verb != "export")
    return fail("\"" + verb + "\" is not one of ls, verify, replay, export", kWrongUse);
  if (verb != "replay" && arguments.positional.size() > 2)
    return fail("unexpected argument \"" + arguments.positional[2] + "\"", kWrongUse);
  const std::string dir = std::filesystem::path(arguments.positional[1] + "/.").lexically_normal().parent_path();
  const auto view = view_spool(dir);
  if (!view) return fail(view.error());
  if (verb == "ls") return list(dir, view.value(), arguments.get("--format").value_or("table"));
  if (verb == "verify") return verify(dir, view.value());
  if (verb == "export") return export_lines(view.value(), arguments.get("--format").value_or("samples"));
  return replay(dir, arguments);
}

}  // namespace

const Command spool_command = {"spool",
                               "ls|verify|export|replay DIR [FILE]",
                               "List, verify, export or replay a sink's durable queue",
                               "atalaya spool ls /var/lib/atalaya/spool\n"
                               "atalaya spool export /var/lib/atalaya/spool > samples.json\n"
                               "atalaya spool replay /var/lib/atalaya/spool hub.lua",
                               2,
                               3,
                               kSpoolOptions,
                               spool};

}  // namespace atalaya::core::cli
