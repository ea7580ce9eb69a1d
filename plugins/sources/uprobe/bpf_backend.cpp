// SPDX-License-Identifier: Apache-2.0
// The backend: bpf/uprobe.bpf.c in the kernel.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <malloc.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "bpf/uprobe.h"
#include "core/base/files.h"
#include "plugins/shared/bpf/loading.h"
#include "plugins/sources/uprobe/backend.h"
#include "plugins/sources/uprobe/run_ring.h"
#include "uprobe.skel.h"

namespace atalaya::uprobe {
namespace {

constexpr uint32_t kRing = 1 << 20;

struct SkeletonDeleter {
  void operator()(uprobe_bpf *skeleton) const { uprobe_bpf__destroy(skeleton); }
};

// Since 6.6 (89ae89f53d20) the kernel has multi-uprobe links, which require CAP_BPF and CAP_PERFMON. Before, uprobes are perf
// events, which require CAP_SYS_ADMIN. Debian 12's headers and libbpf lack the former.
constexpr auto kTraceUprobeMulti = static_cast<bpf_attach_type>(48);
constexpr uint32_t kReturn = 1;  // BPF_F_UPROBE_MULTI_RETURN

struct MultiLink {  // as in bpf_attr
  uint32_t program, target, type, flags;
  uint64_t path, offsets, counters, cookies;
  uint32_t count, of_probes, pid, unused;
};
static_assert(sizeof(MultiLink) == 64);

// Invalid on error, with errno set.
core::Descriptor create_multi(const bpf_program *program, uint32_t region, const char *path, uint64_t offset, bool returns) {
  const uint64_t cookie = region;
  MultiLink link{};
  link.program = static_cast<uint32_t>(bpf_program__fd(program));
  link.type = kTraceUprobeMulti;
  link.path = reinterpret_cast<uint64_t>(path);
  link.offsets = reinterpret_cast<uint64_t>(&offset);
  link.cookies = reinterpret_cast<uint64_t>(&cookie);
  link.count = 1;
  link.of_probes = returns ? kReturn : 0;
  return core::Descriptor(static_cast<int>(::syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof(link))));
}

struct Probe {  // one of the two
  core::Descriptor multi;
  bpf::Link event;
  explicit operator bool() const { return multi || event; }
};

class Probes final : public Attachment {
 public:
  Probes(Probe enter, Probe leave) : leave_(std::move(leave)), enter_(std::move(enter)) {}

 private:
  Probe leave_, enter_;  // destroyed in reverse order: a begin without its end would count as an orphan
};

class BpfBackend final : public Backend {
 public:
  explicit BpfBackend(const BackendOptions &options) : options_(options), ring_(options.max_kept, options.wants) {}

  core::Status open() {
    bpf::capture_messages();
    bpf::take_message();
    core::Status loaded = load(true);
    if (loaded && !supports_multi()) loaded = load(false);
    ::malloc_trim(0);  // the kernel's type information took several MiB
    if (!loaded) return core::Error{loaded.error() + "; code regions require Linux 5.15 or later"};
    if (!create_counts() || !ring_.open(bpf_map__fd(skeleton_->maps.ended)))
      return core::Error{"cannot create the counters of the regions in the kernel"};
    exits_.reset(bpf_program__attach_trace(skeleton_->progs.thread_exits));
    execs_.reset(bpf_program__attach_trace(skeleton_->progs.thread_execs));
    if (!exits_ || !execs_) return load_error();
    return core::Done{};
  }

  // Attaches the end first, for the same reason.
  core::Result<std::unique_ptr<Attachment>> attach(uint32_t region, int file, const Points &points) override {
    const std::string path = "/proc/self/fd/" + std::to_string(file);  // this file, even if its name now belongs to another one
    const bool by_return = !points.leave;
    bpf::take_message();
    Probe leave = probe(by_return ? skeleton_->progs.returns : skeleton_->progs.leaves, region, path,
                        by_return ? points.enter : *points.leave, by_return);
    if (!leave) return core::Error{refusal(errno)};
    Probe enter = probe(skeleton_->progs.enters, region, path, points.enter, false);
    if (!enter) return core::Error{refusal(errno)};
    return std::unique_ptr<Attachment>(std::make_unique<Probes>(std::move(enter), std::move(leave)));
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
    if (multi)
      for (bpf_program *program : {skeleton_->progs.enters, skeleton_->progs.leaves, skeleton_->progs.returns})
        bpf_program__set_expected_attach_type(program, kTraceUprobeMulti);
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

  // A kernel with these links rejects a directory with EBADF; other kernels reject the request itself.
  bool supports_multi() const {
    const core::Descriptor none = create_multi(skeleton_->progs.enters, 0, "/", 0, false);
    return !none && errno == EBADF;
  }

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

  // Empty on error, with errno set.
  Probe probe(const bpf_program *program, uint32_t region, const std::string &path, uint64_t offset, bool returns) const {
    if (multi_) return {create_multi(program, region, path.c_str(), offset, returns), nullptr};
    bpf_uprobe_opts options{};
    options.sz = sizeof(options);
    options.bpf_cookie = region;
    options.retprobe = returns;
    return {core::Descriptor(), bpf::Link(bpf_program__attach_uprobe_opts(program, -1, path.c_str(), offset, &options))};
  }

  std::string refusal(int error) const {
    std::string text = "the kernel rejected the probe: " + core::error_text(error);
    if (error == EPERM || error == EACCES)
      text += multi_ ? "; run as root or grant CAP_BPF and CAP_PERFMON" : "; before Linux 6.6, run as root or grant CAP_SYS_ADMIN";
    if (error == ENOTSUP || error == EINVAL || error == ENOSYS)
      text += "; it cannot single-step the instruction there, or has no uprobes (CONFIG_UPROBE_EVENTS)";
    return text;
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
