// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/process/bpf_pass.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <iterator>

#include "proc.skel.h"
#include "proc_pass.skel.h"

namespace atalaya::proc {

std::unique_ptr<BpfPass> BpfPass::open(const proc_bpf &ends, uint32_t capacity) {
  std::unique_ptr<BpfPass> pass(new BpfPass(proc_pass_bpf__open()));
  if (!pass->skeleton_ || !pass->load(ends, capacity)) return nullptr;
  return pass;
}

BpfPass::~BpfPass() {
  proc_pass_bpf__destroy(skeleton_);
}

bool BpfPass::load(const proc_bpf &ends, uint32_t capacity) {
  skeleton_->rodata->capacity = capacity;
  skeleton_->rodata->follows_exits = ends.rodata->follows_exits;
  if (bpf_map__reuse_fd(skeleton_->maps.ended_threads, bpf_map__fd(ends.maps.ended_threads)) != 0) return false;
  if (proc_pass_bpf__load(skeleton_) != 0) return false;
  std::copy(std::begin(ends.bss->cpu_offsets), std::end(ends.bss->cpu_offsets), std::begin(skeleton_->bss->cpu_offsets));
  skeleton_->bss->cpu_count = ends.bss->cpu_count;
  return true;
}

void BpfPass::forget() {
  std::fill(std::begin(skeleton_->bss->seen), std::end(skeleton_->bss->seen), 0);
}

std::optional<std::span<const std::byte>> BpfPass::read(uint32_t turn) {
  auto &shared = *skeleton_->bss;
  shared.turn = turn;
  bpf_test_run_opts options{};
  options.sz = sizeof(options);
  if (bpf_prog_test_run_opts(bpf_program__fd(skeleton_->progs.every_process_at_once), &options) != 0) return std::nullopt;
  if (shared.overflowed != 0) return std::nullopt;
  return std::as_bytes(std::span(shared.records).first(shared.filled));
}

}  // namespace atalaya::proc
