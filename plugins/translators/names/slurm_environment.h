// SPDX-License-Identifier: Apache-2.0
// Finds the job of a process in the environment that Slurm sets, for hosts whose cgroup paths do not contain the job. The result is
// not reliable: a process may change its environment, and its children inherit it. Source: srun(1), sbatch(1), "output environment
// variables". Pure functions.
#pragma once

#include <optional>
#include <string_view>

namespace atalaya::names {

// Decimal numbers of at most 20 digits; the step may also be "batch", "extern" or "interactive". They point into the input text.
struct SlurmJob {
  std::string_view job, step, user;  // step, user: empty if absent
};
// `text`: contents of /proc/PID/environ, possibly truncated.
std::optional<SlurmJob> slurm_job_in(std::string_view text);

}  // namespace atalaya::names
