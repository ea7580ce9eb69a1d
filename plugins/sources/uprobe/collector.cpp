// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/uprobe/collector.h"

#include <array>
#include <charconv>
#include <utility>

#include "core/base/now.h"
#include "plugins/shared/code/probes/clock.h"

namespace atalaya::uprobe {
namespace {

std::vector<uint8_t> bytes_of(const std::vector<probes::Region> &regions) {
  std::vector<uint8_t> bytes;
  bytes.reserve(regions.size());
  for (const probes::Region &region : regions) bytes.push_back(region.bytes);
  return bytes;
}

}  // namespace

Collector::Names::Names(Host host)
    : name(host.intern("name")),
      process(host.intern("process")),
      pid(host.intern("pid")),
      job(host.intern("job")),
      bytes(host.intern("span.bytes")),
      calls(host.intern("region.calls")),
      time(host.intern("region.time")),
      brief(host.intern("region.short")),
      dropped(host.intern("region.dropped")),
      nested(host.intern("region.nested")),
      orphans(host.intern("region.orphans")),
      missed(host.intern("region.missed")),
      attached(host.intern("region.attached")) {}

Collector::Collector(Host host, Options options) : host_(host), options_(std::move(options)), names_(host) {}

void Collector::start() {
  stop();
  tally_.emplace(options_.regions.size(), options_.processes);
  auto backend = open_bpf_backend({.bytes = bytes_of(options_.regions),
                                   .by_return = probes::by_return(options_.regions),
                                   .wants = wants(),
                                   .min_ns = options_.min_ns,
                                   .max_events = options_.max_events});
  if (!backend) throw Failure(Code::unsupported, "cannot trace code regions: " + backend.error());
  backend_ = std::move(*backend);
  binaries_.emplace(
      options_.regions,
      [this](uint32_t region, int file, const probes::Points &points) { return backend_->attach(region, file, points); },
      [host = host_](bool problem, std::string_view text) { host.log(problem ? Level::warning : Level::info, text); });
  binaries_->update(core::monotonic());
  if (const std::string reason = binaries_->fatal_error(); !reason.empty()) {
    stop();  // also detaches the hooks on each exit and exec of the host
    throw Failure(Code::unsupported, reason);
  }
}

std::function<bool(std::string_view)> Collector::wants() const {
  if (options_.processes.empty()) return {};
  return [&processes = options_.processes](std::string_view name) { return processes.matches(name); };
}

void Collector::stop() {
  binaries_.reset();
  backend_.reset();
}

// The kernel counts from the start: earlier counts are reported with the first window.
void Collector::collect(const Window &window, Batch &batch) {
  if ((window.flags & ATALAYA_WINDOW_BASELINE) != 0) return;
  tally_->begin_window();
  read_counts();
  collect_runs(batch);  // after the counts, so that every counted run is already in the ring
  binaries_->update(core::monotonic());
  emit_costs(batch);
}

void Collector::collect_runs(Batch &batch) {
  const int64_t offset = probes::realtime_offset();
  const std::vector<uint64_t> lost = backend_->take([&](const uprobe_run &run) {
    if (run.region < options_.regions.size()) emit(run, offset, batch);
  });
  for (size_t region = 0; region < lost.size(); ++region) tally_->add_lost(region, lost[region]);
}

void Collector::emit(const uprobe_run &run, int64_t realtime_offset_ns, Batch &batch) {
  const uint64_t begin_ns = tally_->start_of(run);
  std::array<char, 12> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), run.pid).ptr;
  Sample &sample = batch.add(ATALAYA_SPAN, 4, 1);
  sample.time_ns = static_cast<int64_t>(begin_ns) + realtime_offset_ns;
  sample.duration_ns = run.end_ns > begin_ns ? static_cast<int64_t>(run.end_ns - begin_ns) : 0;
  sample.text = batch.copy("region");
  batch.tag(sample, names_.name, options_.regions[run.region].name);
  batch.tag(sample, names_.process, text_of(run.comm));
  batch.tag(sample, names_.pid, {digits.data(), static_cast<size_t>(end - digits.data())});
  if (!options_.job.empty()) batch.tag(sample, names_.job, options_.job);
  if (run.bytes >= 0) batch.field(sample, names_.bytes, int64_t{run.bytes});
}

void Collector::read_counts() {
  backend_->read([this](const uprobe_key &key, const uprobe_counts &counts) { return tally_->add(key, counts); });
}

void Collector::emit_costs(Batch &batch) {
  for (size_t i = 0; i < options_.regions.size(); ++i) {
    const Cost &cost = tally_->cost(i);
    Sample &sample = batch.add(ATALAYA_METRICS, 2, 8);
    batch.tag(sample, names_.name, options_.regions[i].name);
    if (!options_.job.empty()) batch.tag(sample, names_.job, options_.job);
    batch.field(sample, names_.calls, cost.runs);
    batch.field(sample, names_.time, cost.time_ns);
    batch.field(sample, names_.brief, cost.brief);
    batch.field(sample, names_.dropped, cost.dropped);
    batch.field(sample, names_.nested, cost.nested);
    batch.field(sample, names_.orphans, cost.orphans);
    batch.field(sample, names_.missed, cost.missed);
    batch.field(sample, names_.attached, int64_t{binaries_->attached(i) ? 1 : 0});
  }
}

}  // namespace atalaya::uprobe
