// SPDX-License-Identifier: Apache-2.0
// The backend "bpf": bpf/net.bpf.c in the kernel.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atalaya/plugin.hpp>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "bpf/net.h"
#include "core/base/files.h"
#include "net.skel.h"
#include "plugins/shared/host/bpf/loading.h"
#include "plugins/shared/host/cgroup/cgroup_paths.h"
#include "plugins/sources/net/backend.h"
#include "plugins/sources/net/record_ring.h"
#include "plugins/sources/net/records.h"

namespace atalaya::net {
namespace {

// The kernel's buffer of an iterator holds 8 pages; a read returns its contents, whole records.
constexpr size_t kBuffer = size_t{64} << 10;
constexpr uint32_t kUsesAtOnce = 256;

struct SkeletonDeleter {
  void operator()(net_bpf *skeleton) const { net_bpf__destroy(skeleton); }
};
using Skeleton = std::unique_ptr<net_bpf, SkeletonDeleter>;

// The sizes of rings are powers of two, and multiples of a page.
uint32_t ring_size(size_t wanted) {
  return static_cast<uint32_t>(std::clamp<size_t>(std::bit_ceil(wanted), size_t{64} << 10, size_t{1} << 30));
}

class BpfBackend final : public Backend {
 public:
  explicit BpfBackend(const BackendOptions &options)
      : options_(options), calls_(options.udp || options.tcp_by_call), ring_(options.max_uses, options.merge_ports) {}

  // Older kernels (before 6.3) refuse to count calls, and the peers of calls require a capability and a cgroup of version 2: then
  // they are omitted.
  core::Status open() {
    bpf::capture_messages();
    bpf::take_message();
    peers_ = options_.udp;
    core::Status loaded = load();
    if (!loaded && peers_) {
      limitation_ = "the peers of unconnected UDP sockets are unknown: " + loaded.error();
      peers_ = false;
      loaded = load();
    }
    if (!loaded && calls_) {
      limitation_ = "no UDP metrics, because the kernel does not allow counting calls: " + loaded.error();
      calls_ = false;
      loaded = load();
    }
    ::malloc_trim(0);  // the kernel's type information took several MiB
    return loaded;
  }

  void walk(bool complete, const Callback &take) override {
    ++skeleton_->bss->pass;
    skeleton_->bss->whole = complete ? 1 : 0;
    const core::Descriptor pass(bpf_iter_create(bpf_link__fd(iterator_.get())));
    if (!pass) fail(errno);
    size_t kept = 0;
    for (;;) {
      const ssize_t size = ::read(pass.get(), buffer_.data() + kept, buffer_.size() - kept);
      if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (size < 0) fail(errno);
      if (size == 0) return;
      const size_t filled = kept + static_cast<size_t>(size);
      const size_t taken = parse_records(std::span(buffer_).first(filled), take);
      kept = filled - taken;
      std::memmove(buffer_.data(), buffer_.data() + taken, kept);
    }
  }

  void report_ends(const Callback &take, const OnBrief &on_brief) override { ring_.take(take, on_brief); }

  void report_uses(const UseCallback &take) override {
    if (!calls_) return;
    if (options_.every_call) return ring_.report_uses(take);
    report_uses_of(bpf_map__fd(skeleton_->maps.uses), take);
    report_uses_of(bpf_map__fd(skeleton_->maps.peer_uses), take);
  }

  Lost lost() const override {
    const auto &counted = *skeleton_->bss;
    return {counted.lost_records + ring_.lost() + missed(skeleton_->progs.state_changes),
            counted.lost_calls + missed(skeleton_->progs.socket_sends) + missed(skeleton_->progs.socket_receives)};
  }
  bool sees_ends() const override { return true; }
  bool counts_calls() const override { return calls_; }
  std::string_view limitation() const override { return limitation_; }

 private:
  void report_uses_of(int map, const UseCallback &take) {
    keys_.resize(kUsesAtOnce);
    uses_.resize(kUsesAtOnce);
    done_.clear();
    uint32_t at = 0;
    for (bool more = true, first = true; more; first = false) {
      uint32_t count = kUsesAtOnce;
      bpf_map_batch_opts batch{};
      batch.sz = sizeof(batch);
      const int error = bpf_map_lookup_batch(map, first ? nullptr : &at, &at, keys_.data(), uses_.data(), &count, &batch);
      if (error != 0 && error != -ENOENT) break;  // the rest follows next time: amounts are since the first call
      more = error == 0;
      for (uint32_t i = 0; i < count; ++i)
        if (take(keys_[i], uses_[i], false)) done_.emplace_back(keys_[i], uses_[i]);
    }
    for (const auto &[key, use] : done_) forget(map, key, use, take);
  }

  // The kernel does not run a program within itself on the same processor.
  static uint64_t missed(const bpf_program *program) {
    bpf_prog_info info{};
    uint32_t size = sizeof(info);
    const int fd = bpf_program__fd(program);
    return fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 ? info.recursion_misses : 0;
  }

