// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/btrace/btrace_source.h"

#include <algorithm>
#include <chrono>

#include "core/base/now.h"

namespace atalaya::btrace {
namespace {

constexpr uint64_t kBatchSamples = 10'000;
constexpr int64_t kBatchBytes = 8 << 20;
// The pause after a scan is at least this multiple of its CPU time, so scans of thousands of files cost at most 3 % of a core.
constexpr int64_t kPausePerScan = 30;
// Time to wait at stop for the sinks' answer; acknowledged lines are not read again after a restart.
constexpr auto kLastAnswer = std::chrono::seconds(2);

tail::Options tail_options(Host host) {
  return {.path = host.text("path"),
          .from_begin = host.text("from") == "begin",
          .max_line = host.integer("max_line"),
          .linger_ns = host.integer("linger"),
          .max_files = static_cast<size_t>(host.integer("max_files"))};
}

ReaderOptions reader_options(Host host) {
  return {.phase_lines = host.boolean("phase_lines"),
          .forms = host.boolean("forms"),
          .report_open = host.boolean("open_spans"),
          .max_open = static_cast<size_t>(host.integer("max_open")),
          .max_age_ns = host.integer("max_age")};
}

// Spans whose begin or end is missing or wrong.
int64_t orphans(const SpanCounts &counts) {
  return counts.orphans + counts.backwards + counts.expired;
}

}  // namespace

BtraceSource::BtraceSource(Host host)
    : host_(host),
      tail_options_(tail_options(host)),
      reader_options_(reader_options(host)),
      rules_(read_rules(host)),
      poll_ns_(host.integer("poll")),
      builder_(host, static_cast<size_t>(host.integer("max_names"))) {
  if (tail_options_.path.empty())
    throw Failure(Code::bad_config, "parameter \"path\" is empty; set it to a file, a folder or a glob");
}

void BtraceSource::start() {
  if (const auto folder = host_.state_dir()) journal_file_.emplace(*folder + "/journal");
  read_journal();
  const std::lock_guard lock(mutex_);
  stopping_ = false;
}

void BtraceSource::read_journal() {
  journal_ = {};
  if (!journal_file_) return;
  auto [journal, problem] = journal_file_->read();
  LineReader probe(reader_options_, {}, [](const std::string &) {});
  if (const auto done = probe.restore(journal.own); !done) {
    journal_file_->rename_damaged();
    journal = {};
    problem = "the journal is damaged and was renamed: " + done.error();
  }
  journal_ = std::move(journal);
  if (problem.empty()) return;
  const std::string all =
      std::string("all files are read as at the first start, from their ") + (tail_options_.from_begin ? "begin" : "end");
  host_.log(Level::error,
            problem + "; " + (journal_.began_ns == 0 ? all : "lines read since the remaining journal are duplicated"));
}

void BtraceSource::write_journal() {
  if (!journal_file_) return;
  if (const auto done = journal_file_->write(journal_); !done)
    host_.log(Level::error, done.error() + "; if the agent is killed now, lines are duplicated");
}

// Makes readers that start after the last acknowledged lines, also after a failed run.
void BtraceSource::make_readers() {
  const auto log = [host = host_](const std::string &text) { host.log(Level::warning, text); };
  tail_.emplace(tail_options_, log);
  if (journal_.began_ns != 0) tail_->restore(journal_.positions, journal_.began_ns, journal_.segments);
  reader_.emplace(reader_options_, rules_, log);
  if (const auto done = reader_->restore(journal_.own); !done) throw Failure(Code::permanent, done.error());
  reported_ = {};
  if (batch_ != nullptr) batch_->count = 0;
}

bool BtraceSource::stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

int64_t BtraceSource::batch_time() {
  return std::max(host_.realtime(), last_time_ns_ + 1);
}

Code BtraceSource::run() {
  make_readers();
  for (;;) {
    const int64_t before_scan_ns = core::clock_ns(CLOCK_THREAD_CPUTIME_ID);
    tail_->scan(host_.realtime(), core::monotonic());
    const int64_t scan_ns = core::clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_scan_ns;
    if (journal_.batch_time_ns != 0) replay();
    if (stopping()) return Code::ok;
    settle();
    while (next_lines(batch_time(), true)) {
    }
    const bool has_unread_lines = tail_->has_unread_lines();
    // Expires spans only after all available lines were read, because these may contain their ends.
    while (!has_unread_lines && !stopping() && next_expired(batch_time())) {
    }
    write_journal();
    std::unique_lock lock(mutex_);
    const std::chrono::nanoseconds pause(has_unread_lines ? 0 : std::max(poll_ns_, kPausePerScan * scan_ns));
    if (wake_.wait_for(lock, pause, [this] { return stopping_; })) return Code::ok;
  }
}

// Builds and emits again the batch that was in flight when the agent ended.
void BtraceSource::replay() {
  if (journal_.segments.empty()) {
    next_expired(journal_.batch_time_ns);
  } else {
    tail_->replay(journal_.segments);
    next_lines(journal_.batch_time_ns, false);
  }
}

BtraceSource::Totals BtraceSource::begin_batch(int64_t time_ns) {
  if (batch_ == nullptr && host_.raw()->new_batch(host_.raw()->self, &batch_) != ATALAYA_OK) throw std::bad_alloc();
  builder_.begin_batch(batch_, time_ns);
  batch_time_ns_ = time_ns;
  return totals();
}

bool BtraceSource::next_lines(int64_t time_ns, bool limited) {
  const Totals before = begin_batch(time_ns);
  const Output add = [this](const Record &record) { builder_.add(record); };
  tail::Line line;
  int64_t bytes = 0;
  while ((!limited || (builder_.samples() < kBatchSamples && bytes < kBatchBytes)) && tail_->next(line)) {
    bytes += static_cast<int64_t>(line.text.size()) + 1;
    reader_->take(line.file, line.text, line.first, builder_.next_time_ns(), add);
  }
  if (totals().lines.lines == reported_.lines.lines && totals().losses == reported_.losses) return false;
  journal_.segments = tail_->take_segments();
  return deliver(before, !journal_.segments.empty());
}

bool BtraceSource::next_expired(int64_t time_ns) {
  const Totals before = begin_batch(time_ns);
  reader_->expire(time_ns, kBatchSamples, [this](const Record &record) { builder_.add(record); });
  if (totals().spans.expired == before.spans.expired) return false;
  journal_.segments.clear();
  return deliver(before, true);
}

// Counts lost samples by reason.
void BtraceSource::count_drops(const Totals &before) {
  const Totals now = totals();
  const auto drop = [this](std::string_view reason, int64_t count) { host_.dropped(reason, static_cast<uint64_t>(count)); };
  drop("end without a begin", now.spans.orphans - before.spans.orphans);
  drop("end before its begin", now.spans.backwards - before.spans.backwards);
  drop("begin without an end", now.spans.expired - before.spans.expired);
  drop("more than max_open", now.spans.evicted - before.spans.evicted);
  drop("invalid line", now.lines.bad - before.lines.bad);
  drop("line too long", now.losses.long_lines - reported_.losses.long_lines);
  drop("dropped by BTrace", now.lines.forms.dropped - before.lines.forms.dropped);
  if (builder_.names_full())
    host_.log(Level::warning,
              "lines have used max_names distinct names of metrics and tags; samples with further names are dropped");
}

void BtraceSource::add_account() {
  const Totals now = totals(), &old = reported_;
  Record record;
  const auto put = [&record](std::string_view name, int64_t count) { record.fields.emplace_back(name, count_of(count)); };
  put("btrace.lines", now.lines.lines - old.lines.lines);
  put("btrace.lines.plain", now.lines.plain + now.lines.forms.plain - old.lines.plain - old.lines.forms.plain);
  put("btrace.lines.bad", now.lines.bad - old.lines.bad);
  put("btrace.lines.long", now.losses.long_lines - old.losses.long_lines);
  put("btrace.truncations", now.losses.truncations - old.losses.truncations);
  put("btrace.unseen.bytes", now.losses.unseen_bytes - old.losses.unseen_bytes);
  put("btrace.spans.open", static_cast<int64_t>(reader_->spans().open()));
  put("btrace.spans.orphans", orphans(now.spans) - orphans(old.spans));
  put("btrace.spans.evicted", now.spans.evicted - old.spans.evicted);
  put("btrace.errors", now.lines.forms.errors - old.lines.forms.errors);
  put("btrace.dropped", now.lines.forms.dropped - old.lines.forms.dropped);
  put("btrace.overflows", now.lines.forms.overflows - old.lines.forms.overflows);
  builder_.add(record);
  reported_ = now;
}

bool BtraceSource::deliver(const Totals &before, bool replayable) {
  count_drops(before);
  add_account();
  last_time_ns_ = builder_.next_time_ns();
  journal_.began_ns = tail_->began_ns();
  journal_.batch_time_ns = replayable ? batch_time_ns_ : 0;
  write_journal();
  if (!emit_batch()) return false;
  settle();
  return true;
}

// Returns false if the host is stopping; lines that the sinks have not stored are read again after the restart.
bool BtraceSource::emit_batch() {
  const uint64_t samples = builder_.samples();
  {
    const std::lock_guard lock(mutex_);
    emitting_ = true;
    early_.reset();
    answer_.reset();
  }
  uint64_t id = 0;
  const int32_t code = host_.raw()->emit(host_.raw()->self, std::exchange(batch_, nullptr), &id);
  std::unique_lock lock(mutex_);
  emitting_ = false;
  if (code == ATALAYA_END) stopping_ = true;
  if (code == ATALAYA_END) return false;
  if (code == ATALAYA_RETRY) throw Failure(Code::retry, "the host had no memory for a batch of lines; they are read again");
  if (code == ATALAYA_OK) {
    in_flight_ = id;
    if (early_ && early_->first == id) answer_ = early_->second;
    wake_.wait(lock, [this] { return stopping_ || answer_; });
    if (!answer_ || (stopping_ && *answer_ != Code::ok)) return false;
    in_flight_.reset();
  }
  const bool held = code == ATALAYA_OK && *answer_ == Code::ok;
  lock.unlock();
  if (code != ATALAYA_OK) host_.dropped("batch refused by the host", samples);
  if (!held) host_.log(Level::error, "a batch of lines was refused by a sink or dropped; see the ledger");
  return true;
}

// Records in the journal that the sinks have stored all emitted lines.
void BtraceSource::settle() {
  journal_.began_ns = tail_->began_ns();
  journal_.positions = tail_->positions();
  journal_.own = reader_->state(journal_.positions);
  journal_.batch_time_ns = 0;
  journal_.segments.clear();
}

void BtraceSource::acked(uint64_t batch_id, Code status) noexcept {
  const std::lock_guard lock(mutex_);
  if (in_flight_ == batch_id) {
    answer_ = status;
  } else if (emitting_) {
    early_.emplace(batch_id, status);
  }
  wake_.notify_all();
}

void BtraceSource::interrupt() noexcept {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  wake_.notify_all();
}

void BtraceSource::stop() {
  bool held = false;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    if (in_flight_) wake_.wait_for(lock, kLastAnswer, [this] { return answer_.has_value(); });
    held = in_flight_ && answer_ == Code::ok;
    in_flight_.reset();
    answer_.reset();
  }
  if (held) {
    settle();
    write_journal();
  }
  reader_.reset();
  tail_.reset();
}

}  // namespace atalaya::btrace
