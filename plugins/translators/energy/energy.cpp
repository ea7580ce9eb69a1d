// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/energy/energy.h"
#include "plugins/shared/host/procfs/process_stat.h"

#include <algorithm>
#include <utility>

namespace atalaya::energy {
namespace {

std::optional<double> given_idle(const Host &host) {
  const auto value = host.find("idle");
  return value ? std::optional(value->number()) : std::nullopt;
}

}  // namespace

std::optional<int32_t> parse_processor(std::string_view stat) {
  const auto fields = procfs::ProcessStat::parse(stat, 39);
  if (!fields || !fields->has(39) || (*fields)[39] > 0xffff) return std::nullopt;
  return static_cast<int32_t>((*fields)[39]);
}

EnergyTranslator::EnergyTranslator(Host host, std::unique_ptr<power::Msr> msr)
    : host_(host),
      tree_(host.text("root")),
      cpu_watch_(tree_.root()),
      msr_(msr ? std::move(msr) : std::make_unique<power::DeviceMsr>(tree_)),
      rapl_(host.text("rapl")),
      weights_by_frequency_(host.boolean("frequency")),
      model_(power::model_of(host)),
      idle_(given_idle(host)),
      user_(host.intern("proc.cpu.user")),
      kernel_(host.intern("proc.cpu.kernel")),
      threads_(host.intern("proc.threads")),
      pid_(host.intern("pid")),
      process_(host.intern("process")),
      host_tag_(host.intern("host")),
      quality_(host.intern("quality")),
      energy_(host.intern("proc.cpu.energy")),
      packages_(host.intern("sys.energy.packages")),
      idle_name_(host.intern("sys.energy.idle")),
      processes_(host.intern("sys.energy.processes")),
      unattributed_(host.intern("sys.energy.unattributed")),
      busy_(tree_) {}

void EnergyTranslator::start() {
  if (const core::Status opened = tree_.open(); !opened) throw Failure(Code::bad_config, opened.error());
  cpu_watch_.start();
  const std::vector<procfs::Cpu> cpus = procfs::read_cpus(tree_);
  power::OpenedMeter opened = power::open_meter(rapl_, tree_, *msr_, cpus, power::Detail::packages);
  meter_ = std::move(opened.meter);
  if (!meter_ && !model_) host_.log(Level::info, "no energy of processes: " + opened.how + "; set \"model\" to estimate it");
  find_frequencies(cpus);
  modelled_to_ns_.reset();
}

void EnergyTranslator::find_frequencies(const std::vector<procfs::Cpu> &cpus) {
  frequencies_.clear();
  for (const procfs::Cpu &cpu : cpus) {
    const std::string file = "sys/devices/system/cpu/cpu" + std::to_string(cpu.number) + "/cpufreq/scaling_cur_freq";
    if (weights_by_frequency_ && tree_.number(file)) frequencies_.emplace(cpu.number, power::NumberFile(file));
  }
}

void EnergyTranslator::follow_cpus() {
  if (!cpu_watch_.changed()) return;
  const std::vector<procfs::Cpu> cpus = procfs::read_cpus(tree_);
  if (meter_) power::change_meter(*meter_, rapl_, tree_, *msr_, cpus, power::Detail::packages);
  find_frequencies(cpus);
}

void EnergyTranslator::stop() {
  if (meter_) meter_->stop();
}

Code EnergyTranslator::process(const Window &window, Batch &batch) {
  if ((!meter_ && !model_) || (window.flags & ATALAYA_WINDOW_LAST) != 0) return Code::ok;
  follow_cpus();
  if ((window.flags & ATALAYA_WINDOW_BASELINE) != 0) {
    if (meter_) meter_->forget();
    busy_.forget();
    modelled_to_ns_.reset();
  }
  const auto busy = busy_.take();
  const auto total = meter_ ? measure(window) : modelled(window, busy);
  if (total && busy) write(window, batch, *total, *busy);
  return Code::ok;
}

std::optional<EnergyTranslator::Total> EnergyTranslator::modelled(const Window &window, const std::optional<power::Busy> &busy) {
  const int64_t now_ns = window.monotonic_ns;
  const auto since_ns = std::exchange(modelled_to_ns_, now_ns);
  if (!busy || !since_ns || *since_ns >= now_ns) return std::nullopt;
  const double seconds = static_cast<double>(now_ns - *since_ns) / 1e9;
  return Total{model_->watts(busy->share) * seconds, seconds};
}

std::optional<EnergyTranslator::Total> EnergyTranslator::measure(const Window &window) {
  meter_->start_polling(window.interval_ns);
  const auto energy = meter_->take(host_.monotonic(), window.monotonic_ns);
  if (!meter_->stopped_zone().empty() && !std::exchange(stopped_logged_, true))
    host_.log(Level::warning,
              "the energy counter of " + meter_->stopped_zone() + " has stopped: no energy of processes until it counts again");
  Total total{0, 0};
  for (size_t i = 0; i < energy.size(); ++i) {
    if (meter_->zones()[i].domain != power::Domain::package) continue;
    if (!energy[i]) return std::nullopt;
    total = {total.joules + energy[i]->joules, energy[i]->seconds};
  }
  return total.seconds > 0 ? std::optional(total) : std::nullopt;
}

void EnergyTranslator::collect_users(const Batch &batch) {
  users_.clear();
  samples_.clear();
  mhz_.clear();
  const auto samples = batch.samples();
  for (size_t i = 0; i < samples.size(); ++i) {
    const Sample &sample = samples[i];
    if (const atalaya_tag *const host = find_tag(sample, host_tag_)) host_name_ = view(host->value);
    if (sample.kind != ATALAYA_METRICS || find_tag(sample, process_) == nullptr) continue;
    const atalaya_field *const user = find_field(sample, user_), *const kernel = find_field(sample, kernel_);
    if (user == nullptr && kernel == nullptr) continue;
    const double percent = (user != nullptr ? as_double(*user) : 0) + (kernel != nullptr ? as_double(*kernel) : 0);
    if (!(percent >= 0)) continue;
    users_.push_back({percent, percent > 0 ? frequency_of(sample) : std::nullopt});
    samples_.push_back(i);
  }
}

// The frequency of the CPU on which a process with one thread ran last; unknown for several threads, which use several CPUs.
std::optional<double> EnergyTranslator::frequency_of(const Sample &sample) {
  if (frequencies_.empty()) return std::nullopt;
  const atalaya_field *const threads = find_field(sample, threads_);
  const atalaya_tag *const pid = find_tag(sample, pid_);
  if (threads == nullptr || as_double(*threads) != 1 || pid == nullptr) return std::nullopt;
  uint64_t number = 0;
  if (!procfs::whole_number(view(pid->value), number)) return std::nullopt;
  const auto cpu = parse_processor(tree_.line("proc/" + std::to_string(number) + "/stat"));
  const auto file = cpu ? frequencies_.find(*cpu) : frequencies_.end();
  if (file == frequencies_.end()) return std::nullopt;
  const auto [known, added] = mhz_.try_emplace(*cpu);
  if (added)
    if (const auto khz = file->second.read(tree_); khz && *khz > 0) known->second = static_cast<double>(*khz) / 1000;
  return known->second;
}

void EnergyTranslator::write(const Window &window, Batch &batch, const Total &total, const power::Busy &busy) {
  collect_users(batch);
  const double watts = total.joules / total.seconds;
  const double idle_watts = meter_ ? idle_.watts_of(watts, busy.share) : std::min(model_->idle_watts, watts);
  const double idle = idle_watts * total.seconds;
  const Shares shares = divide(total.joules - idle, users_, busy.percent);
  if (!meter_) batch.reserve(users_.size() + 1);
  for (size_t i = 0; i < users_.size(); ++i) emit_user(batch, i, shares.users[i]);
  emit_host(window, batch, total, idle, shares.unattributed);
  host_.created(meter_ ? 1 : users_.size() + 1);
}

// Measured energy is added to the sample of the process; energy from the model is a separate sample, because the tag quality does
// not apply to the other fields.
void EnergyTranslator::emit_user(Batch &batch, size_t user, double energy) {
  const double value = round_to(energy, kJouleDecimals);
  if (meter_) return batch.field(batch.samples()[samples_[user]], energy_, value);
  const Sample of = batch.samples()[samples_[user]];
  Sample &sample = batch.add(ATALAYA_METRICS, of.tag_count + 1, 1);
  sample.time_ns = of.time_ns;
  sample.duration_ns = of.duration_ns;
  for (uint32_t i = 0; i < of.tag_count; ++i) batch.tag_shared(sample, of.tags[i].key, of.tags[i].value);
  batch.tag(sample, quality_, "model");
  batch.field(sample, energy_, value);
}

void EnergyTranslator::emit_host(const Window &window, Batch &batch, const Total &total, double idle, double unattributed) {
  Sample &sample = batch.add(ATALAYA_METRICS, 2, 4);
  sample.time_ns = window.time_ns;
  sample.duration_ns = window.duration_ns;
  if (!host_name_.empty()) batch.tag(sample, host_tag_, host_name_);
  if (!meter_) batch.tag(sample, quality_, "model");
  batch.field(sample, packages_, round_to(total.joules, kJouleDecimals));
  batch.field(sample, idle_name_, round_to(idle, kJouleDecimals));
  batch.field(sample, processes_, round_to(total.joules - idle - unattributed, kJouleDecimals));
  batch.field(sample, unattributed_, round_to(unattributed, kJouleDecimals));
}

}  // namespace atalaya::energy
