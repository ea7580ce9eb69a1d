// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/collector.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <ctime>
#include <utility>

#include "core/base/now.h"
#include "plugins/sources/jvm/jvm_metrics.h"
#include "plugins/sources/jvm/pauses.h"

namespace atalaya::jvm {
namespace {

constexpr std::string_view kModel = "model";  // quality of values that rest on an assumption
constexpr std::string_view kBound = "bound";  // quality of values that are lower bounds
// Interned names are never freed, and any program may create new ones.
constexpr size_t kMaxExportNames = 4096;

double percent(int64_t part_ns, int64_t whole_ns) {
  return round_to(static_cast<double>(part_ns) * 100 / static_cast<double>(whole_ns), kPercentDecimals);
}

double per_second(uint64_t count, int64_t passed_ns) {
  return round_to(static_cast<double>(count) * 1e9 / static_cast<double>(passed_ns), kRateDecimals);
}

int64_t as_count(uint64_t number) {
  return static_cast<int64_t>(number);
}

bool is_baseline(const Window &window) {
  return (window.flags & ATALAYA_WINDOW_BASELINE) != 0;
}

std::vector<uint32_t> intern_all(Host host) {
  std::vector<uint32_t> ids;
  ids.reserve(kCounterMetrics.size());
  for (const CounterMetric &metric : kCounterMetrics) ids.push_back(host.intern(metric.name));
  return ids;
}

}  // namespace

Collector::Names::Names(Host host)
    : counters(intern_all(host)),
      process(host.intern("process")),
      pid(host.intern("pid")),
      cause(host.intern("cause")),
      function(host.intern("function")),
      profile(host.intern("profile")),
      bias(host.intern("bias")),
      version(host.intern("version")),
      vm(host.intern("vm")),
      collector(host.intern("collector")),
      flags(host.intern("flags")),
      job(host.intern("job")),
      stage(host.intern("stage")),
      task(host.intern("task")),
      attempt(host.intern("attempt")),
      start(host.intern("proc.start.time")),
      quality(host.intern("quality")),
      cause_seen(host.intern("jvm.gc.cause.seen")),
      pauses(host.intern("jvm.gc.pauses")),
      pause_mean(host.intern("jvm.gc.pause.mean")),
      pause_max(host.intern("jvm.gc.pause.max")),
      running(host.intern("jvm.threads.running")),
      native(host.intern("jvm.threads.native")),
      blocked(host.intern("jvm.threads.blocked")),
      waiting(host.intern("jvm.threads.waiting")),
      sleeping(host.intern("jvm.threads.sleeping")),
      rate(host.intern("jvm.profile.rate")),
      cost(host.intern("jvm.profile.cost")),
      pause(host.intern("jvm.profile.pause")),
      cpu(host.intern("jvm.profile.cpu")),
      unseen(host.intern("jvm.profile.unseen")),
      excess(host.intern("jvm.profile.excess")),
      failures(host.intern("jvm.profile.failures")),
      skipped(host.intern("jvm.profile.skipped")),
      lost(host.intern("jvm.profile.lost")),
      self(host.intern("jvm.function.self")),
      samples(host.intern("profile.samples")),
      ns(host.intern("profile.ns")),
      on_cpu(host.intern("profile.cpu")),
      count(host.intern("jvm.count")),
      unshared(host.intern("jvm.unshared")),
      source_cost(host.intern("jvm.source.cost")) {}

Collector::Collector(Host host, Options options)
    : host_(host),
      options_(std::move(options)),
      names_(host),
      sampler_(
          options_.sampler, [this](const FoundJvm &jvm, std::string_view bytes) { return is_wanted(jvm, bytes); },
          [host](std::string_view text) { host.log(Level::warning, text); }) {}

void Collector::start() {
  if (options_.profile) sampler_.start();
}

void Collector::stop() {
  sampler_.stop();
  sampler_cpu_ns_ = 0;
}

Collector::JvmTags Collector::jvm_tags(int32_t pid, std::string_view comm, Batch &batch) const {
  std::array<char, 12> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), pid).ptr;
  return {batch.copy(comm), batch.copy({digits.data(), static_cast<size_t>(end - digits.data())})};
}

