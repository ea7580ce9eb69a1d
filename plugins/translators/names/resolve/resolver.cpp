// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/names/resolve/resolver.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "core/base/now.h"
#include "plugins/shared/host/containers/workload.h"
#include "plugins/translators/names/slurm_environment.h"

namespace atalaya::names {
namespace {

int64_t tick_ns() {
  const long ticks = ::sysconf(_SC_CLK_TCK);
  return 1'000'000'000 / (ticks > 0 ? ticks : 100);
}

core::Descriptor open_proc(const std::string &root) {
  return core::Descriptor(::open((root + "/proc").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

bool runs_java(ProcessFiles &files) {
  return base_name(files.executable()) == "java";
}

Relative relative(int32_t pid, const ProcessStat &stat) {
  return {.pid = pid, .parent = stat.parent, .start_ticks = stat.start_ticks, .image = stat.image, .name = hash_of(stat.name)};
}

Words read_words(ProcessFiles &files) {
  const std::string_view text = files.read("cmdline");
  return words_of(text, text.size() == ProcessFiles::kBuffer);
}

}  // namespace

Resolver::Resolver(std::shared_ptr<const Rules> rules, Options options)
    : rules_(std::move(rules)),
      options_(std::move(options)),
      proc_(open_proc(options_.root)),
      tick_ns_(tick_ns()),
      lineage_(ancestors(), options_.capacity),
      containers_({.root = options_.root}, [this](std::string_view text) { remark_ = text; }),
      buffer_(new std::array<char, ProcessFiles::kBuffer>) {}  // not zeroed, so that unused memory is never mapped

Answer Resolver::answer(const Question &question) {
  Answer answer{.question = question};
  if (question.pid == 0) {
    answer.found = true;
    find_places(question.cgroup, answer);
    return answer;
  }
  ProcessFiles files(proc_.get(), question.pid, *buffer_);
  const auto stat = parse_stat(files.read("stat"));
  const int64_t start_ns = stat ? static_cast<int64_t>(stat->start_ticks) * tick_ns_ : 0;
  if (!stat || start_ns > question.requested_ns) return answer;
  if (question.image != 0 && stat->image == 0) return answer;  // the process is exiting and has no command line any more
  answer.image = stat->image;
  answer.start_ns = start_ns;
  answer.name = question.has_started ? hash_of(stat->name) : question.name;
  answer.same_program = question.image != 0 && question.image == stat->image;
  if (!answer.same_program) name_process(files, *stat, answer);
  answer.found = !question.if_java || !answer.naming.process.empty() || !answer.inherited.empty();
  if (!answer.found) return answer;
  if (options_.places) find_places(cgroup::parse_cgroup(files.read("cgroup")), answer);
  // YARN's default executor makes no cgroups; it starts containers in folders of their own.
  if (options_.places && answer.places[kJob].empty()) answer.places[kJob] = cgroup::yarn_application_of(files.working_directory());
  if (options_.job_environment && answer.places[kJob].empty()) find_job(files, answer);
  return answer;
}

// Finds the name, and the tags that a process has from its ancestors.
void Resolver::name_process(ProcessFiles &files, const ProcessStat &stat, Answer &answer) {
  const std::string name(stat.name);
  const Relative process = relative(answer.question.pid, stat);
  Lineage::Inherited inherited;
  if (rules_->any_inherited()) inherited = lineage_.of(process);
  name_program(files, name, answer);
  if (!rules_->any_inherited()) return;
  if (lineage_.learn(process, {answer.naming.tags, answer.settled})) options_.families->add(process.pid);
  answer.inherited = std::move(inherited.tags);
  answer.settled = answer.settled && inherited.settled;
}

Lineage::Reader Resolver::ancestors() {
  return {.find = [this](int32_t pid) -> std::optional<Relative> {
            ProcessFiles files(proc_.get(), pid, *buffer_);
            const auto stat = parse_stat(files.read("stat"));
            return stat ? std::optional(relative(pid, *stat)) : std::nullopt;
          },
          .program = [this](int32_t pid) -> Lineage::Program {
            ProcessFiles files(proc_.get(), pid, *buffer_);
            const auto stat = parse_stat(files.read("stat"));
            if (!stat) return {.tags = {}, .settled = false};
            Answer answer;
            name_program(files, std::string(stat->name), answer);
            return {std::move(answer.naming.tags), answer.settled};
          }};
}

void Resolver::name_program(ProcessFiles &files, std::string_view name, Answer &answer) {
  const Rules::Kind kind = rules_->kind_of(name);
  // The process may have started another program since the question.
  if (kind != Rules::Kind::other) answer.name = hash_of(name);
  if (kind == Rules::Kind::interpreter) {
    const Words words = read_words(files);
    answer.naming = rules_->name_script(words);
    answer.settled = !words.empty();  // empty: the process is starting or exiting
  } else if (kind == Rules::Kind::jvm || runs_java(files)) {
    name_jvm(files, answer);
  }
}

void Resolver::name_jvm(ProcessFiles &files, Answer &answer) {
  std::string command(files.java_command());
  const auto program = java_program(command, read_words(files));
  answer.settled = program && (program->sure || !command.empty());
  if (program) answer.naming = rules_->name_jvm(*program);
  ::explicit_bzero(command.data(), command.size());
}

void Resolver::find_places(std::string_view cgroup, Answer &answer) {
  const cgroup::Place place = cgroup::place_of(cgroup);
  const containers::Container &container = containers_.find(place, core::monotonic());
  answer.settled = answer.settled && (place.runtime == cgroup::Runtime::none || container.known);
  // A static pod, defined by a file on its node, has the node's name as suffix, not a generated one: it has no workload.
  const bool is_static_pod = !place.pod.empty() && place.pod.find('-') == std::string::npos;
  answer.places = Places{container.name,    std::string(cgroup::runtime_name(place.runtime)),
                         container.pod,     container.name_space,
                         container.project, container.service,
                         place.unit,        place.slice,
                         place.job,         place.job_step,
                         place.job_user,    std::string(is_static_pod ? "" : containers::workload_of(container.pod))};
  answer.remark = std::exchange(remark_, {});
}

// Finds the job in the environment. It is read again with the places, because exec may change the environment.
void Resolver::find_job(ProcessFiles &files, Answer &answer) {
  const auto found = slurm_job_in(files.read("environ"));
  if (!found) return;
  answer.places[kJob] = found->job;
  answer.places[kJobStep] = found->step;
  answer.places[kJobUser] = found->user;
}

}  // namespace atalaya::names
