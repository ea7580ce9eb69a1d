// SPDX-License-Identifier: Apache-2.0
// Pipeline files as plain data: config/ reads it from Lua files, pipeline/ runs it. A reload compares two descriptions and
// restarts only the parts that differ.
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/isolation/isolation.h"
#include "core/plugin/describe/parameters.h"
#include "core/plugin/registry.h"

namespace atalaya::core {

struct Location {
  std::string file;
  int line = 0;
};

// The start of each message about a pipeline file: "file:line: "; "file: " if the line is unknown.
inline std::string prefix_of(const Location &where) {
  return where.file + (where.line > 0 ? ":" + std::to_string(where.line) : "") + ": ";
}

// The action for a sample whose inline function failed.
enum class OnError { drop, pass };

// A sink's bounded queue in memory (parameters `queue`, `when_full` and `spread` that every sink has).
enum class WhenFull { block, drop_oldest, drop_newest };
struct QueueLimits {
  int64_t max_bytes = 0;
  WhenFull when_full = WhenFull::block;
  int64_t spread_ns = 0;
  bool operator==(const QueueLimits &) const = default;
};

// A sink's durable queue on disk (parameter `spool` that every sink has).
struct SpoolLimits {
  std::string dir;  // "": the sink has no spool
  int64_t max_bytes = 0;
  int64_t min_free_bytes = 0;  // free space that the spool leaves on the disk
  int64_t max_age_ns = 0;      // 0: no limit
  int64_t sync_ns = 0;         // 0: after every batch
  WhenFull when_full = WhenFull::block;
  bool operator==(const SpoolLimits &) const = default;
};

// One constructor call: a component, or an inline function.
struct StageDescription {
  uint32_t kind = 0;  // ATALAYA_SOURCE ... ATALAYA_SINK; of an inline function ATALAYA_TRANSLATOR
  std::string name;   // "proc"; of an inline function "function"
  Location where;
  Registry::Component component;  // empty for an inline function
  Parameters parameters;
  std::string inputs;  // state of the files in parameters of the unit "input file": a component reads them when it starts
  Isolation isolation;
  int function = 0;  // number of the inline function in its file's Lua state, from 1; 0: a component
  OnError on_error = OnError::drop;
  QueueLimits queue;  // only for sinks
  SpoolLimits spool;  // only for sinks
};

// Whether two constructor calls create equal components. Their lines are not compared.
bool same(const StageDescription &a, const StageDescription &b);
bool same(const std::vector<StageDescription> &a, const std::vector<StageDescription> &b);

class FunctionHost;  // runs inline functions: config/functions.h

// One pipeline. Several pipelines can use the same sink.
struct PipelineDescription {
  std::string name;
  Location where;
  int64_t every_ns = 0;                   // 0: only push sources or `from`
  std::vector<StageDescription> sources;  // empty when `from` is set
  std::string from;                       // name of the pipeline whose output this one takes
  std::vector<StageDescription> stages;
  std::vector<size_t> sinks;                // indices in FileDescription::sinks
  std::shared_ptr<FunctionHost> functions;  // shared by pipelines that are connected by `from`; null without inline functions
};

bool has_function(const PipelineDescription &pipeline);

// All files of one run.
struct FileDescription {
  std::vector<std::string> paths;
  std::vector<std::string> required;  // the other Lua files that these read
  std::string digest;                 // digest of the texts of all these files
  std::vector<PipelineDescription> pipelines;
  std::vector<StageDescription> sinks;
};

}  // namespace atalaya::core
