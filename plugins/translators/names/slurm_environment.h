// SPDX-License-Identifier: Apache-2.0
// The job of a process by the environment that Slurm starts it with, where the paths of cgroups do not tell. A process may write
// its own environment, and its children inherit it. Source: srun(1), sbatch(1), "output environment variables". Pure.
#pragma once

#include <optional>
#include <string_view>

namespace atalaya::names {

// Decimal numbers of at most 20 digits; the step also "batch", "extern" or "interactive". They point into the text.
struct SlurmJob {
  std::string_view job, step, user;  // step, user: empty if absent
};
// `text`: /proc/PID/environ, which may be cut.
std::optional<SlurmJob> slurm_job_in(std::string_view text);

}  // namespace atalaya::names
