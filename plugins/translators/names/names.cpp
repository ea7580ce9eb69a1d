// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/names/names.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string>
#include <utility>

#include "core/base/files.h"
#include "core/base/now.h"
#include "core/base/text/text.h"

namespace atalaya::names {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
// Tolerance of start times: they are the boot time, which is exact to a second, plus ticks.
constexpr int64_t kStartSlackNs = 2 * kSecond;
// Minimum minor page faults of an exec; idle processes have none.
constexpr double kExecFaults = 10;
// Windows between repeated questions after incomplete answers, increasing.
constexpr uint8_t kMaxTries = 8, kMaxWaitShift = 4;
constexpr uint32_t kWindowsBetweenSweeps = 16;
// Windows after which the cgroup of ended processes is read again, because a container can be renamed.
constexpr uint32_t kCgroupAgain = 1U << kMaxWaitShift;

int32_t pid_of(std::string_view text) {
  return std::max(core::number_from<int32_t>(text).value_or(0), 0);
}

std::shared_ptr<const Rules> make_rules(Host host) {
  auto rules = Rules::make(read_rules(host));
  if (!rules) throw Failure(Code::bad_config, "parameter \"rules\": " + rules.error());
  return std::make_shared<const Rules>(std::move(*rules));
}

// Whether two start times may be equal: sources that read /proc have a resolution of 10 ms. An unknown start time matches all.
bool same_start(int64_t a, int64_t b) {
  constexpr int64_t kTickNs = 10'000'000;
  return a == 0 || b == 0 || (a > b ? a - b : b - a) < kTickNs;
}

// What remains describes the process, whichever program it runs.
void forget_program(Known &known) {
  known.process.clear();
  known.program_tags.clear();
}

bool has_name(const KnownProcess &process) {
  return process.known != nullptr && !process.known->process.empty();
}

std::string comm_of(int32_t pid) {
  auto name = core::read_file("/proc/" + std::to_string(pid) + "/comm", 64);
  if (!name) return {};
  if (name->ends_with('\n')) name->pop_back();
  return std::move(*name);
}

bool lists_any(Host host, std::string_view path) {
  return host.child(path, 0).has_value();
}

std::function<ResolverThread::AnswerOne()> resolver_maker(Host host, const std::shared_ptr<const Rules> &rules,
                                                          const std::shared_ptr<Families> &families) {
  return [rules, options = Resolver::Options{.root = host.text("root"),
                                             .places = lists_any(host, "tags"),
                                             .job_environment = reads_environments(host),
                                             .capacity = static_cast<size_t>(host.integer("cache")),
                                             .families = families}] {
    return [resolver = std::make_shared<Resolver>(rules, options)](const Question &question) { return resolver->answer(question); };
  };
}

}  // namespace

Names::Names(Host host)
    : host_(host),
      root_(host.text("root")),
      rules_(make_rules(host)),
      wants_places_(lists_any(host, "tags")),
      rechecks_(static_cast<size_t>(host.integer("recheck"))),
      forget_(static_cast<uint32_t>(host.integer("forget"))),
      wait_ns_(host.integer("wait")),
      processes_(static_cast<size_t>(host.integer("cache"))),
      cgroups_(static_cast<size_t>(host.integer("cache"))),
      started_(static_cast<size_t>(host.integer("cache"))),
      families_(std::make_shared<Families>(static_cast<size_t>(host.integer("cache")))),
      thread_(resolver_maker(host, rules_, families_), {.capacity = static_cast<size_t>(host.integer("cache"))}),
      pid_{host.intern("pid")},
      process_{host.intern("process")},
      parent_{host.intern("parent.pid")},
      cgroup_{host.intern("cgroup")},
      start_{host.intern("proc.start.time")},
      faults_{host.intern("proc.faults.minor")} {
  for (const std::string &tag : rules_->tags()) {
    rule_tags_.push_back(host.intern(tag));
    if (rule_tags_.back() == 0) throw Failure(Code::bad_config, "parameter \"rules\": the name of a tag is empty or too long");
  }
  for (const std::string &tag : host.texts("tags"))
    place_tags_[static_cast<size_t>(std::find(kPlaceTags.begin(), kPlaceTags.end(), tag) - kPlaceTags.begin())] = host.intern(tag);
}

