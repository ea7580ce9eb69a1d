// SPDX-License-Identifier: Apache-2.0
#include "core/config/common_params.h"

#include <array>

namespace atalaya::core {
namespace {

constexpr double kSecond = 1e9, kDay = 86400 * kSecond, kMebi = 1024.0 * 1024;

constexpr std::array kSpoolParams = {
    atalaya_param{.name = ATALAYA_STR("dir"),
                  .type = ATALAYA_STRING,
                  .flags = ATALAYA_REQUIRED,
                  .summary = ATALAYA_STR("Folder of this sink alone; a relative path is below the agent's state folder")},
    atalaya_param{.name = ATALAYA_STR("max"),
                  .type = ATALAYA_SIZE,
                  .flags = ATALAYA_BOUNDED,
                  .default_text = ATALAYA_STR("1 GiB"),
                  .summary = ATALAYA_STR("Maximum size of the spool"),
                  .min = kMebi,
                  .max = 1024.0 * 1024 * 1024 * kMebi},
    atalaya_param{.name = ATALAYA_STR("min_free"),
                  .type = ATALAYA_SIZE,
                  .flags = ATALAYA_BOUNDED,
                  .default_text = ATALAYA_STR("256 MiB"),
                  .summary = ATALAYA_STR("Minimum free disk space; the spool is full below it (0 B: no limit)"),
                  .min = 0,
                  .max = 1024.0 * 1024 * 1024 * kMebi},
    atalaya_param{.name = ATALAYA_STR("max_age"),
                  .type = ATALAYA_DURATION,
                  .flags = ATALAYA_BOUNDED,
                  .summary = ATALAYA_STR("Maximum age of a queued batch; older ones are dropped (absent: no limit)"),
                  .min = kSecond,
                  .max = 36500 * kDay},
    atalaya_param{
        .name = ATALAYA_STR("sync"),
        .type = ATALAYA_DURATION,
        .flags = ATALAYA_BOUNDED,
        .default_text = ATALAYA_STR("1s"),
        .summary = ATALAYA_STR("Maximum delay until batches are synced to disk and acknowledged; 0s syncs each one"),
        .min = 0,
        .max = 60 * kSecond},
    atalaya_param{.name = ATALAYA_STR("when_full"),
                  .type = ATALAYA_ENUM,
                  .flags = 0,
                  .default_text = ATALAYA_STR("drop_oldest"),
                  .allowed = ATALAYA_STR("block|drop_oldest|drop_newest"),
                  .summary = ATALAYA_STR("Action of a full spool: drop batches, or let the queue in memory fill too")},
};

constexpr std::array kSinkParams = {
    atalaya_param{.name = ATALAYA_STR("queue"),
                  .type = ATALAYA_SIZE,
                  .flags = ATALAYA_BOUNDED,
                  .default_text = ATALAYA_STR("16 MiB"),
                  .summary = ATALAYA_STR("Memory for batches that wait for this sink"),
                  .min = kMebi / 16,
                  .max = 64 * 1024 * kMebi},
    atalaya_param{.name = ATALAYA_STR("when_full"),
                  .type = ATALAYA_ENUM,
                  .flags = 0,
                  .default_text = ATALAYA_STR("block"),
                  .allowed = ATALAYA_STR("block|drop_oldest|drop_newest"),
                  .summary = ATALAYA_STR("Action of a full queue: pause the source (a counted gap), or drop batches")},
    atalaya_param{
        .name = ATALAYA_STR("spread"),
        .type = ATALAYA_DURATION,
        .flags = ATALAYA_BOUNDED,
        .default_text = ATALAYA_STR("0s"),
        .summary = ATALAYA_STR("Maximum delay after a window's end, so that hosts do not send at the same time; the "
                               "host's name decides."),
        .min = 0,
        .max = 3600 * kSecond},
    atalaya_param{.name = ATALAYA_STR("spool"),
                  .type = ATALAYA_RECORD,
                  .flags = 0,
                  .summary = ATALAYA_STR("A durable queue on disk; absent: none"),
                  .items = kSpoolParams.data(),
                  .item_count = kSpoolParams.size(),
                  .item_size = sizeof(atalaya_param)},
};

constexpr atalaya_param kMemory = {
    .name = ATALAYA_STR("memory"),
    .type = ATALAYA_SIZE,
    .flags = ATALAYA_BOUNDED,
    .default_text = ATALAYA_STR("256 MiB"),
    .summary = ATALAYA_STR("Maximum memory of its process, and of each batch in transit"),
    .min = 16 * kMebi,
    .max = 64 * 1024 * kMebi};

// Over some seconds, as one call may well take a whole core; RLIMIT_CPU counts a process's life and is of no use here.
constexpr atalaya_param kCpu = {
    .name = ATALAYA_STR("cpu"),
    .type = ATALAYA_INT,
    .flags = ATALAYA_BOUNDED,
    .unit = ATALAYA_STR("% of a core"),
    .summary = ATALAYA_STR("Maximum CPU time of its process over 10 s (absent: no limit)"),
    .min = 1,
    .max = 100'000};

// How long a call may take. A stage holds up the engine for that time, a source its own windows, a sink its queue.
constexpr atalaya_param time_param(atalaya_str default_text) {
  return {.name = ATALAYA_STR("time"),
          .type = ATALAYA_DURATION,
          .flags = ATALAYA_BOUNDED,
          .default_text = default_text,
          .summary = ATALAYA_STR("Maximum time of one call; then its process is killed and restarted"),
          .min = kSecond / 100,
          .max = 3600 * kSecond};
}
constexpr std::array kStageLimits = {kCpu, kMemory, time_param(ATALAYA_STR("250ms"))};
constexpr std::array kSourceLimits = {kCpu, kMemory, time_param(ATALAYA_STR("2s"))};
constexpr std::array kSlowLimits = {kCpu, kMemory, time_param(ATALAYA_STR("30s"))};  // sinks, and sources that say that they block

constexpr atalaya_param kIsolate = {
    .name = ATALAYA_STR("isolate"),
    .type = ATALAYA_BOOL,
    .flags = 0,
    .summary =
        ATALAYA_STR("Run it in its own process (default: only plugins that were not installed with atalaya)")};

using Limits = std::array<atalaya_param, 3>;

const Limits &limits_of(const atalaya_component &component) {
  if (component.kind == ATALAYA_SINK || (component.flags & ATALAYA_BLOCKING) != 0) return kSlowLimits;
  return component.kind == ATALAYA_SOURCE ? kSourceLimits : kStageLimits;
}

constexpr atalaya_param isolation_param(const Limits &limits) {
  return {.name = ATALAYA_STR("isolation"),
          .type = ATALAYA_RECORD,
          .flags = 0,
          .summary = ATALAYA_STR("Limits of the isolated process"),
          .items = limits.data(),
          .item_count = static_cast<uint32_t>(limits.size()),
          .item_size = sizeof(atalaya_param)};
}

constexpr std::array kPipelineParams = {
    atalaya_param{.name = ATALAYA_STR("every"),
                  .type = ATALAYA_DURATION,
                  .flags = ATALAYA_BOUNDED,
                  .summary = ATALAYA_STR("Length of a window: the interval of collections"),
                  .min = kSecond / 10,
                  .max = kDay},
};

constexpr std::array kCallParams = {
    atalaya_param{.name = ATALAYA_STR("on_error"),
                  .type = ATALAYA_ENUM,
                  .flags = 0,
                  .default_text = ATALAYA_STR("drop"),
                  .allowed = ATALAYA_STR("drop|pass"),
                  .summary = ATALAYA_STR("Action for a sample whose call fails")},
};

template <size_t Size>
Schema schema_of(const std::array<atalaya_param, Size> &params) {
  return {params.data(), static_cast<uint32_t>(Size), sizeof(atalaya_param)};
}

}  // namespace

Schema common_sink_params() {
  return schema_of(kSinkParams);
}
std::vector<atalaya_param> common_params(const atalaya_component &component) {
  std::vector<atalaya_param> params = {kIsolate, isolation_param(limits_of(component))};
  if (component.kind == ATALAYA_SINK) params.insert(params.begin(), kSinkParams.begin(), kSinkParams.end());
  return params;
}
Parameters isolation_defaults(const atalaya_component &component) {
  std::vector<Problem> none;
  return Parameters::resolve(schema_of(limits_of(component)), {}, none);
}
Isolation isolation_of(const Parameters &parameters, const Registry::Component &component) {
  Isolation isolation;
  const Parameter *written = parameters.find("isolate");
  isolation.on = written != nullptr ? written->i64 != 0 : !Registry::is_installed(component.plugin->path());
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
  return schema_of(kPipelineParams);
}
Schema inline_call_params() {
  return schema_of(kCallParams);
}

}  // namespace atalaya::core