  // A failed walk loses nothing: the program marks only written records as reported, so the next walk reports the rest.
  [[noreturn]] static void fail(int error) {
    throw Failure(Code::retry, "cannot read the kernel's list of sockets: " + core::error_text(error));
  }

  // Calls after the reading may have changed the entry, so reports its final amounts; a missing entry has those of the reading.
  static void forget(int map, const net_use_key &key, const net_use &read, const UseCallback &take) {
    net_use last{};
    const int error = bpf_map_lookup_and_delete_elem(map, &key, &last);
    if (error == 0 || error == -ENOENT) take(key, error == 0 ? last : read, true);
  }

  core::Status load() {
    for (bpf::Link *link : {&iterator_, &changes_, &sends_, &receives_}) link->reset();  // of an earlier attempt
    for (bpf::Link &link : names_) link.reset();
    Skeleton skeleton(net_bpf__open());
    if (!skeleton) return load_error();
    auto &settings = *skeleton->rodata;
    settings.calls_of_tcp = options_.tcp_by_call ? 1 : 0;
    settings.calls_of_udp = options_.udp ? 1 : 0;
    settings.calls_of_unix = options_.tcp_by_call ? 1 : 0;
    settings.every_call = options_.every_call ? 1 : 0;
    settings.peers_of_calls = peers_ ? 1 : 0;
    settings.merge_ports = options_.merge_ports ? 1 : 0;
    settings.own_pid = ::getpid();
    const uint32_t size = ring_size(options_.buffer);
    settings.wake_at = size / 4;
    bpf_map__set_max_entries(skeleton->maps.records, size);
    for (bpf_map *map : {skeleton->maps.uses, skeleton->maps.peer_uses})
      bpf_map__set_max_entries(map, static_cast<uint32_t>(options_.max_uses));
    bpf_program__set_autoload(skeleton->progs.socket_sends, calls_);
    bpf_program__set_autoload(skeleton->progs.socket_receives, calls_);
    for (bpf_program *program : naming(skeleton.get())) bpf_program__set_autoload(program, peers_);
    if (net_bpf__load(skeleton.get()) != 0) return load_error();
    skeleton_ = std::move(skeleton);
    return attach();
  }

  // Attaches the hooks before the first walk, so that connections that start in between are known from their start.
  core::Status attach() {
    changes_.reset(bpf_program__attach_trace(skeleton_->progs.state_changes));
    if (!changes_) return load_error();
    if (const core::Status named = attach_peers(); !named) return named;
    if (calls_) {
      sends_.reset(bpf_program__attach_trace(skeleton_->progs.socket_sends));
      receives_.reset(bpf_program__attach_trace(skeleton_->progs.socket_receives));
      if (!sends_ || !receives_) return load_error();
    }
    iterator_.reset(bpf_program__attach_iter(skeleton_->progs.every_socket, nullptr));
    if (!iterator_ || !ring_.open(bpf_map__fd(skeleton_->maps.records))) return load_error();
    return core::Done{};
  }

  static std::array<bpf_program *, 4> naming(const net_bpf *skeleton) {
    const auto &programs = skeleton->progs;
    return {programs.names_receiver4, programs.names_receiver6, programs.names_sender4, programs.names_sender6};
  }

  // Call it before the counting programs are attached.
  core::Status attach_peers() {
    if (!peers_) return core::Done{};
    const core::Descriptor root = cgroup::open_cgroup_v2("/");
    if (!root) return core::Error{"cgroups of version 2 are not mounted here"};
    const auto programs = naming(skeleton_.get());
    for (size_t i = 0; i < programs.size(); ++i) {
      names_[i].reset(bpf_program__attach_cgroup(programs[i], root.get()));
      if (!names_[i]) return load_error();
    }
    return core::Done{};
  }

  static core::Error load_error() {
    std::string text = bpf::take_message();
    return {text.empty() ? "the kernel refused the program" : std::move(text)};
  }

  BackendOptions options_;
  bool calls_;
  bool peers_ = false;  // of calls
  Skeleton skeleton_;
  bpf::Link iterator_, changes_, sends_, receives_;
  std::array<bpf::Link, 4> names_;
  RecordRing ring_;
  std::string limitation_;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(kBuffer);
  std::vector<net_use_key> keys_;
  std::vector<net_use> uses_;
  std::vector<std::pair<net_use_key, net_use>> done_;
};

}  // namespace

core::Result<std::unique_ptr<Backend>> open_bpf_backend(const BackendOptions &options) {
  if (const core::Status usable = bpf::check(); !usable) return core::Error{usable.error()};
  auto backend = std::make_unique<BpfBackend>(options);
  if (const core::Status opened = backend->open(); !opened) return core::Error{opened.error()};
  return std::unique_ptr<Backend>(std::move(backend));
}

}  // namespace atalaya::net