Sample &Collector::sample(uint32_t kind, const JvmTags &jvm_tags, uint32_t tags, uint32_t fields, Batch &batch) const {
  Sample &sample = batch.add(kind, tags + 2, fields);
  batch.tag_shared(sample, names_.process, jvm_tags.process);
  batch.tag_shared(sample, names_.pid, jvm_tags.pid);
  return sample;
}

bool Collector::is_wanted(const FoundJvm &jvm, std::string_view bytes) const {
  if (!options_.processes.empty() && !options_.processes.matches(jvm.comm)) return false;
  if (options_.main.empty()) return true;
  const Identity identity = parse_identity(bytes);
  return identity.main.empty() ? options_.main.matches_absent() : options_.main.matches(identity.main);
}

void Collector::collect(const Window &window, Batch &batch) {
  const int64_t begin = core::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  const std::vector<JvmReading> all = read_all(window);
  const int64_t passed = is_baseline(window) ? 0 : window.monotonic_ns - last_ns_;
  last_ns_ = window.monotonic_ns;
  std::map<JvmId, Profiled> profiles = take_profiles(passed > 0);
  for (const JvmReading &seen : all) {
    const auto profile = profiles.extract(id_of(seen.jvm));
    // If the window has no thread dump, the sample has no values of the profile.
    const bool was_sampled = !profile.empty() && (profile.mapped().is_complete || profile.mapped().has_result());
    emit(seen, was_sampled ? &profile.mapped() : nullptr, passed, batch);
  }
  for (const auto &[id, profile] : profiles)
    emit(read_ended(profile, window), profile.has_result() ? &profile : nullptr, passed, batch);
  emit_spans(window, batch);
  const int64_t sampler_cpu = options_.profile ? sampler_.cpu_ns() : 0;
  const int64_t own = core::clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
  if (passed > 0) spent_ = static_cast<double>(own) / static_cast<double>(passed);
  emit_account(all.size(), own + sampler_cpu - std::exchange(sampler_cpu_ns_, sampler_cpu), passed, batch);
}

// Without a window the profiles are discarded.
std::map<JvmId, Profiled> Collector::take_profiles(bool is_window) {
  if (!options_.profile) return {};
  if (is_window) return sampler_.end_window(spent_);
  sampler_.skip_window();
  return {};
}

std::vector<Collector::JvmReading> Collector::read_all(const Window &window) {
  std::vector<JvmReading> wanted;
  without_counters_ = 0;
  for (const FoundJvm &jvm : discovery_.find()) {
    const HsperfdataFile file(jvm);
    const int64_t begin = core::monotonic();
    const std::string_view bytes = bytes_.read(file);
    if (is_wanted(jvm, bytes)) wanted.push_back(read(jvm, bytes, begin, window));
  }
  bytes_.wipe();
  if (discovery_.unreadable_pid() != 0 && !std::exchange(logged_missing_, true))
    host_.log(Level::warning,
              "JVMs of other users may be missing: this process must not read process " +
                  std::to_string(discovery_.unreadable_pid()) + " and possibly others; " +
                  (::geteuid() == 0 ? "this root lacks CAP_SYS_PTRACE" : "run as root, or link the drop-in jvm-others"));
  return wanted;
}

// For a JVM that started in this window, all counters started at 0.
std::optional<Reading> Collector::before(const Known &known, const JvmCounters &now, bool is_new, const Window &window) const {
  if (is_baseline(window)) return std::nullopt;
  if (!is_new) return known.before;
  const int64_t age = window.time_ns - known.identity.start_ns;
  if (known.identity.start_ns == 0 || age <= 0 || age > window.duration_ns) return std::nullopt;
  return first_reading(now, window.monotonic_ns - window.duration_ns);
}

Collector::Known &Collector::known_of(const FoundJvm &jvm, bool &is_new) {
  const auto [entry, is_added] = known_.try_emplace(id_of(jvm));
  Known &known = entry->second;
  is_new = is_added;
  if (is_new) known.start_ns = symbols::start_time_ns(jvm.target.mark);
  known.comm = jvm.comm;
  return known;
}

