// SPDX-License-Identifier: Apache-2.0
// Reads jobs from a store.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plugins/shared/analysis/jobs/model/tasks.h"
#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"
#include "plugins/shared/store/store.h"

namespace atalaya::jobs {

// Whether tasks and phases without a job are read, such as runs of a program's functions. They can be compared with each other,
// but no job is judged by them.
enum class WithoutJob : uint8_t { omitted, read };

// Reads all jobs of the range, or those with these ids. Throws the exceptions of queries, and Wrong if an id is not in the store.
JobData read_jobs(const std::vector<std::string> &ids, const std::vector<store::TagFilter> &tags, const query::Range &range,
                  store::Store &store, query::Budget &budget, WithoutJob of_no_job = WithoutJob::omitted);

// Counters of the framework in some tasks, by task, then by name. read_counters reads the spans again.
using Counters = std::map<uint32_t, std::map<std::string, double>>;
Counters read_counters(const JobData &data, const std::vector<uint32_t> &tasks, store::Store &store, query::Budget &budget);

}  // namespace atalaya::jobs
