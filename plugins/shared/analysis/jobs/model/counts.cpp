// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/model/counts.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace atalaya::jobs {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr std::string_view kCounter = "counter.";

// Source: JsonProtocol of Spark 1.0 to 4.3, TaskCounter of Hadoop 2 and 3.
constexpr CountName kNames[] = {
    {"counter.Task_Metrics.Executor_Run_Time", Count::run_ns, kMs},
    {"counter.Task_Metrics.Executor_CPU_Time", Count::cpu_ns, 1},
    {"counter.Task_Metrics.Executor_Deserialize_Time", Count::deserialize_ns, kMs},
    {"counter.Task_Metrics.Result_Serialization_Time", Count::serialize_ns, kMs},
    {"counter.Task_Metrics.Result_Size", Count::result_bytes, 1},
    {"counter.Task_Metrics.Disk_Bytes_Spilled", Count::spilled_bytes, 1},
    {"counter.Task_Metrics.Memory_Bytes_Spilled", Count::spilled_memory, 1},
    {"counter.Task_Metrics.Peak_Execution_Memory", Count::peak_memory, 1},
    {"counter.Shuffle_Read_Metrics.Fetch_Wait_Time", Count::fetch_wait_ns, kMs},
    {"counter.Shuffle_Read_Metrics.Local_Bytes_Read", Count::shuffled_bytes, 1},
    {"counter.Shuffle_Read_Metrics.Remote_Bytes_Read", Count::remote_shuffled, 1},
    {"counter.Shuffle_Write_Metrics.Shuffle_Write_Time", Count::write_ns, 1},
    {"counter.Shuffle_Write_Metrics.Shuffle_Bytes_Written", Count::written_bytes, 1},
    {"counter.Input_Metrics.Bytes_Read", Count::input_bytes, 1},
    {"counter.org.apache.hadoop.mapreduce.TaskCounter.CPU_MILLISECONDS", Count::cpu_ns, kMs},
    {"counter.org.apache.hadoop.mapreduce.TaskCounter.SPILLED_RECORDS", Count::spilled_records, 1},
    {"counter.org.apache.hadoop.mapreduce.TaskCounter.MAP_OUTPUT_RECORDS", Count::output_records, 1},
};

}  // namespace

void Counts::set(const CountName &name, int64_t value) {
  int64_t &place = values_[static_cast<size_t>(name.count)];
  if (value == kUnknown || __builtin_mul_overflow(value, name.factor, &place)) place = kUnknown;
}

const CountName *count_of(std::string_view metric) {
  if (!metric.starts_with(kCounter)) return nullptr;
  const auto found = std::find_if(std::begin(kNames), std::end(kNames), [&](const CountName &one) { return one.metric == metric; });
  return found == std::end(kNames) ? nullptr : found;
}

bool is_of_python(std::string_view metric) {
  return metric == "counter.Accumulables.data_sent_to_Python_workers";
}

bool is_of_query(std::string_view metric) {
  constexpr std::string_view kAccumulables = "counter.Accumulables.";
  return metric.starts_with(kAccumulables) && !metric.substr(kAccumulables.size()).starts_with("internal.metrics");
}

}  // namespace atalaya::jobs
