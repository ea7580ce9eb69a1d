// SPDX-License-Identifier: Apache-2.0
// The backend: bpf/uprobe.bpf.c in the kernel.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <malloc.h>

#include <string>
#include <utility>

#include "bpf/uprobe.h"
#include "plugins/shared/code/probes/links.h"
#include "plugins/shared/host/bpf/loading.h"
#include "plugins/sources/uprobe/backend.h"
#include "plugins/sources/uprobe/run_ring.h"
#include "uprobe.skel.h"

namespace atalaya::uprobe {
namespace {

constexpr uint32_t kRing = 1 << 20;

struct SkeletonDeleter {
  void operator()(uprobe_bpf *skeleton) const { uprobe_bpf__destroy(skeleton); }
};

class BpfBackend final : public Backend {
 public:
  explicit BpfBackend(const BackendOptions &options) : options_(options), ring_(options.max_buffered, options.wants) {}

  core::Status open() {
    bpf::capture_messages();
    bpf::take_message();
    core::Status loaded = load(true);
    if (loaded && !probes::supports_multi(programs())) loaded = load(false);
    ::malloc_trim(0);  // the kernel's type information took several MiB
    if (!loaded) return core::Error{loaded.error() + "; code regions require Linux 5.15 or later"};
    if (!create_counts() || !ring_.open(bpf_map__fd(skeleton_->maps.ended)))
      return core::Error{"cannot create the counters of the regions in the kernel"};
    exits_.reset(bpf_program__attach_trace(skeleton_->progs.thread_exits));
    execs_.reset(bpf_program__attach_trace(skeleton_->progs.thread_execs));
    if (!exits_ || !execs_) return load_error();
    return core::Done{};
  }

  core::Result<std::unique_ptr<probes::Attachment>> attach(uint32_t region, int file, const probes::Points &points) override {
    return probes::attach(programs(), multi_, region, file, points);
  }

  std::vector<uint64_t> take(const std::function<void(const uprobe_run &)> &take) override { return ring_.take(take); }

  // Deletes only keys already visited, so that the walk visits each key once; while names are added it may repeat some.
  void read(const std::function<bool(const uprobe_key &, const uprobe_counts &)> &take) override {
    const int map = bpf_map__fd(skeleton_->maps.counts);
    uprobe_key key{}, next{};
    bool more = bpf_map_get_next_key(map, nullptr, &key) == 0;
    for (; more; key = next) {
      uprobe_counts counts{};
      const bool unwanted = bpf_map_lookup_elem(map, &key, &counts) == 0 && !take(key, counts);
      more = bpf_map_get_next_key(map, &key, &next) == 0;
      if (unwanted) ignore(key);
    }
  }

 private:
  core::Status load(bool multi) {
    multi_ = multi;
    skeleton_.reset(uprobe_bpf__open());
    if (!skeleton_) return load_error();
    set_options();
    if (multi) probes::use_multi(programs());
    if (uprobe_bpf__load(skeleton_.get()) != 0) return load_error();
    return core::Done{};
  }

  // Deletes the counts one window later: by then every BPF program has seen that the name is excluded.
  void ignore(const uprobe_key &key) {
    const int unwanted = bpf_map__fd(skeleton_->maps.unwanted);
    uint8_t one = 1;
    if (bpf_map_lookup_elem(unwanted, key.comm, &one) == 0)
      bpf_map_delete_elem(bpf_map__fd(skeleton_->maps.counts), &key);
    else
      bpf_map_update_elem(unwanted, key.comm, &one, BPF_ANY);
  }

  probes::Programs programs() const { return {skeleton_->progs.enters, skeleton_->progs.returns, skeleton_->progs.leaves}; }

  void set_options() {
    auto &settings = *skeleton_->rodata;
    settings.regions = static_cast<uint32_t>(options_.bytes.size());
    for (size_t i = 0; i < options_.bytes.size(); ++i) settings.bytes_of[i] = options_.bytes[i];
    for (size_t i = 0; i < options_.by_return.size(); ++i) settings.by_return[i] = options_.by_return[i];
    settings.by_name = options_.wants ? 1 : 0;
    settings.min_ns = options_.min_ns;
    settings.max_events = options_.max_events;
    settings.wake_at = kRing / 4;
    bpf_map__set_max_entries(skeleton_->maps.ended, kRing);
  }

  bool create_counts() {
    const uprobe_counts none{};
    for (uint32_t region = 0; region < options_.bytes.size(); ++region) {
      const uprobe_key key{.region = region, .unused = 0, .comm = {}};
      if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.counts), &key, &none, BPF_ANY) != 0) return false;
    }
    return true;
  }

  static core::Error load_error() {
    std::string text = bpf::take_message();
    return {text.empty() ? "the kernel rejected the BPF program" : std::move(text)};
  }

  const BackendOptions options_;
  bool multi_ = false;
  std::unique_ptr<uprobe_bpf, SkeletonDeleter> skeleton_;
  bpf::Link exits_, execs_;
  RunRing ring_;
};

}  // namespace

core::Result<std::unique_ptr<Backend>> open_bpf_backend(const BackendOptions &options) {
  if (const core::Status usable = bpf::check(); !usable) return core::Error{usable.error()};
  auto backend = std::make_unique<BpfBackend>(options);
  if (const core::Status opened = backend->open(); !opened) return core::Error{opened.error()};
  return std::unique_ptr<Backend>(std::move(backend));
}

}  // namespace atalaya::uprobe
