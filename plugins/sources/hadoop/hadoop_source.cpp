// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/hadoop/hadoop_source.h"

#include <glob.h>

#include <algorithm>
#include <chrono>

#include "core/util/now.h"
#include "plugins/hadoop_config/config.h"
#include "plugins/patterns.h"
#include "plugins/sources/hadoop/discovery.h"

namespace atalaya::hadoop {
namespace {

using core::monotonic;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kDay = 86'400 * kSecond;
constexpr int64_t kKept = 90 * kDay;          // positions of histories whose files nobody has seen since
constexpr uint64_t kAttempts = 5;             // that a path gets whose spans a sink refuses
constexpr int64_t kFirstPause = 5 * kSecond;  // before the second one; doubled each time
constexpr int64_t kStillWritten = 60'000;     // ms: a file that changed later may lack its end
constexpr int64_t kStillRunning =
    3'600'000;  // ms: what changed later is kept in memory, to be read on; the rest is begun anew if it changes
constexpr int64_t kShareOfTime = 20;  // looking through takes no more than a twentieth of the time
constexpr auto kLastAnswers = std::chrono::seconds(2);

Topology::Names names_of(const Host &host, const char *path) {
  Topology::Names out;
  for (uint64_t i = 0; auto child = host.child(path, i); ++i) out.emplace(child->key(), child->text());
  return out;
}

// "/dc1/r1": parts behind slashes.
bool is_rack(const std::string &text) {
  return text.size() > 1 && text.starts_with('/') && !text.ends_with('/') && text.find("//") == std::string::npos;
}

Topology topology_of(const Host &host) {
  Topology::Names racks = names_of(host, "racks");
  const auto wrong = std::find_if(racks.begin(), racks.end(), [](const auto &one) { return !is_rack(one.second); });
  if (wrong != racks.end())
    throw Failure(Code::bad_config, "parameter \"racks." + wrong->first + "\": \"" + wrong->second +
                                        "\" is no rack; write \"/rack\" or \"/datacentre/rack\"");
  return Topology(std::move(racks), names_of(host, "hosts"));
}

WebHdfsOptions webhdfs_of(const Host &host) {
  WebHdfsOptions options;
  const auto text = [&](const char *path) {
    const auto value = host.find(path);
    return value ? std::string(value->text()) : std::string();
  };
  options.user = text("user");
  options.tls = {text("tls.ca"), text("tls.certificate"), text("tls.key")};
  options.timeout = std::chrono::nanoseconds(host.integer("timeout"));
  return options;
}

std::vector<std::string> globbed(const std::string &pattern) {
  if (is_webhdfs(pattern) || pattern.find_first_of("*?[") == std::string::npos) return {pattern};
  glob_t found{};
  std::vector<std::string> out;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) out.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return out;
}

}  // namespace

HadoopSource::HadoopSource(Host host)
    : host_(host),
      path_(host.text("path")),
      root_(host.text("root")),
      follow_(host.boolean("follow")),
      every_ns_(host.integer("look_every")),
      max_age_ns_(host.find("max_age") ? host.integer("max_age") : 0),
      rules_{topology_of(host), {read_patterns(host, "facts")}},
      webhdfs_(webhdfs_of(host)),
      writer_(host, static_cast<size_t>(host.integer("max_names"))) {
  if (is_webhdfs(path_)) make_webhdfs(path_, webhdfs_);  // what is wrong with the address is said now
}

void HadoopSource::start() {
  if (const auto folder = host_.state_dir()) {
    try {
      positions_ = std::make_unique<Positions>(*folder + "/positions.db");
      marks_ = positions_->files();
    } catch (const store::Error &error) {
      throw Failure(error.cause() == store::Cause::config ? Code::bad_config : Code::retry, error.what());
    }
  }
  const std::lock_guard lock(mutex_);
  stopping_ = false;
}

bool HadoopSource::stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

