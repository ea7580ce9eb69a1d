// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/phases/phases.h"

#include <ctime>

#include <algorithm>
#include <utility>

#include "core/base/now.h"
#include "plugins/shared/io/match/patterns.h"
#include "plugins/shared/store/store.h"

namespace atalaya::phases {
namespace {

// A process has ended after this number of windows without samples.
constexpr int64_t kEndedWindows = 5;

Group group_of(const std::string &name, std::string_view pattern) {
  auto matcher = io::Matcher::parse(pattern);
  if (!matcher) throw Failure(Code::bad_config, "parameter \"groups\": " + matcher.error());
  return {name, std::move(*matcher)};
}

std::vector<Group> groups_of(Host host) {
  std::vector<Group> groups;
  for (uint64_t i = 0; const auto entry = host.child("groups", i); ++i)
    groups.push_back(group_of(std::string(entry->key()), entry->text()));
  if (groups.empty()) groups.push_back(group_of("shuffle", kShufflePattern));
  return groups;
}

std::string text_of_tag(const Sample &sample, uint32_t key) {
  const atalaya_tag *const tag = find_tag(sample, key);
  return tag == nullptr ? std::string() : std::string(view(tag->value));
}

}  // namespace

PhasesTranslator::Names::Names(Host from)
    : host(from.intern("host")),
      pid(from.intern("pid")),
      process(from.intern("process")),
      profile(from.intern("profile")),
      phase(from.intern("phase")),
      application(from.intern(kApplicationTag)),
      definition(from.intern(kDefinitionTag)),
      samples(from.intern("profile.samples")),
      start(from.intern("proc.start.time")),
      span_samples(from.intern("phase.samples")),
      processes(from.intern("phases.processes")),
      known(from.intern("phases.known")),
      buffered(from.intern("phases.buffered")),
      learned(from.intern("phases.learned")),
      lost(from.intern("phases.lost")),
      trace(from.intern("phases.trace")),
      cost(from.intern("phases.cost")) {}

PhasesTranslator::PhasesTranslator(Host host)
    : host_(host),
      names_(host),
      processes_filter_(io::read_patterns(host, "processes")),
      key_(host.text("key") == "stack" ? Key::stack : Key::function),
      store_(host.find("store") ? host.text("store") : ""),
      likeness_{host.number("similarity"), host.number("rare")},
      options_{static_cast<size_t>(host.integer("buffer")), static_cast<size_t>(host.integer("least"))},
      groups_(groups_of(host)),
      tag_(host.text("tag")),
      max_processes_(static_cast<size_t>(host.integer("max_processes"))),
      database_(likeness_) {
  if (options_.buffer < 4 * options_.minimum)
    throw Failure(Code::bad_config, "parameter \"buffer\" must be at least 4 times \"least\"");
}

// A store that does not exist yet has no phases.
void PhasesTranslator::start() {
  if (store_ == "none") return;
  try {
    const auto store = store::open_store(store_);
    const ReadDefinitions read = read_definitions(*store, database_);
    if (read.refused > 0)
      host_.log(Level::warning,
                std::to_string(read.refused) + " phases of the store " + store->name() + " are left out: " + read.refusal);
  } catch (const store::Error &error) {
    host_.log(Level::info, std::string("starting without known phases: ") + error.what());
  }
}

void PhasesTranslator::stop() {
  process_of_sample_.clear();
  processes_.clear();
  ended_.clear();
  programs_.clear();
}

Code PhasesTranslator::process(const Window &window, Batch &batch) {
  const int64_t begin_ns = core::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  created_ = 0;
  read(window, batch);
  tag_samples(batch);
  advance(window, batch);
  emit_metrics(window, core::clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns, batch);
  host_.created(created_);
  return Code::ok;
}

std::shared_ptr<Program> PhasesTranslator::program_of(const std::string &name) {
  std::shared_ptr<Program> &program = programs_[name];
  if (!program) {
    program = std::make_shared<Program>(name, key_, groups_, likeness_);
    program->load_known_phases(database_);
  }
  return program;
}

// Removes programs without a process if there are more than the maximum; the others are kept for their next process.
void PhasesTranslator::forget_programs() {
  if (programs_.size() <= kMaxIdlePrograms) return;
  std::erase_if(programs_, [](const auto &program) { return program.second.use_count() == 1; });
}

// The watched process of the sample; null if it must not be watched.
WatchedProcess *PhasesTranslator::process_of(const Sample &sample) {
  const atalaya_tag *const pid = find_tag(sample, names_.pid), *const process = find_tag(sample, names_.process);
  if (pid == nullptr || process == nullptr || sample.kind == ATALAYA_SPAN) return nullptr;
  const std::string_view name = view(process->value);
  Id id{text_of_tag(sample, names_.host), std::string(view(pid->value))};
  auto found = processes_.find(id);
  const atalaya_field *const start = find_field(sample, names_.start);
  const auto start_ns = start == nullptr ? std::nullopt : std::optional(static_cast<int64_t>(as_double(*start)));
  if (found != processes_.end() && found->second->is_other(name, start_ns)) {
    ended_.push_back(std::move(found->second));
    processes_.erase(found);
    found = processes_.end();
  }
  if (found != processes_.end()) return found->second.get();
  // Only a stack starts the watch of a process.
  if (sample.kind != ATALAYA_STACK || !processes_filter_.matches(name)) return nullptr;
  if (processes_.size() >= max_processes_) {
    if (!std::exchange(is_full_logged_, true))
      host_.log(Level::warning, "more than " + std::to_string(max_processes_) +
                                    " processes with stacks; the phases of further ones are not recognised: set \"processes\"");
    return nullptr;
  }
  ProcessName full{std::get<0>(id), std::string(name), std::get<1>(id)};
  auto watched = std::make_unique<WatchedProcess>(std::move(full), program_of(std::string(name)), options_);
  return processes_.emplace(std::move(id), std::move(watched)).first->second.get();
}

void PhasesTranslator::read(const Window &window, Batch &batch) {
  process_of_sample_.assign(batch.samples().size(), nullptr);
  // First start times, to detect reused pids; then stacks, which decide which processes are watched; then metrics.
  for (const Sample &sample : batch.samples())
    if (sample.kind == ATALAYA_METRICS && find_field(sample, names_.start) != nullptr) process_of(sample);
  for (const bool stacks : {true, false}) {
    for (size_t i = 0; i < batch.samples().size(); ++i) {
      const Sample &sample = batch.samples()[i];
      if ((sample.kind == ATALAYA_STACK) != stacks) continue;
      process_of_sample_[i] = process_of(sample);
      if (process_of_sample_[i] != nullptr) read_sample(window, sample, *process_of_sample_[i]);
    }
  }
}

void PhasesTranslator::read_sample(const Window &window, const Sample &sample, WatchedProcess &process) const {
  const int64_t time_ns = sample.time_ns == 0 ? window.time_ns : sample.time_ns;
  const int64_t duration_ns = sample.duration_ns > 0 ? sample.duration_ns : window.interval_ns;
  if (sample.kind == ATALAYA_METRICS) return process.add_metrics(time_ns, duration_ns, sample, host_);
  const std::string profile = text_of_tag(sample, names_.profile);
  if (profile != "wall" && profile != "cpu") return;
  const atalaya_field *const samples = find_field(sample, names_.samples);
  if (samples != nullptr) process.add_stack(time_ns, duration_ns, profile, view(sample.text), as_double(*samples));
}

void PhasesTranslator::tag_samples(Batch &batch) {
  if (tag_ == "none") return;
  for (size_t i = 0; i < process_of_sample_.size(); ++i) {
    Sample &sample = batch.samples()[i];
    if (process_of_sample_[i] == nullptr || (tag_ == "stacks" && sample.kind != ATALAYA_STACK)) continue;
    const auto phase = process_of_sample_[i]->phase();
    if (!phase || find_tag(sample, names_.phase) != nullptr) continue;
    batch.reserve(sample, sample.tag_count + 1, sample.field_count);
    batch.tag(sample, names_.phase, process_of_sample_[i]->program().id(*phase));
  }
}

void PhasesTranslator::advance(const Window &window, Batch &batch) {
  std::vector<Occurrence> changed;
  const bool is_new_start = (window.flags & (ATALAYA_WINDOW_BASELINE | ATALAYA_WINDOW_LAST)) == ATALAYA_WINDOW_BASELINE;
  for (auto at = processes_.begin(); at != processes_.end();) {
    WatchedProcess &process = *at->second;
    process.process_complete(changed);
    emit(process, changed, batch);
    const bool has_ended =
        process.last_seen_ns() + kEndedWindows * std::max(window.interval_ns, process.interval_ns()) < window.time_ns;
    if (has_ended || is_new_start) ended_.push_back(std::move(at->second));
    at = has_ended || is_new_start ? processes_.erase(at) : std::next(at);
  }
  for (const auto &process : ended_) {
    process->finish(changed);
    emit(*process, changed, batch);
  }
  forget_programs();
}

void PhasesTranslator::emit(WatchedProcess &process, std::vector<Occurrence> &changed, Batch &batch) {
  Program &program = process.program();
  const size_t first_new = program.assign_new_ids(host_.realtime());
  const size_t count = program.book().size();
  for (size_t i = first_new; i < count; ++i) emit_definition(process, i, batch);
  learned_ += count - first_new;
  for (size_t i = 0; i < changed.size(); ++i) {
    const bool is_replaced = std::any_of(changed.begin() + static_cast<std::ptrdiff_t>(i) + 1, changed.end(),
                                         [&](const Occurrence &later) { return later.start_ns == changed[i].start_ns; });
    if (!is_replaced) emit_span(process, program.id(changed[i].phase), changed[i], batch);
  }
  changed.clear();
}

uint32_t PhasesTranslator::field_id(const std::string &name) {
  const auto [known, is_new] = field_ids_.try_emplace(name, 0);
  if (is_new) known->second = host_.intern(name);
  return known->second;
}

void PhasesTranslator::emit_span(const WatchedProcess &process, const std::string &phase, const Occurrence &occurrence,
                                 Batch &batch) {
  const NumberFields fields = fields_of(occurrence);
  Sample &span = batch.add(ATALAYA_SPAN, 4, static_cast<uint32_t>(fields.size() + 1));
  span.time_ns = occurrence.start_ns;
  span.duration_ns = occurrence.is_open ? -1 : occurrence.end_ns - occurrence.start_ns;
  span.text = batch.copy(kPhaseSpan);
  if (!process.name().host.empty()) batch.tag(span, names_.host, process.name().host);
  batch.tag(span, names_.pid, process.name().pid);
  batch.tag(span, names_.process, process.name().process);
  batch.tag(span, names_.phase, phase);
  batch.field(span, names_.span_samples, static_cast<int64_t>(occurrence.threads.count));
  for (const auto &[name, value] : fields) batch.field(span, field_id(name), round_to(value, kPhaseDecimals));
  ++created_;
}

void PhasesTranslator::emit_definition(WatchedProcess &process, size_t phase, Batch &batch) {
  Sample &span = batch.add(ATALAYA_SPAN, 4, 0);
  span.time_ns = host_.realtime();
  span.text = batch.copy(kDefinitionSpan);
  if (!process.name().host.empty()) batch.tag(span, names_.host, process.name().host);
  batch.tag(span, names_.application, process.name().process);
  batch.tag(span, names_.phase, process.program().id(phase));
  batch.tag(span, names_.definition, process.program().definition(phase));
  ++created_;
}

void PhasesTranslator::emit_metrics(const Window &window, int64_t cpu_ns, Batch &batch) {
  int64_t buffered = 0, known = 0, lost = 0;
  for (const auto &process : ended_) trace_bits_ += process->reset_trace_bits();
  ended_.clear();
  const auto cost = cost_.add(window, cpu_ns);
  if (!cost) return;
  for (const auto &[id, process] : processes_) {
    buffered += static_cast<int64_t>(process->buffered());
    trace_bits_ += process->reset_trace_bits();
  }
  for (const auto &[name, program] : programs_) {
    known += static_cast<int64_t>(program->book().size());
    lost += static_cast<int64_t>(program->lost());
  }
  const double seconds = static_cast<double>(window.duration_ns) / 1e9;
  Sample &sample = batch.add(ATALAYA_METRICS, 1, 7);
  sample.time_ns = window.time_ns;
  sample.duration_ns = window.duration_ns;
  batch.field(sample, names_.processes, static_cast<int64_t>(processes_.size()));
  batch.field(sample, names_.known, known);
  batch.field(sample, names_.buffered, buffered);
  batch.field(sample, names_.learned, static_cast<int64_t>(std::exchange(learned_, 0)));
  batch.field(sample, names_.lost, lost);
  batch.field(sample, names_.trace, round_to(static_cast<double>(std::exchange(trace_bits_, 0)) / seconds, 1));
  batch.field(sample, names_.cost, round_to(*cost, 4));
  ++created_;
}

}  // namespace atalaya::phases
