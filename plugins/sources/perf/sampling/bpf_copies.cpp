// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/perf/sampling/bpf_copies.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "core/base/now.h"
#include "plugins/sources/perf/sampling/bpf_maps.h"

namespace atalaya::perf {

void StackCopies::add(const perf_copy &copy) {
  const ProcessId id = id_of(copy.process);
  Known &known = known_of(id);
  static_assert(symbols::kRegisters <= PERF_REGISTERS);
  symbols::Registers registers;
  std::copy_n(copy.registers, registers.size(), registers.begin());
  const std::span<const uint8_t> bytes(copy.bytes, std::min<size_t>(copy.size, sizeof(copy.bytes)));
  Stack &key = unwound_;
  key = {id, copy.kernel, copy.thread, static_cast<int64_t>(copy.epoch), copy.region, std::move(key.frames), End::failed};
  const auto end =
      unwinder_.unwind(known.maps, registers, {copy.begin, std::as_bytes(bytes)}, key.frames, [&] { refresh(id, known); });
  if (end != symbols::Unwound::failed) key.end = end == symbols::Unwound::to_root ? End::root : End::truncated;
  Window &window = windows_[copy.set & 1];
  auto at = window.stacks.find(key);
  if (at == window.stacks.end()) {
    if (window.stacks.size() >= max_stacks_) {
      ++window.lost;
      return;
    }
    at = window.stacks.emplace(key, Sum{}).first;
  }
  Sum &sum = at->second;
  if (sum.comm.empty()) sum.comm = text_of(copy.comm);
  if (sum.thread_name.empty()) sum.thread_name = text_of(copy.thread_name);
  ++sum.count;
}

StackCopies::Known &StackCopies::known_of(const ProcessId &id) {
  static constexpr size_t kMaxKnown = 1024;
  auto at = known_.find(id);
  if (at == known_.end()) {
    if (known_.size() >= kMaxKnown || known_bytes_ > memory_) forget_known();
    at = known_.emplace(id, Known{symbols::ProcessMaps(id.pid)}).first;
  }
  Known &known = at->second;
  if (!std::exchange(known.read_in_window, true)) refresh(id, known);
  return known;
}

void StackCopies::forget_known() {
  known_.clear();
  known_bytes_ = 0;
}

// Processes of this window are read again when they are sampled in the next one.
void StackCopies::end_window() {
  for (auto at = known_.begin(); at != known_.end();) {
    Known &known = at->second;
    const bool is_used = std::exchange(known.read_in_window, false);
    known.read_ns = 0;
    if (!is_used) known_bytes_ -= known.maps.bytes();
    at = is_used ? std::next(at) : known_.erase(at);
  }
}

// Limits reads: a corrupt stack leads to unmapped addresses each time.
void StackCopies::refresh(const ProcessId &id, Known &known) {
  static constexpr int64_t kMinInterval = 1'000'000'000;
  const int64_t now = core::monotonic();
  if (known.read_ns != 0 && now - known.read_ns < kMinInterval) return;
  known.read_ns = now;
  known_bytes_ -= known.maps.bytes();
  known.maps.refresh(mark_of(id));
  known_bytes_ += known.maps.bytes();
}

StackCopies::Window StackCopies::take(uint32_t set) {
  end_window();
  unwinder_.next_window();
  return std::exchange(windows_[set], {});
}

}  // namespace atalaya::perf