void Names::start() {
  const std::string proc = root_ + "/proc";
  if (::access(proc.c_str(), X_OK) != 0)
    throw Failure(Code::unsupported,
                  "cannot open " + proc + ": " + core::error_text(errno) + "; mount procfs there or change the parameter root");
  // Questions before a stop get no answer: send them again.
  processes_.forget(std::numeric_limits<uint32_t>::max());
  cgroups_.forget(std::numeric_limits<uint32_t>::max());
  started_.forget(std::numeric_limits<uint32_t>::max());
  last_time_ns_ = window_time_ns_ = 0;
  boot_time_ns_ = core::clock_ns(CLOCK_REALTIME) - core::clock_ns(CLOCK_BOOTTIME);
  thread_.start();
  watch_starts();
}

// Pids of events are those of the host, as in its /proc.
void Names::watch_starts() {
  if (root_ != "/") return;
  const core::Status started =
      start_watch_.start(rules_->any_inherited(), [this](std::span<const procfs::StartEvent> events) { ask_started(events); });
  if (!started) host_.log(Level::info, started.error() + "; a program that ends within a window keeps the kernel's name");
}

// Out of memory: those processes are named at the end of the window.
void Names::ask_started(std::span<const procfs::StartEvent> events) noexcept {
  try {
    const int64_t now_ns = core::clock_ns(CLOCK_BOOTTIME);
    std::vector<Question> questions;
    for (const procfs::StartEvent &event : events)
      if (may_have_name_or_tags(event)) questions.push_back({.pid = event.process, .requested_ns = now_ns, .has_started = true});
    thread_.ask(questions);
  } catch (const std::exception &) {
  }
}

// A host may start hundreds of programs per second, of which few have a derived name or inherit tags: only those cost more than the
// reading of their kernel's name.
bool Names::may_have_name_or_tags(const procfs::StartEvent &event) {
  return families_->has(event) || (event.parent == 0 && rules_->kind_of(comm_of(event.process)) != Rules::Kind::other);
}

void Names::stop() {
  start_watch_.stop();
  thread_.stop();
}

Code Names::process(const Window &window, Batch &batch) {
  begin(window);
  apply_answers();
  for (Sample &sample : batch.samples()) visit(batch, sample);
  processes_.settle();
  const bool any_new = !questions_.empty();
  choose_rechecks();
  request_all();
  if (any_new && wait_ns_ > 0) assign_new_ids(batch);
  if (window_ % kWindowsBetweenSweeps == 0 && window_ > forget_) forget_ended();
  return Code::ok;
}

void Names::forget_ended() {
  processes_.forget(window_ - forget_);
  cgroups_.forget(window_ - forget_);
  started_.forget(window_ - forget_);
  families_->keep([this](int32_t pid) { return processes_.find(pid) != nullptr || started_.find(pid) != nullptr; });
}

// A push source emits several batches per window; only the first one starts a window here.
void Names::begin(const Window &window) {
  if (window.time_ns != window_time_ns_) {
    ++window_;
    remaining_rechecks_ = rechecks_;
    last_time_ns_ = std::exchange(window_time_ns_, window.time_ns);
  }
  requested_ns_ = core::clock_ns(CLOCK_BOOTTIME);
}

// ---- Answers of the thread ----

void Names::apply_answers() {
  ++response_rounds_;
  if (thread_.take(answers_, host_.monotonic())) mark_unresponsive(answers_.back().question);
  for (Answer &answer : answers_) {
    if (!answer.remark.empty()) host_.log(Level::warning, answer.remark);
    apply(answer);
  }
  processes_.settle();
}

