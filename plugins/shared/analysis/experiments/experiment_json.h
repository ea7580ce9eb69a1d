// SPDX-License-Identifier: Apache-2.0
// Experiments as JSON: in Atalaya's format, and in that of the reference design's time stamping tool.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/experiments/experiments.h"

namespace atalaya::experiments {

// [{"experiment":..,"workload":..,"user":..,"notes":..,"tags":{..},"start":"2026-..Z","end":"2026-..Z"}]; absent parts are
// omitted; the end of an open experiment is null.
std::string experiments_json(const std::vector<Experiment> &experiments);

// Reads a document or a list of documents, each as above or
// {"type":"experiment"|"test","info":{"experiment_id","test_name","username", "start_time","end_time"}}, or such an "info" alone.
// Times are texts as parse_time takes them, or numbers. Throws Wrong.
std::vector<Experiment> read_experiments(std::string_view json, int64_t now_ns);

// One experiment in the format of the time stamping tool.
std::string reference_document(const Experiment &experiment);

}  // namespace atalaya::experiments
