// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/names/slurm_environment.h"

#include <algorithm>

namespace atalaya::names {
namespace {

constexpr size_t kMaxDigits = 20;

std::string_view number_in(std::string_view text) {
  const bool is_number =
      !text.empty() && text.size() <= kMaxDigits && text.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? text : std::string_view();
}

// Slurm uses reserved numbers for the steps that users do not start. Source: slurm.h, SLURM_BATCH_SCRIPT and similar constants.
std::string_view step_of(std::string_view number) {
  if (number == "4294967291") return "batch";
  if (number == "4294967292") return "extern";
  if (number == "4294967290") return "interactive";
  return number;
}

}  // namespace

std::optional<SlurmJob> slurm_job_in(std::string_view text) {
  SlurmJob found;
  while (!text.empty()) {
    const std::string_view variable = text.substr(0, text.find('\0'));
    // The last variable may be truncated.
    const bool whole = variable.size() < text.size();
    text.remove_prefix(std::min(variable.size() + 1, text.size()));
    const size_t equal = variable.find('=');
    if (!whole || equal == std::string_view::npos) continue;
    const std::string_view name = variable.substr(0, equal);
    const std::string_view value = number_in(variable.substr(equal + 1));
    if (name == "SLURM_JOB_ID") found.job = value;
    if (name == "SLURM_STEP_ID") found.step = step_of(value);
    if (name == "SLURM_JOB_UID") found.user = value;
  }
  if (found.job.empty()) return std::nullopt;
  return found;
}

}  // namespace atalaya::names