Code HadoopSource::run() {
  for (;;) {
    const int64_t begun = monotonic();
    if (!look_through()) return Code::ok;
    const int64_t now = monotonic();
    if (follow_) {
      if (!wait_until(std::max(begun + every_ns_, now + kShareOfTime * (now - begun)))) return Code::ok;
      continue;
    }
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] {
        return stopping_ || std::all_of(flights_.begin(), flights_.end(), [](const Flight &one) { return one.settled; });
      });
      if (stopping_) return Code::ok;
    }
    settle();
    if (troubles_.empty()) return Code::end;
    int64_t next = INT64_MAX;
    for (const auto &[path, trouble] : troubles_) next = std::min(next, trouble.again_at);
    if (!wait_until(next)) return Code::ok;
  }
}

// Notes what the sinks take meanwhile. False: stopping.
bool HadoopSource::wait_until(int64_t deadline) {
  for (;;) {
    settle();
    std::unique_lock lock(mutex_);
    if (stopping_) return false;
    if (!flights_.empty() && flights_.front().settled) continue;
    if (wake_.wait_until(lock, core::at(deadline)) == std::cv_status::timeout) return !stopping_;
  }
}

std::vector<std::string> HadoopSource::paths() {
  if (path_ != "auto") return globbed(path_);
  if (discovered_.empty()) {
    const Discovery found = discover(root_);
    for (const std::string &problem : found.problems) host_.log(Level::warning, "path = \"auto\": " + problem);
    if (found.paths.empty())
      host_.log(Level::warning,
                "path = \"auto\": no configuration of Hadoop or Spark says where histories are; set HADOOP_CONF_DIR or "
                "SPARK_CONF_DIR for the agent, or write the folder as path");
    for (const std::string &path : found.paths) host_.log(Level::info, "path = \"auto\": histories are in " + path);
    discovered_ = found.paths;
  }
  return discovered_;
}

Storage &HadoopSource::storage_of(const std::string &path) {
  const std::string server = is_webhdfs(path) ? path.substr(0, path.find('/', path.find("://") + 3)) : "";
  std::unique_ptr<Storage> &storage = storages_[server];
  if (!storage) storage = server.empty() ? make_local_storage() : make_webhdfs(server, webhdfs_);
  return *storage;
}

void HadoopSource::add_found(const std::string &path, std::vector<Found> &out, bool &complete) {
  try {
    Finding finding = find_histories(storage_of(path), path);
    for (const std::string &problem : finding.problems) host_.log(Level::warning, problem);
    complete = complete && finding.problems.empty();
    std::move(finding.found.begin(), finding.found.end(), std::back_inserter(out));
  } catch (const std::runtime_error &problem) {
    complete = false;
    host_.log(Level::warning, problem.what());
  }
}

// False: stopping.
bool HadoopSource::look_through() {
  std::vector<Found> found;
  bool complete = true;
  for (const std::string &path : paths()) add_found(path, found, complete);
  for (const Found &one : found) {
    if (stopping()) return false;
    settle();
    try {
      if (!read_one(one)) return false;
    } catch (const Missing &) {
      readings_.erase(one.path);  // moved: it will be found where it is now
    } catch (const Unreadable &problem) {
      host_.log(Level::warning, problem.what());
    }
  }
  if (complete) forget(found);
  return true;
}

bool HadoopSource::read_one(const Found &found) {
  const Mark mark{found.size, found.changed_ms};
  const auto known = marks_.find(found.path);
  if (known != marks_.end() && known->second == mark) return true;
  if (max_age_ns_ > 0 && found.changed_ms < (host_.realtime() - max_age_ns_) / 1'000'000) return true;
  if (const auto trouble = troubles_.find(found.path); trouble != troubles_.end() && monotonic() < trouble->second.again_at)
    return true;
  if (!(found.configuration ? read_configuration(found) : read_history(found))) return false;
  note_read(found, mark);
  return true;
}

