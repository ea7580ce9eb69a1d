// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/inventory/collector.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>
#include <utility>

#include "core/base/files.h"
#include "plugins/shared/host/procfs/files.h"
#include "plugins/sources/inventory/hardware.h"

namespace atalaya::inventory {
namespace {

constexpr size_t kMaxState = size_t{64} << 20;

// Replaces the file atomically. Returns 0 or an error number.
int replace(const std::string &path, std::string_view text) {
  const std::string fresh = path + ".new";
  const core::Descriptor file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return errno;
  if (const int error = core::write_all(file.get(), text); error != 0) return error;
  if (::fsync(file.get()) != 0) return errno;
  return std::rename(fresh.c_str(), path.c_str()) == 0 ? 0 : errno;
}

}  // namespace

Collector::Collector(Host host, Options options)
    : host_(host),
      options_(std::move(options)),
      fact_(host.intern("fact")),
      value_(host.intern("value")),
      number_(host.intern(view(kNumber.name))),
      emitter_(host),
      tree_(options_.root) {}

void Collector::start() {
  if (const core::Status opened = tree_.open(); !opened) throw Failure(Code::bad_config, opened.error());
  warnings_.clear();
  all_emitted_ns_.reset();
  load();
}

void Collector::load() {
  history_ = {};
  is_first_run_ = true;
  const auto folder = host_.state_dir();
  file_ = folder ? *folder + "/facts" : std::string();
  if (file_.empty() || ::access(file_.c_str(), F_OK) != 0) return;
  auto text = core::read_file(file_, kMaxState);
  is_first_run_ = !text || !history_.read(*text);
  if (is_first_run_)
    warn_once((text ? file_ + " is damaged" : "cannot read " + file_ + ": " + text.error()) +
              "; the start times of facts are lost, all facts begin now");
}

// Called before the facts are emitted, so that after a crash the changes of the last collection are emitted again.
void Collector::save() {
  if (file_.empty()) return;
  if (const int error = replace(file_, history_.text()); error != 0)
    warn_once("cannot write " + file_ + ": " + core::error_text(error) + "; after a restart all facts begin again");
}

Facts Collector::read() {
  Facts facts;
  read_machine(tree_, facts);
  read_system(tree_, facts);
  read_processors(tree_, facts);
  read_memory(tree_, facts);
  read_disks(tree_, facts);
  read_interfaces(tree_, facts);
  read_jdks(tree_, options_.jdks, facts);
  read_configurations(
      tree_, options_.configurations, [this](const std::string &text) { warn_once(text); }, facts);
  if (facts.full()) warn_once("more than " + std::to_string(kMaxFacts) + " facts: the rest is not reported; choose fewer keys");
  return facts;
}

void Collector::collect(const Window &window, Batch &batch) {
  std::vector<Record> records = history_.update(read(), window.time_ns);
  const size_t changes = records.size();
  if (changes > 0) save();
  const bool all = !all_emitted_ns_ || window.monotonic_ns - *all_emitted_ns_ >= options_.repeat_ns;
  if (all) {
    emit(batch, history_.ended());
    records = history_.open();
    all_emitted_ns_ = window.monotonic_ns;
  }
  emit(batch, records);
  emit_metrics(batch, is_first_run_ ? std::nullopt : std::optional(changes));
  is_first_run_ = false;
}

void Collector::emit(Batch &batch, std::span<const Record> records) const {
  for (const Record &record : records) {
    Sample &sample = batch.add(ATALAYA_SPAN, 2, 1);
    sample.time_ns = record.start_ns;
    sample.duration_ns = record.duration_ns;
    sample.text = batch.copy("fact");
    batch.tag(sample, fact_, record.name);
    batch.tag(sample, value_, record.value);
    uint64_t number = 0;
    if (procfs::whole_number(record.value, number) && number <= INT64_MAX)
      batch.field(sample, number_, static_cast<int64_t>(number));
  }
}

void Collector::emit_metrics(Batch &batch, std::optional<size_t> changes) const {
  Values values;
  values.set_count("inventory.facts", history_.size());
  values.set_count("inventory.changes", changes);
  emitter_.emit(batch, values, {});
}

// Logs each text once.
void Collector::warn_once(const std::string &text) {
  if (warnings_.size() < kMaxFacts && warnings_.insert(text).second) host_.log(Level::warning, text);
}

}  // namespace atalaya::inventory
