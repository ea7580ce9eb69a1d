// SPDX-License-Identifier: Apache-2.0
// The hook: bpf/oom.bpf.c in the kernel.
#include <bpf/libbpf.h>
#include <malloc.h>

#include <cstring>
#include <string>
#include <utility>

#include "oom.skel.h"
#include "plugins/shared/host/bpf/loading.h"
#include "plugins/sources/kernel/marks.h"

namespace atalaya::kernel {
namespace {

struct SkeletonDeleter {
  void operator()(oom_bpf *skeleton) const { oom_bpf__destroy(skeleton); }
};
struct RingDeleter {
  void operator()(ring_buffer *ring) const { ring_buffer__free(ring); }
};

class BpfMarks final : public Marks {
 public:
  core::Status open() {
    bpf::capture_messages();
    bpf::take_message();
    skeleton_.reset(oom_bpf__open_and_load());
    ::malloc_trim(0);  // the kernel's type information took several MiB
    if (!skeleton_) return load_error();
    ring_.reset(ring_buffer__new(bpf_map__fd(skeleton_->maps.marks), keep, &kept_, nullptr));
    if (!ring_) return core::Error{"cannot map the ring of the BPF program"};
    link_.reset(bpf_program__attach(skeleton_->progs.victim_is_marked));
    if (!link_) return load_error();
    return core::Done{};
  }

  std::vector<oom_mark> take() override {
    ring_buffer__consume(ring_.get());
    return std::exchange(kept_, {});
  }
  uint64_t lost() const override { return skeleton_->bss->lost_marks; }

 private:
  static int keep(void *kept, void *data, size_t size) noexcept {
    oom_mark mark{};
    if (size < sizeof(mark)) return 0;
    std::memcpy(&mark, data, sizeof(mark));
    static_cast<std::vector<oom_mark> *>(kept)->push_back(mark);
    return 0;
  }
  static core::Error load_error() {
    std::string text = bpf::take_message();
    return {text.empty() ? "the kernel rejected the BPF program" : std::move(text)};
  }

  std::unique_ptr<oom_bpf, SkeletonDeleter> skeleton_;
  std::unique_ptr<ring_buffer, RingDeleter> ring_;
  bpf::Link link_;
  std::vector<oom_mark> kept_;
};

}  // namespace

core::Result<std::unique_ptr<Marks>> open_marks() {
  if (const core::Status usable = bpf::check(); !usable) return core::Error{usable.error()};
  auto marks = std::make_unique<BpfMarks>();
  if (const core::Status opened = marks->open(); !opened) return core::Error{opened.error()};
  return std::unique_ptr<Marks>(std::move(marks));
}

}  // namespace atalaya::kernel