void Names::mark_unresponsive(const Question &question) {
  if (question.pid == 0) {
    if (KnownCgroup *cgroup = cgroups_.find(question.cgroup)) cgroup->unresponsive = true;
    host_.log(Level::warning,
              "timeout reading the container of cgroup " + question.cgroup +
                  ": its ended processes get no tags. The files of the container runtime may be on a file system that hangs");
    return;
  }
  KnownProcess *process = processes_.find(question.pid);
  if (process != nullptr && same_start(process->start_ns, question.start_ns)) process->unresponsive = true;
  if (!std::exchange(hang_logged_, true))
    host_.log(Level::warning,
              "timeout reading the program of process " + std::to_string(question.pid) +
                  ": it keeps the kernel's name. Its memory may be locked, or its /tmp may be on a file system that hangs");
}

void Names::apply(Answer &answer) {
  if (answer.question.pid == 0) return apply_to_cgroup(answer);
  if (answer.question.has_started) return apply_to_started(answer);
  KnownProcess *process = answer.found ? process_of(answer) : nullptr;
  if (process == nullptr) return;
  process->name = answer.name;
  process->image = answer.image;
  process->answered = response_rounds_;
  store(*process, answer);
  process->next_window = 0;
  if (answer.settled || process->tries == kMaxTries) return;
  process->next_window = window_ + (1U << std::min(process->tries, kMaxWaitShift));
  ++process->tries;
}

// The process of the answer; null if it has changed its name since the question, or if another process has its pid now.
KnownProcess *Names::process_of(const Answer &answer) {
  const Question &question = answer.question;
  KnownProcess *process = processes_.find(question.pid);
  if (process != nullptr)
    return process->name == question.name && same_start(process->start_ns, question.start_ns) ? process : nullptr;
  // The question was sent only to find a JVM with an unknown name, or inherited tags.
  if (answer.naming.process.empty() && answer.inherited.empty()) return nullptr;
  const Rules::Kind kind = answer.naming.process.empty() ? Rules::Kind::other : Rules::Kind::jvm;
  process = add(question.pid, question.name, kind, question.start_ns);
  if (process != nullptr) process->ask = false;
  return process;
}

void Names::store(KnownProcess &process, Answer &answer) {
  if (process.known == nullptr) process.known = std::make_unique<Known>();
  Known &known = *process.known;
  if (!answer.same_program) store_program(known, answer);
  store_places(known.place_tags, answer);
}

// Inherited tags last as long as the process: its ancestors may have ended.
void Names::store_program(Known &known, Answer &answer) const {
  known.process = std::move(answer.naming.process);
  known.program_tags = tags_of(answer.naming.tags);
  if (!answer.inherited.empty()) known.inherited_tags = tags_of(answer.inherited);
}

std::vector<ExtraTag> Names::tags_of(Tags &tags) const {
  std::vector<ExtraTag> result;
  for (Naming::Tag &tag : tags) result.push_back({rule_tags_[tag.tag], std::move(tag.value), tag.inherited});
  return result;
}

void Names::apply_to_started(Answer &answer) {
  if (!answer.found || (answer.naming.process.empty() && answer.inherited.empty())) return;
  StartedProgram program{
      .name = answer.name, .start_ns = boot_time_ns_ + answer.start_ns, .image = answer.image, .window = window_};
  store_program(program.known, answer);
  store_places(program.known.place_tags, answer);
  started_.put(answer.question.pid, std::move(program));
}

void Names::store_places(std::vector<ExtraTag> &tags, Answer &answer) const {
  tags.clear();
  for (size_t i = 0; i < place_tags_.size(); ++i)
    if (place_tags_[i] != 0 && !answer.places[i].empty()) tags.push_back({place_tags_[i], std::move(answer.places[i])});
}

void Names::apply_to_cgroup(Answer &answer) {
  KnownCgroup *cgroup = cgroups_.find(answer.question.cgroup);
  if (cgroup == nullptr) return;
  cgroup->answered = response_rounds_;
  if (answer.found) store_places(cgroup->tags, answer);
  const bool settled = answer.found && answer.settled;
  cgroup->next_window = window_ + (settled ? kCgroupAgain : 1U << std::min(cgroup->tries, kMaxWaitShift));
  if (!settled && cgroup->tries < kMaxTries) ++cgroup->tries;
}

