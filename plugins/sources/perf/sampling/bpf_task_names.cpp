// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/perf/sampling/bpf_task_names.h"

#include <bpf/libbpf.h>

#include <algorithm>
#include <exception>

#include "bpf/perf.h"
#include "perf.skel.h"
#include "plugins/sources/perf/sampling/bpf_maps.h"

namespace atalaya::perf {

void TaskNameEvents::prepare(perf_bpf &skeleton, const std::vector<std::string> &prefixes, bool off_cpu) {
  for (bpf_program *program : {skeleton.progs.on_rename, skeleton.progs.on_exit})
    bpf_program__set_autoload(program, !prefixes.empty());
  if (prefixes.empty()) bpf_map__set_max_entries(skeleton.maps.epochs, 1);
  if (prefixes.empty() || !off_cpu) bpf_map__set_max_entries(skeleton.maps.held, 1);
  auto &constants = *skeleton.rodata;
  for (const std::string &text : prefixes) {
    if (constants.prefixes == PERF_PREFIXES) return;
    auto &prefix = constants.prefix[constants.prefixes++];
    prefix.size = static_cast<uint32_t>(std::min<size_t>(text.size(), PERF_COMM - 1));
    std::copy_n(text.begin(), prefix.size, prefix.text);
  }
}

bool TaskNameEvents::attach(perf_bpf &skeleton, ring_buffer &ring) {
  if (ring_buffer__add(&ring, bpf_map__fd(skeleton.maps.renamed), on_renamed, this) != 0) return false;
  rename_.reset(bpf_program__attach_trace(skeleton.progs.on_rename));
  exit_.reset(bpf_program__attach_trace(skeleton.progs.on_exit));
  return rename_ && exit_;
}

// Called from C: must not throw.
int TaskNameEvents::on_renamed(void *self, void *data, size_t size) noexcept {
  auto &renamed = static_cast<TaskNameEvents *>(self)->renamed_;
  static constexpr size_t kMaxRenamed = 16384;
  if (size < sizeof(perf_renamed) || renamed.size() >= kMaxRenamed) return 0;
  const auto &record = *static_cast<const perf_renamed *>(data);
  try {
    renamed.push_back(
        {id_of(record.process), record.thread, static_cast<int64_t>(record.epoch), std::string(text_of(record.name))});
  } catch (const std::exception &) {  // out of memory: this name stays unknown
  }
  return 0;
}

}  // namespace atalaya::perf
