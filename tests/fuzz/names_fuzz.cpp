// SPDX-License-Identifier: Apache-2.0
// Data that other processes publish about themselves, the first byte selects which.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plugins/shared/protocols/hsperfdata/hsperfdata.h"
#include "plugins/translators/names/resolve/process_files.h"
#include "plugins/translators/names/rules.h"
#include "plugins/translators/names/slurm_environment.h"

using namespace atalaya;
using namespace atalaya::names;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_part_of(std::string_view part, std::string_view whole) {
  return part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

const Rules &rules() {
  static const Rules made = [] {
    RuleText jvm, python;
    jvm.main = {"a.*"};
    jvm.arguments = {"!*no*"};
    jvm.option = {{"id", "--id"}};
    jvm.argument = {{"try", "try_*"}};
    jvm.name = "{id} {2:file}";
    jvm.tags = {{"try", "{try:last}"}};
    python.interpreter = {"python*"};
    python.options = {.code = {"-c"}, .script = {"-m", "--file"}, .value = {"-W"}, .attached = {"-i"}};
    return std::move(*Rules::make({jvm, python}));
  }();
  return made;
}

void check_naming(const Naming &naming) {
  require(naming.process.size() <= Rules::kMaxNameLength);
  for (const Naming::Tag &tag : naming.tags) require(tag.tag < rules().tags().size() && !tag.value.empty());
}

void check_program(const std::optional<JavaProgram> &program, std::string_view text) {
  if (!program) return;
  require(is_part_of(program->main, text) && is_part_of(program->short_name(), text));
  for (const std::string_view argument : program->arguments) require(is_part_of(argument, text));
  check_naming(rules().name_jvm(*program));
}

void check_command_line(std::string_view text) {
  const Words words = words_of(text);
  check_program(java_program(words), text);
  check_naming(rules().name_script(words));
  require(words_of(text, true).size() <= words.size());
}

// The JVM's own report, a zero, the command line.
void check_both(std::string_view text) {
  const size_t end = text.find('\0');
  const std::string_view line = text.substr(std::min(end, text.size() - 1) + 1);
  check_program(java_program(text.substr(0, end), words_of(line)), text);
}

void check_stat(std::string_view text) {
  if (const auto stat = parse_stat(text)) require(is_part_of(stat->name, text));
}

void check_environment(std::string_view text) {
  const auto job = slurm_job_in(text);
  if (!job) return;
  require(!job->job.empty());
  for (const std::string_view part : {job->job, job->user})
    require(is_part_of(part, text) && part.size() <= 20 && part.find_first_not_of("0123456789") == std::string_view::npos);
  require(job->step.size() <= 20 && job->step.find_first_of("/=\n ") == std::string_view::npos);
}

void check_owner(std::string_view text) {
  const auto owner = parse_owner(text);
  if (owner) require(is_part_of(owner->inner_pid, text) && owner->inner_pid.find('/') == std::string_view::npos);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char *>(data) + 1, size - 1);
  switch (data[0]) {
    case 'h':
      if (const auto command = protocols::java_command_in(text)) {
        require(is_part_of(*command, text));
        check_program(java_program(*command, {}), *command);
      }
      break;
    case 'j':
      check_both(text);
      break;
    case 'c':
      check_command_line(text);
      break;
    case 's':
      check_stat(text);
      break;
    case 'e':
      check_environment(text);
      break;
    case 'o':
      check_owner(text);
      break;
    default:
      break;
  }
  return 0;
}