// ---- Samples ----

const atalaya_tag *Names::find_tag(const Sample &sample, Position &tag) {
  if (tag.at < sample.tag_count && sample.tags[tag.at].key == tag.id) return &sample.tags[tag.at];
  const atalaya_tag *found = atalaya::find_tag(sample, tag.id);
  if (found != nullptr) tag.at = static_cast<uint32_t>(found - sample.tags);
  return found;
}

const atalaya_field *Names::find_field(const Sample &sample, Position &field) {
  if (field.at < sample.field_count && sample.fields[field.at].name == field.id) return &sample.fields[field.at];
  const atalaya_field *found = atalaya::find_field(sample, field.id);
  if (found != nullptr) field.at = static_cast<uint32_t>(found - sample.fields);
  return found;
}

void Names::visit(Batch &batch, Sample &sample) {
  const atalaya_tag *name = find_tag(sample, process_);
  const atalaya_tag *digits = find_tag(sample, pid_);
  if (digits == nullptr) visit_children(batch, sample);
  if (digits == nullptr && wants_places_) visit_ended(batch, sample);
  if (name == nullptr || digits == nullptr) return;
  const int32_t pid = pid_of(view(digits->value));
  if (pid == 0) return;
  const atalaya_field *start = find_field(sample, start_);
  const int64_t start_ns = start != nullptr && start->type == ATALAYA_I64 ? start->value.i64 : 0;
  KnownProcess *process = processes_.find(pid);
  if (process == nullptr) process = add_unknown(pid, view(name->value), start_ns);
  if (process == nullptr) return;
  check_process(*process, sample, view(name->value), start_ns);
  if (process->known != nullptr) return rename(batch, sample, process_.id, *process->known);
  if (wants_places_) visit_ended(batch, sample);
}

// Applies new names to this batch, because a process may live for one window only.
void Names::assign_new_ids(Batch &batch) {
  thread_.wait(wait_ns_);
  apply_answers();
  for (Sample &sample : batch.samples()) apply_new_name(batch, sample);
}

void Names::apply_new_name(Batch &batch, Sample &sample) {
  if (find_tag(sample, process_) == nullptr) return;
  if (const atalaya_tag *digits = find_tag(sample, pid_)) {
    const KnownProcess *process = processes_.find(pid_of(view(digits->value)));
    if (process != nullptr && process->answered == response_rounds_) rename(batch, sample, process_.id, *process->known);
    return;
  }
  visit_children(batch, sample);
  const atalaya_tag *path = wants_places_ ? find_tag(sample, cgroup_) : nullptr;
  const KnownCgroup *cgroup = path != nullptr ? cgroups_.find(view(path->value)) : nullptr;
  if (cgroup != nullptr) add_tags(batch, sample, cgroup->tags);
}

// Handles a sample of ended children of one process, such as the workers of a daemon.
void Names::visit_children(Batch &batch, Sample &sample) {
  const atalaya_tag *parent = find_tag(sample, parent_);
  if (parent == nullptr) return;
  const int32_t pid = pid_of(view(parent->value));
  const KnownProcess *process = processes_.find(pid);
  const StartedProgram *program = process == nullptr ? started(pid, 0) : nullptr;
  const Known *known = process != nullptr ? process->known.get() : program != nullptr ? &program->known : nullptr;
  if (known == nullptr) return;
  batch.reserve(sample, sample.tag_count + static_cast<uint32_t>(known->inherited_tags.size() + known->program_tags.size()), 0);
  for (const ExtraTag &tag : known->inherited_tags) set_tag(batch, sample, tag.key, tag.value);
  for (const ExtraTag &tag : known->program_tags)
    if (tag.inherited) set_tag(batch, sample, tag.key, tag.value);
}