// Rates are those of the window, also of a JVM that started or ended within it.
void Collector::set_readings(JvmReading &seen, std::optional<Reading> before, Reading now, const Known &known,
                             const Window &window) {
  now.paused = count_pauses(now.shared, now.time_ns, known.clock, before ? &before->paused : nullptr,
                            before ? now.time_ns - before->time_ns : 0);
  now.time_ns = window.monotonic_ns;
  seen.before = std::move(before);
  seen.now = std::move(now);
}

Collector::JvmReading Collector::read(const FoundJvm &jvm, std::string_view bytes, int64_t begin_ns, const Window &window) {
  bool is_new = false;
  Known &known = known_of(jvm, is_new);
  known.seen_ns = window.time_ns;
  JvmReading seen{jvm, known.start_ns, std::nullopt, std::nullopt};
  auto shared = parse_counters(bytes);
  if (shared) {
    if (!std::exchange(known.is_up, is_up(*shared))) known.identity = parse_identity(bytes);
    known.clock.update(*shared, core::monotonic());
    auto first = before(known, *shared, is_new, window);
    set_readings(seen, std::move(first), {std::move(*shared), begin_ns}, known, window);
  } else {
    ++without_counters_;
  }
  known.before = seen.now;
  return seen;
}

// Uses the counters of its last reading.
Collector::JvmReading Collector::read_ended(const Profiled &profiled, const Window &window) {
  bool is_new = false;
  Known &known = known_of(profiled.jvm, is_new);
  JvmReading seen{profiled.jvm, known.start_ns, std::nullopt, std::nullopt};
  if (is_new) known.identity = profiled.identity;
  const auto &last = profiled.last;
  if (!last || (known.before && known.before->time_ns >= last->time_ns)) return seen;
  known.seen_ns = window.time_ns - std::max<int64_t>(window.monotonic_ns - last->time_ns, 0);
  set_readings(seen, before(known, last->shared, is_new, window), *last, known, window);
  return seen;
}

void Collector::emit(const JvmReading &seen, const Profiled *profiled, int64_t passed_ns, Batch &batch) {
  if (!seen.now && profiled == nullptr) return;
  const JvmTags jvm_tags = this->jvm_tags(seen.jvm.target.pid, seen.jvm.comm, batch);
  const size_t exports = seen.now ? seen.now->shared.exports.size() : 0;
  Sample &sample = this->sample(ATALAYA_METRICS, jvm_tags, 0, static_cast<uint32_t>(kCounterMetrics.size() + exports + 18), batch);
  batch.field(sample, names_.start, seen.start_ns);
  if (seen.now) {
    add_shared(seen, sample, batch);
    add_exports(seen, sample, batch);
  }
  if (profiled != nullptr) add_profile(*profiled, passed_ns, sample, batch);
  add_pauses(seen, sample, jvm_tags, batch);
  emit_cause(seen, jvm_tags, batch);
  if (profiled == nullptr) return;
  emit_functions(profiled->profile, passed_ns, jvm_tags, batch);
  emit_stacks(*profiled, jvm_tags, batch);
}

void Collector::add_shared(const JvmReading &seen, Sample &sample, Batch &batch) {
  for (size_t i = 0; i < kCounterMetrics.size(); ++i) {
    const auto number = number_of(kCounterMetrics[i], *seen.now, seen.before ? &*seen.before : nullptr);
    if (number) std::visit([&](auto value) { batch.field(sample, names_.counters[i], value); }, *number);
  }
}

void Collector::add_exports(const JvmReading &seen, Sample &sample, Batch &batch) {
  const JvmCounters &shared = seen.now->shared;
  for (const Export &one : shared.exports)
    if (const auto id = export_id(one.name)) batch.field(sample, *id, one.value);
  if (!shared.has_more_exports || std::exchange(logged_exports_, true)) return;
  host_.log(Level::warning, "process " + std::to_string(seen.jvm.target.pid) + " exports more than " + std::to_string(kMaxExports) +
                                " fields of BTrace scripts, or names of more than " + std::to_string(kMaxExportName) +
                                " bytes; further ones are left out, also of other JVMs");
}

