// SPDX-License-Identifier: Apache-2.0
#include "core/config/check/common_params.h"

#include <atalaya/plugin.hpp>

#include <iterator>
#include <span>
#include <string_view>

namespace atalaya::core {
namespace {

constexpr double kSecond = 1e9, kDay = 86400 * kSecond, kMebi = 1024.0 * 1024, kTebi = 1024 * 1024 * kMebi;
constexpr std::string_view kPolicies = "block|drop_oldest|drop_newest";

constexpr Param kSpoolParams[] = {
    param::string("dir", "Folder of this sink alone; a relative path is below the agent's state folder").required(),
    param::size("max", "Maximum size of the spool").defaults("1 GiB").range(kMebi, 1024 * kTebi),
    param::size("min_free", "Minimum free disk space; the spool is full below it (0 B: no limit)")
        .defaults("256 MiB")
        .range(0, 1024 * kTebi),
    param::duration("max_age", "Maximum age of a queued batch; older ones are dropped (absent: no limit)")
        .range(kSecond, 36500 * kDay),
    param::duration("sync", "Maximum delay until batches are synced to disk and acknowledged; 0s syncs each one")
        .defaults("1s")
        .range(0, 60 * kSecond),
    param::choice("when_full", kPolicies, "Action of a full spool: drop batches, or let the queue in memory fill too")
        .defaults("drop_oldest"),
};

constexpr Param kSinkParams[] = {
    param::size("queue", "Memory for batches that wait for this sink").defaults("16 MiB").range(kMebi / 16, kTebi / 16),
    param::choice("when_full", kPolicies, "Action of a full queue: pause the source (a counted gap), or drop batches")
        .defaults("block"),
    param::duration("spread", "Maximum delay after a window's end, derived from the host's name, so that hosts take turns")
        .defaults("0s")
        .range(0, 3600 * kSecond),
    param::record("spool", kSpoolParams, "Durable queue on disk (absent: none)"),
};

constexpr Param kMemory = param::size("memory", "Maximum memory of its process, and of each batch in transit")
                              .defaults("256 MiB")
                              .range(16 * kMebi, kTebi / 16);
// Measured over several seconds, because one call may need a whole core. RLIMIT_CPU limits the total of a process and cannot be
// used.
constexpr Param kCpu =
    param::integer("cpu", "Maximum CPU time of its process over 10 s (absent: no limit)").unit("% of a core").range(1, 100'000);

// A call of this length delays the engine (stage), the windows of the source, or the queue of the sink.
constexpr Param time_param(std::string_view default_text) {
  return param::duration("time", "Maximum time of one call; then its process is killed and restarted")
      .defaults(default_text)
      .range(kSecond / 100, 3600 * kSecond);
}
constexpr Param kStageLimits[] = {kCpu, kMemory, time_param("250ms")};
constexpr Param kSourceLimits[] = {kCpu, kMemory, time_param("2s")};
constexpr Param kSlowLimits[] = {kCpu, kMemory, time_param("30s")};  // sinks and blocking sources

constexpr Param kIsolate =
    param::boolean("isolate", "Run it in its own process (default: only plugins that were not installed with atalaya)");

std::span<const Param> limits_of(const atalaya_component &component) {
  if (component.kind == ATALAYA_SINK || (component.flags & ATALAYA_BLOCKING) != 0) return kSlowLimits;
  if (component.kind == ATALAYA_SOURCE) return kSourceLimits;
  return kStageLimits;
}

constexpr Param kPipelineParams[] = {
    param::duration("every", "Length of a window: the interval of collections").range(kSecond / 10, kDay),
};

constexpr Param kCallParams[] = {
    param::choice("on_error", "drop|pass", "Action for a sample whose call fails").defaults("drop"),
};

Schema schema_of_rows(std::span<const Param> params) {
  return {params.data(), static_cast<uint32_t>(params.size()), sizeof(Param)};
}

}  // namespace

Schema common_sink_params() {
  return schema_of_rows(kSinkParams);
}
std::vector<atalaya_param> common_params(const atalaya_component &component) {
  std::vector<Param> params = {kIsolate, param::record("isolation", limits_of(component), "Limits of the isolated process")};
  if (component.kind == ATALAYA_SINK) params.insert(params.begin(), std::begin(kSinkParams), std::end(kSinkParams));
  return params;
}
Parameters isolation_defaults(const atalaya_component &component) {
  std::vector<Problem> none;
  return Parameters::resolve(schema_of_rows(limits_of(component)), {}, none);
}
Isolation isolation_of(const Parameters &parameters, const Registry::Component &component) {
  Isolation isolation;
  const Parameter *written = parameters.find("isolate");
  isolation.on = written != nullptr ? written->i64 != 0 : !Registry::is_bundled(component.plugin->path());
  const Parameters usual = isolation_defaults(*component.component);
  const auto limit = [&](const std::string &name) {
    const Parameter *own = parameters.find("isolation." + name);
    if (own == nullptr) own = usual.find(name);
    return own == nullptr ? 0 : own->i64;
  };
  isolation.cpu_percent = limit("cpu");
  isolation.memory_bytes = limit("memory");
  isolation.time_ns = limit("time");
  return isolation;
}
Schema pipeline_params() {
  return schema_of_rows(kPipelineParams);
}
Schema inline_call_params() {
  return schema_of_rows(kCallParams);
}

}  // namespace atalaya::core