// Handles a sample of ended processes of one cgroup, or of a process whose files could not be read: the cgroup's path still
// identifies the place.
void Names::visit_ended(Batch &batch, Sample &sample) {
  const atalaya_tag *path = find_tag(sample, cgroup_);
  if (path == nullptr || find_tag(sample, process_) == nullptr) return;
  KnownCgroup *cgroup = cgroups_.find(view(path->value));
  if (cgroup == nullptr) cgroup = cgroups_.add(view(path->value));
  if (cgroup == nullptr) return warn_full();
  cgroup->seen = window_;
  if (!cgroup->unresponsive && (cgroup->ask || (cgroup->next_window != 0 && window_ >= cgroup->next_window))) {
    cgroup->ask = false;
    cgroup->next_window = 0;
    questions_.push_back({.requested_ns = requested_ns_, .cgroup = std::string(view(path->value))});
  }
  add_tags(batch, sample, cgroup->tags);
}

void Names::add_tags(Batch &batch, Sample &sample, const std::vector<ExtraTag> &tags) {
  batch.reserve(sample, sample.tag_count + static_cast<uint32_t>(tags.size()), 0);
  for (const ExtraTag &tag : tags) set_tag(batch, sample, tag.key, tag.value);
}

// The names of most unknown processes match no rule. But a JVM may have any name, and any process may inherit tags, so each process
// that started since the last window is checked once.
KnownProcess *Names::add_unknown(int32_t pid, std::string_view name, int64_t start_ns) {
  const Rules::Kind kind = rules_->kind_of(name);
  if (kind != Rules::Kind::other || wants_places_ || started(pid, start_ns) != nullptr)
    return add(pid, hash_of(name), kind, start_ns);
  if (start_ns != 0 && start_ns >= last_time_ns_ - kStartSlackNs)
    questions_.push_back({.pid = pid, .name = hash_of(name), .start_ns = start_ns, .requested_ns = requested_ns_, .if_java = true});
  return nullptr;
}

KnownProcess *Names::add(int32_t pid, uint32_t name, Rules::Kind kind, int64_t start_ns) {
  KnownProcess *process = processes_.add(pid);
  if (process == nullptr) {
    warn_full();
    return nullptr;
  }
  process->name = name;
  process->kind = kind;
  process->start_ns = start_ns;
  process->seen = window_;
  return process;
}

void Names::warn_full() {
  if (std::exchange(full_logged_, true)) return;
  host_.log(Level::warning, "more than " + std::to_string(host_.integer("cache")) +
                                " processes may get a derived name: further ones keep the kernel's; raise the parameter cache");
}

void Names::check_process(KnownProcess &process, const Sample &sample, std::string_view name, int64_t start_ns) {
  if (!same_start(process.start_ns, start_ns)) {
    const int32_t pid = process.pid;
    process = KnownProcess{};
    process.pid = pid;
  }
  if (process.start_ns == 0) process.start_ns = start_ns;
  process.seen = window_;
  update_name(process, name);
  if (process.unresponsive) return;
  if (process.next_window != 0 && window_ >= process.next_window) {
    process.next_window = 0;
    process.ask = true;
  }
  if (process.ask) {
    process.ask = false;
    if (!has_name(process)) use_started(process);
    ask(process, 0);
  } else if (!process.suspect && (process.kind != Rules::Kind::other || has_name(process)) && may_have_changed(sample)) {
    process.suspect = any_suspect_ = true;
  }
}

// Null if the process was not read when it started.
const StartedProgram *Names::started(int32_t pid, int64_t start_ns) const {
  const StartedProgram *program = started_.find(pid);
  if (program == nullptr || (start_ns != 0 && std::abs(start_ns - program->start_ns) > kStartSlackNs)) return nullptr;
  return program;
}

// Uses the name from the start of the program: until the answer of this window, and for a process that has ended and gets none.
// With another name of the kernel's only the tags of its ancestors are certain.
void Names::use_started(KnownProcess &process) {
  const StartedProgram *program = started(process.pid, process.start_ns);
  if (program == nullptr) return;
  process.image = program->name == process.name ? program->image : 0;
  process.known = std::make_unique<Known>(program->known);
  if (program->name != process.name) forget_program(*process.known);
}