bool HadoopSource::read_history(const Found &found) {
  std::unique_ptr<Reading> &reading = readings_[found.path];
  if (!reading || reading->outdated(found)) reading = std::make_unique<Reading>(rules_, found);
  const bool went_on = reading->read_on(
      storage_of(found.path), found,
      [this](const std::string &key) { return positions_ ? positions_->of(key) : std::optional<Position>(); },
      [&](const std::string &key, const Spans &spans, Position position) {
        report_damage(found.path, reading->history().damage());  // the ledger takes what was counted with the next batch
        return give(found.path, key, spans, position);
      });
  if (!went_on) {
    readings_.erase(found.path);  // in the middle of what was read
    return false;
  }
  const History &history = reading->history();
  report_damage(found.path, history.damage());
  report_rest(found, history);
  const bool idle = found.changed_ms < host_.realtime() / 1'000'000 - kStillRunning;
  if (history.ended() || idle || history.form() == History::Form::none) readings_.erase(found.path);
  return true;
}

void HadoopSource::report_damage(const std::string &path, const Damage &damage) {
  if (damage.count == 0) return;
  uint64_t &reported = reported_[path];
  if (damage.count <= reported) return;
  host_.log(Level::warning, path + ": " + std::to_string(damage.count) + (damage.count == 1 ? " piece" : " pieces") +
                                " of it could not be read; the first, " + damage.first + ". The rest is kept");
  host_.dropped("damaged history", damage.count - reported);
  reported = damage.count;
}

void HadoopSource::report_rest(const Found &found, const History &history) {
  const bool known = history.form() != History::Form::none && history.form() != History::Form::unknown;
  const bool done_writing = found.changed_ms < host_.realtime() / 1'000'000 - kStillWritten && !found.path.ends_with(".inprogress");
  if (known && done_writing && !history.broken() && history.waiting() > 0)
    host_.log(Level::warning, found.path + ": its end is cut; what stands before is kept");
  if (writer_.left_out() > 0)
    host_.log(Level::warning, "jobs have counters of more than max_names different names; further ones are left out");
  if (history.form() == History::Form::none && found.path == path_)
    host_.log(Level::warning, found.path + " is no job history that is known");
}

bool HadoopSource::read_configuration(const Found &found) {
  const std::string text = storage_of(found.path).read(found.path, 0, hadoop_config::kMaxFile + 1);
  const hadoop_config::Config config = hadoop_config::read_config(text);
  if (!config.problem.empty()) host_.log(Level::warning, found.path + ": " + config.problem + ". What stands before is kept");
  Spans facts;
  for (const hadoop_config::Property &one : config.properties) {
    if (found.name.empty() || one.value.empty() || !rules_.facts.wants(one.key, one.value)) continue;
    Span fact;
    fact.text = "fact";
    fact.framework = "hadoop";
    fact.job = found.name;
    fact.fact = one.key;
    fact.value = one.value;
    fact.start_ms = found.changed_ms;
    fact.duration_ms = 0;
    facts.push_back(std::move(fact));
  }
  return facts.empty() || give(found.path, "", facts, {});
}

bool HadoopSource::give(const std::string &path, const std::string &key, const Spans &spans, Position position) {
  Flight flight;
  flight.progress = {key, position, path, std::nullopt};
  flight.attempt = troubles_.count(path) > 0 ? troubles_[path].attempt : 0;
  if (spans.empty()) {
    flight.settled = true;
    const std::lock_guard lock(mutex_);
    flights_.push_back(std::move(flight));
    return !stopping_;
  }
  atalaya_batch *raw = nullptr;
  if (host_.raw()->new_batch(host_.raw()->self, &raw) != ATALAYA_OK) throw std::bad_alloc();
  Batch batch(host_, raw);
  for (const Span &span : spans) writer_.write(span, batch);
  return emit(raw, std::move(flight));
}

// False: the host is stopping, and did not take it.
bool HadoopSource::emit(atalaya_batch *batch, Flight flight) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    emitting_ = true;
  }
  const int32_t code = host_.raw()->emit(host_.raw()->self, batch, &flight.id);
  const std::lock_guard lock(mutex_);
  emitting_ = false;
  if (const auto known = early_.find(flight.id); known != early_.end()) {
    flight.settled = true;
    flight.status = known->second;
  }
  early_.clear();
  if (code == ATALAYA_OK) flights_.push_back(std::move(flight));
  return code == ATALAYA_OK;
}

