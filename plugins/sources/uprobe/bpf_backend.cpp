// SPDX-License-Identifier: Apache-2.0
// The backend: bpf/uprobe.bpf.c in the kernel.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "bpf/uprobe.h"
#include "core/util/files.h"
#include "plugins/bpf/loading.h"
#include "plugins/sources/uprobe/backend.h"
#include "plugins/sources/uprobe/run_ring.h"
#include "uprobe.skel.h"

namespace atalaya::uprobe {
namespace {

constexpr uint32_t kRing = 1 << 20;

struct SkeletonDeleter {
  void operator()(uprobe_bpf *skeleton) const { uprobe_bpf__destroy(skeleton); }
};

class Links final : public Attachment {
 public:
  Links(bpf::Link enter, bpf::Link leave) : leave_(std::move(leave)), enter_(std::move(enter)) {}

 private:
  bpf::Link leave_, enter_;  // the begin goes first: without its end it would be taken for one without
};

class BpfBackend final : public Backend {
 public:
  explicit BpfBackend(const BackendOptions &options) : options_(options), ring_(options.max_kept) {}

  // An empty text when it works.
  std::string open() {
    bpf::listen();
    bpf::take_words();
    skeleton_.reset(uprobe_bpf__open());
    if (!skeleton_) return words();
    set_options();
    const int error = uprobe_bpf__load(skeleton_.get());
    ::malloc_trim(0);  // the kernel's type information took several MiB
    if (error != 0) return words() + "; regions take Linux 5.15 or later";
    if (!put_counts() || !ring_.open(bpf_map__fd(skeleton_->maps.ended))) return "no room for the regions in the kernel";
    exits_.reset(bpf_program__attach_trace(skeleton_->progs.thread_exits));
    execs_.reset(bpf_program__attach_trace(skeleton_->progs.thread_execs));
    return exits_ && execs_ ? std::string() : words();
  }

  // The end is there first, for the same reason.
  core::Result<std::unique_ptr<Attachment>> attach(uint32_t region, int file, const Points &points) override {
    const std::string path = "/proc/self/fd/" + std::to_string(file);  // this very file, whatever has the name by now
    const bool by_return = !points.leave;
    bpf::take_words();
    bpf::Link leave = link(by_return ? skeleton_->progs.returns : skeleton_->progs.leaves, region, path,
                           by_return ? points.enter : *points.leave, by_return);
    const int leave_error = errno;
    if (!leave) return core::Error{refusal(leave_error)};
    bpf::Link enter = link(skeleton_->progs.enters, region, path, points.enter, false);
    const int enter_error = errno;
    if (!enter) return core::Error{refusal(enter_error)};
    return std::unique_ptr<Attachment>(std::make_unique<Links>(std::move(enter), std::move(leave)));
  }

  std::vector<uint64_t> take(const std::function<void(const uprobe_run &)> &take) override { return ring_.take(take); }

  // Nothing is ever deleted, so that a walk meets each once, or, while names are added, those that it met before.
  void read(const std::function<void(const uprobe_who &, const uprobe_counts &)> &take) override {
    const int map = bpf_map__fd(skeleton_->maps.counts);
    uprobe_who who{}, next{};
    for (bool first = true; bpf_map_get_next_key(map, first ? nullptr : &who, &next) == 0; first = false) {
      uprobe_counts counts{};
      if (bpf_map_lookup_elem(map, &next, &counts) == 0) take(next, counts);
      who = next;
    }
  }

  void ignore(const char (&comm)[UPROBE_COMM]) override {
    const uint8_t one = 1;
    bpf_map_update_elem(bpf_map__fd(skeleton_->maps.unwanted), comm, &one, BPF_ANY);
  }

 private:
  void set_options() {
    auto &settings = *skeleton_->rodata;
    settings.regions = static_cast<uint32_t>(options_.bytes.size());
    for (size_t i = 0; i < options_.bytes.size(); ++i) settings.bytes_of[i] = options_.bytes[i];
    settings.by_name = options_.by_name ? 1 : 0;
    settings.min_ns = options_.min_ns;
    settings.max_told = options_.max_told;
    settings.wake_at = kRing / 4;
    bpf_map__set_max_entries(skeleton_->maps.ended, kRing);
  }

  bool put_counts() {
    const uprobe_counts none{};
    for (uint32_t region = 0; region < options_.bytes.size(); ++region) {
      const uprobe_who who{.region = region, .unused = 0, .comm = {}};
      if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.counts), &who, &none, BPF_ANY) != 0) return false;
    }
    return true;
  }

  // Null: errno says why.
  static bpf::Link link(const bpf_program *program, uint32_t region, const std::string &path, uint64_t offset, bool returns) {
    bpf_uprobe_opts options{};
    options.sz = sizeof(options);
    options.bpf_cookie = region;
    options.retprobe = returns;
    return bpf::Link(bpf_program__attach_uprobe_opts(program, -1, path.c_str(), offset, &options));
  }

  static std::string refusal(int error) {
    std::string text = "the kernel does not take the probe: " + core::error_text(error);
    if (error == EPERM || error == EACCES) text += "; run as root or add CAP_PERFMON";
    if (error == ENOTSUP || error == EINVAL || error == ENOSYS)
      text += "; the instruction there is none that it can step over, or it has no uprobes (CONFIG_UPROBE_EVENTS)";
    return text;
  }

  static std::string words() {
    std::string text = bpf::take_words();
    return text.empty() ? "the kernel refused the program" : text;
  }

  const BackendOptions options_;
  std::unique_ptr<uprobe_bpf, SkeletonDeleter> skeleton_;
  bpf::Link exits_, execs_;
  RunRing ring_;
};

}  // namespace

core::Result<std::unique_ptr<Backend>> open_bpf_backend(const BackendOptions &options) {
  if (std::string reason = bpf::obstacle(); !reason.empty()) return core::Error{std::move(reason)};
  auto backend = std::make_unique<BpfBackend>(options);
  if (std::string reason = backend->open(); !reason.empty()) return core::Error{std::move(reason)};
  return std::unique_ptr<Backend>(std::move(backend));
}

}  // namespace atalaya::uprobe