// Handles a new kernel name: the process runs another program, or has changed its name.
void Names::update_name(KnownProcess &process, std::string_view name) const {
  const uint32_t hash = hash_of(name);
  if (hash == process.name) return;
  const Rules::Kind before = std::exchange(process.kind, rules_->kind_of(name));
  process.name = hash;
  if (process.kind == Rules::Kind::other && before == Rules::Kind::other && !has_name(process)) return;
  if (process.known != nullptr) forget_program(*process.known);
  process.ask = true;
  process.suspect = false;
  process.next_window = process.tries = 0;
}

// Detects exec of a program with the same kernel name (java after java). It always causes page faults, but may use less CPU time
// than a tick. The first sample of a source is an instant and has no page faults.
bool Names::may_have_changed(const Sample &sample) {
  if (sample.duration_ns == 0) return true;
  const atalaya_field *faults = find_field(sample, faults_);
  return faults != nullptr && as_double(*faults) * static_cast<double>(sample.duration_ns) / kSecond >= kExecFaults;
}

void Names::set_tag(Batch &batch, Sample &sample, uint32_t key, std::string_view value) {
  atalaya_tag *end = sample.tags + sample.tag_count;
  atalaya_tag *tag = std::find_if(sample.tags, end, [key](const atalaya_tag &one) { return one.key == key; });
  if (tag == end)
    batch.tag(sample, key, value);
  else
    tag->value = batch.copy(value);
}

void Names::rename(Batch &batch, Sample &sample, uint32_t process_key, const Known &known) {
  const auto more = static_cast<uint32_t>(known.inherited_tags.size() + known.program_tags.size() + known.place_tags.size());
  if (known.process.empty() && more == 0) return;
  batch.reserve(sample, sample.tag_count + more, 0);
  if (!known.process.empty()) set_tag(batch, sample, process_key, known.process);
  for (const ExtraTag &tag : known.inherited_tags) set_tag(batch, sample, tag.key, tag.value);
  for (const ExtraTag &tag : known.program_tags) set_tag(batch, sample, tag.key, tag.value);
  for (const ExtraTag &tag : known.place_tags) set_tag(batch, sample, tag.key, tag.value);
}

// ---- Questions ----

void Names::choose_rechecks() {
  if (any_suspect_) {
    any_suspect_ = false;
    recheck(last_suspect_, [](const KnownProcess &process) { return process.suspect; });
  }
  // Processes with a name are checked too, because their place can change without an event.
  if (wants_places_) recheck(last_rechecked_, [](const KnownProcess &process) { return process.known != nullptr; });
}

// Selects processes round-robin by pid, starting after the last one; the others remain suspects.
template <class Wanted>
void Names::recheck(int32_t &last_pid, Wanted wanted) {
  auto &all = processes_.all();
  const auto first =
      std::upper_bound(all.begin(), all.end(), last_pid, [](int32_t pid, const auto &process) { return pid < process.pid; });
  auto at = static_cast<size_t>(first - all.begin());
  for (size_t i = 0; i < all.size(); ++i, ++at) {
    KnownProcess &process = all[at < all.size() ? at : at - all.size()];
    if (process.unresponsive || !wanted(process)) continue;
    if (remaining_rechecks_ == 0) {
      any_suspect_ = any_suspect_ || process.suspect;
      return;
    }
    --remaining_rechecks_;
    process.suspect = false;
    last_pid = process.pid;
    ask(process, process.image);
  }
}

void Names::ask(const KnownProcess &process, uint64_t image) {
  questions_.push_back(
      {.pid = process.pid, .name = process.name, .start_ns = process.start_ns, .requested_ns = requested_ns_, .image = image});
}

// Questions beyond the capacity are sent in a later window.
void Names::request_all() {
  const size_t taken = thread_.ask(questions_);
  for (size_t i = taken; i < questions_.size(); ++i)
    if (questions_[i].pid == 0) {
      if (KnownCgroup *cgroup = cgroups_.find(questions_[i].cgroup)) cgroup->ask = true;
    } else if (KnownProcess *process = processes_.find(questions_[i].pid)) {
      process->ask = true;
    }
  questions_.clear();
}

}  // namespace atalaya::names