std::optional<uint32_t> Collector::export_id(const std::string &name) {
  if (const auto known = export_ids_.find(name); known != export_ids_.end()) return known->second;
  const bool is_full = export_ids_.size() == kMaxExportNames;
  const uint32_t id = is_full ? 0 : host_.intern(name);
  if (id != 0) {
    if (!host_.metric(id)) host_.declare(metric::gauge(name, "1", metric::count, {}, "hsperfdata", "Field of a script"));
    return export_ids_.emplace(name, id).first->second;
  }
  if (!std::exchange(logged_names_, true))
    host_.log(Level::warning, "JVMs export fields of BTrace scripts under more than " + std::to_string(kMaxExportNames) +
                                  " names; further ones are left out until the agent restarts");
  return std::nullopt;
}

// A longest pause that is only a lower bound gets the tag quality, so it is a separate series.
void Collector::add_pauses(const JvmReading &seen, Sample &sample, const JvmTags &jvm_tags, Batch &batch) {
  if (!seen.now || !seen.before) return;
  const auto pauses = pauses_between(seen.before->shared, seen.now->shared);
  if (!pauses) return;
  batch.field(sample, names_.pauses, pauses->count);
  if (pauses->mean_ms) batch.field(sample, names_.pause_mean, round_to(*pauses->mean_ms, kPauseDecimals));
  if (!pauses->longest_ms) return;
  Sample *of_longest = &sample;
  if (!pauses->is_exact) {
    of_longest = &this->sample(ATALAYA_METRICS, jvm_tags, 1, 1, batch);
    batch.tag(*of_longest, names_.quality, kBound);
  }
  batch.field(*of_longest, names_.pause_max, round_to(*pauses->longest_ms, kPauseDecimals));
}

void Collector::emit_cause(const JvmReading &seen, const JvmTags &jvm_tags, Batch &batch) {
  if (!seen.now || !seen.before || collections(seen.now->shared) <= collections(seen.before->shared)) return;
  const std::string &cause = seen.now->shared.last_cause;
  if (cause.empty() || cause == "No GC") return;  // concurrent ones have none
  Sample &sample = this->sample(ATALAYA_METRICS, jvm_tags, 1, 1, batch);
  batch.tag(sample, names_.cause, cause);
  batch.field(sample, names_.cause_seen, int64_t{1});
}

void Collector::add_profile(const Profiled &window, int64_t passed_ns, Sample &sample, Batch &batch) {
  batch.field(sample, names_.rate, per_second(window.profile.dumps, passed_ns));
  batch.field(sample, names_.cost, percent(window.cost_ns, passed_ns));
  batch.field(sample, names_.pause, percent(window.pause_ns, passed_ns));
  batch.field(sample, names_.failures, as_count(window.failures));
  batch.field(sample, names_.skipped, as_count(window.skipped));
  if (window.profile.dumps > 0) batch.field(sample, names_.lost, as_count(window.profile.tree.lost()));
  if (window.profile.cpu_ns) {
    const int64_t span = window.profile.span_ns(passed_ns);
    batch.field(sample, names_.cpu, percent(*window.profile.cpu_ns, span));
    batch.field(sample, names_.unseen, percent(window.profile.tree.unseen().ns, span));
    batch.field(sample, names_.excess, percent(window.profile.excess_ns, span));
  }
  report_excess(window);
  const auto &threads = window.profile.threads;
  if (!threads) return;
  batch.field(sample, names_.running, as_count(threads->running));
  batch.field(sample, names_.native, as_count(threads->native));
  batch.field(sample, names_.blocked, as_count(threads->blocked));
  batch.field(sample, names_.waiting, as_count(threads->waiting));
  batch.field(sample, names_.sleeping, as_count(threads->sleeping));
}

// The kernel reads the CPU clocks of threads and of their process at different times, so a small excess is normal.
void Collector::report_excess(const Profiled &window) {
  static constexpr int64_t kTolerated = 100'000'000;
  if (window.profile.excess_ns < kTolerated || std::exchange(logged_excess_, true)) return;
  host_.log(Level::warning, "thread dumps of the JVM " + std::to_string(window.jvm.target.pid) +
                                " have more CPU time than its process; the excess is left out and counted in "
                                "jvm.profile.excess, also of other JVMs");
}