void HadoopSource::acked(uint64_t batch_id, Code status) noexcept {
  const std::lock_guard lock(mutex_);
  for (Flight &flight : flights_) {
    if (flight.id != batch_id || flight.settled) continue;
    flight.settled = true;
    flight.status = status;
    wake_.notify_all();
    return;
  }
  if (emitting_) early_.emplace(batch_id, status);
}

// The file has been read to its end; that is noted behind what it gave.
void HadoopSource::note_read(const Found &found, const Mark &mark) {
  marks_[found.path] = mark;
  Flight flight;
  flight.settled = true;
  flight.progress = {"", {}, found.path, mark};
  if (const auto trouble = troubles_.find(found.path); trouble != troubles_.end()) flight.attempt = trouble->second.attempt;
  const std::lock_guard lock(mutex_);
  flights_.push_back(std::move(flight));
}

void HadoopSource::settle() {
  std::vector<Flight> settled;
  {
    const std::lock_guard lock(mutex_);
    while (!flights_.empty() && flights_.front().settled) {
      settled.push_back(std::move(flights_.front()));
      flights_.pop_front();
    }
  }
  std::vector<Positions::Progress> progress;
  for (Flight &flight : settled) {
    const auto trouble = troubles_.find(flight.progress.path);
    if (trouble != troubles_.end() && flight.attempt != trouble->second.attempt) continue;
    if (flight.status != Code::ok && try_again(flight)) continue;
    if (flight.progress.mark) troubles_.erase(flight.progress.path);
    progress.push_back(std::move(flight.progress));
  }
  if (!positions_ || progress.empty()) return;
  try {
    positions_->save(progress, host_.realtime() / kSecond);
  } catch (const store::Error &error) {
    host_.log(Level::warning, std::string(error.what()) + "; after a restart some spans are sent once more");
  }
}

// The path is read again from what is held. False: it has been tried often enough.
bool HadoopSource::try_again(const Flight &flight) {
  const std::string &path = flight.progress.path;
  Trouble &trouble = troubles_[path];
  if (trouble.attempt + 1 >= kAttempts) {
    host_.log(Level::error, path + ": a sink refused its spans " + std::to_string(kAttempts) + " times; they are given up");
    return false;
  }
  trouble.again_at = monotonic() + (kFirstPause << trouble.attempt);
  ++trouble.attempt;
  readings_.erase(path);
  marks_.erase(path);
  host_.log(Level::warning, path + ": a sink refused its spans, or they were dropped on the way; they are sent again");
  return true;
}

// What is no longer there is not kept in memory or on disk.
void HadoopSource::forget(const std::vector<Found> &found) {
  std::set<std::string> paths;
  for (const Found &one : found) paths.insert(one.path);
  const auto gone = [&](const auto &entry) { return paths.count(entry.first) == 0; };
  std::erase_if(marks_, gone);
  std::erase_if(readings_, gone);
  std::erase_if(reported_, gone);
  if (!positions_ || (forgotten_at_ > 0 && monotonic() < forgotten_at_ + kDay)) return;
  forgotten_at_ = monotonic();
  try {
    positions_->forget_all_but(paths, (host_.realtime() - kKept) / kSecond);
  } catch (const store::Error &error) {
    host_.log(Level::warning, error.what());
  }
}

void HadoopSource::interrupt() noexcept {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  wake_.notify_all();
}

void HadoopSource::stop() {
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    // What the sinks get in time need not be sent again.
    wake_.wait_for(lock, kLastAnswers,
                   [this] { return std::all_of(flights_.begin(), flights_.end(), [](const Flight &one) { return one.settled; }); });
  }
  settle();
  positions_.reset();
}

}  // namespace atalaya::hadoop