// A function's stack has a profile kind of its own, because it is also among the other stacks and must not be summed with them.
void Collector::emit_functions(const Profile::Window &profile, int64_t passed_ns, const JvmTags &jvm_tags, Batch &batch) {
  for (const FunctionTime &function : profile.tree.functions(options_.top)) {
    Sample &sample = this->sample(ATALAYA_METRICS, jvm_tags, 2, 1, batch);
    batch.tag(sample, names_.function, function.name);
    if (profile.is_model) batch.tag(sample, names_.quality, kModel);
    batch.field(sample, names_.self,
                round_to(static_cast<double>(function.self.ns) / static_cast<double>(profile.span_ns(passed_ns)), 6));
    sample.text = batch.copy(function.trace);
    if (options_.stacks == 0) continue;
    Sample &stack = emit_stack("exemplar", function.stack, function.self, profile.is_model, jvm_tags, batch);
    batch.tag(stack, names_.function, function.name);
  }
}

// With all threads, profile.ns is the elapsed time and profile.cpu the CPU time. A process that runs a task as a whole has no tasks
// of threads.
void Collector::emit_stacks(const Profiled &profiled, const JvmTags &jvm_tags, Batch &batch) {
  if (options_.stacks == 0) return;
  const bool all = options_.sampler.all_threads;
  for (const StackTime &stack : profiled.profile.tree.stacks(options_.stacks, !all)) {
    Sample &sample = emit_stack("wall", stack.text, all ? stack.wall : stack.on_cpu, profiled.profile.is_model, jvm_tags, batch);
    if (all) batch.field(sample, names_.on_cpu, stack.on_cpu.ns);
    const tasks::TaskTags &task = profiled.task.empty() ? stack.task : profiled.task;
    const auto tag = [&](uint32_t key, const std::string &value) {
      if (!value.empty()) batch.tag(sample, key, value);
    };
    if (!task.empty()) tag(names_.job, task.job.empty() ? profiled.task.job : task.job);
    tag(names_.stage, task.stage);
    tag(names_.task, task.task);
    tag(names_.attempt, task.attempt);
  }
}

Sample &Collector::emit_stack(const char *kind, const std::string &text, const Time &time, bool is_model, const JvmTags &jvm_tags,
                              Batch &batch) {
  Sample &sample = this->sample(ATALAYA_STACK, jvm_tags, 8, 3, batch);
  batch.tag(sample, names_.profile, kind);
  batch.tag(sample, names_.bias, "safepoint");
  if (is_model) batch.tag(sample, names_.quality, kModel);
  batch.field(sample, names_.samples, as_count(time.samples));
  batch.field(sample, names_.ns, time.ns);
  sample.text = batch.copy(text);
  return sample;
}

void Collector::emit_span(const JvmId &id, const Known &known, int64_t until_ns, Batch &batch) {
  const JvmTags jvm_tags = this->jvm_tags(id.first, known.comm, batch);
  Sample &span = sample(ATALAYA_SPAN, jvm_tags, 4, 0, batch);
  const auto tag = [&](uint32_t key, const std::string &value) {
    if (!value.empty()) batch.tag(span, key, value);
  };
  tag(names_.version, known.identity.version);
  tag(names_.vm, known.identity.vm);
  tag(names_.collector, known.identity.collector);
  if (options_.flags) tag(names_.flags, known.identity.flags);
  span.time_ns = known.identity.start_ns;
  span.duration_ns = std::max<int64_t>(until_ns - known.identity.start_ns, 0);
  span.text = batch.copy("jvm");
}

// Each window extends the span, so it needs no end. Starts in the second window, when translators know the JVM's name.
void Collector::emit_spans(const Window &window, Batch &batch) {
  for (auto entry = known_.begin(); entry != known_.end();) {
    auto &[id, known] = *entry;
    const bool has_ended = known.seen_ns != window.time_ns, is_first = known.windows++ == 0;
    if (known.identity.start_ns > 0 && (has_ended || !is_first)) emit_span(id, known, known.seen_ns, batch);
    entry = has_ended ? known_.erase(entry) : std::next(entry);
  }
}

void Collector::emit_account(size_t count, int64_t cost_ns, int64_t passed_ns, Batch &batch) {
  Sample &sample = batch.add(ATALAYA_METRICS, 0, 3);
  batch.field(sample, names_.count, as_count(count));
  batch.field(sample, names_.unshared, as_count(without_counters_));
  if (passed_ns > 0) batch.field(sample, names_.source_cost, percent(cost_ns, passed_ns));
}

}  // namespace atalaya::jvm
