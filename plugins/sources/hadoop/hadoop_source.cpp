// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/hadoop/hadoop_source.h"

#include <algorithm>

#include "core/base/now.h"
#include "plugins/shared/protocols/hadoop_config/config.h"
#include "plugins/sources/hadoop/options.h"

namespace atalaya::hadoop {
namespace {

using core::monotonic;

constexpr int64_t kStillWritten = 60'000;  // ms: a file changed since then may lack its end
// Histories changed since then stay in memory, and their open spans are reported; others are read from the start if they change.
constexpr int64_t kStillRunning = 3'600'000;  // ms
// For a file whose storage lists only full blocks, when the next one begins.
constexpr int64_t kStillListed = 86'400'000;  // ms
constexpr int64_t kShareOfTime = 20;          // complete scans take at most a twentieth of the time; others wait for a server

protocols::Span fact_of(const Found &found, const hadoop_config::Property &property) {
  protocols::Span fact;
  fact.text = "fact";
  fact.framework = "hadoop";
  fact.job = found.name;
  fact.fact = property.key;
  fact.value = property.value;
  fact.start_ms = found.changed_ms;
  fact.duration_ms = 0;
  return fact;
}

bool is_known(const History &history) {
  return history.form() != History::Form::none && history.form() != History::Form::unknown;
}

std::string files(size_t count) {
  return std::to_string(count) + (count == 1 ? " file" : " files");
}

}  // namespace

HadoopSource::HadoopSource(Host host)
    : host_(host),
      follow_(host.boolean("follow")),
      every_ns_(host.integer("look_every")),
      max_age_ns_(host.find("max_age") ? host.integer("max_age") : 0),
      rules_(rules_of(host)),
      places_(host),
      delivery_(host, static_cast<size_t>(host.integer("max_names"))) {}

Code HadoopSource::run() {
  for (;;) {
    const int64_t begun = monotonic();
    if (!scan()) return Code::ok;
    int64_t next = begun + every_ns_;
    if (is_complete_) next = std::max(next, monotonic() + kShareOfTime * (monotonic() - begun));
    if (!follow_) {
      delivery_.wait_for_all();
      if (delivery_.stopping()) return Code::ok;
      settle();
      delivery_.count_attempts(begun);
      const auto next_attempt = delivery_.next_attempt();
      if (!next_attempt) {
        log_import();
        return Code::end;
      }
      next = std::max(*next_attempt, begun + every_ns_);
    }
    if (!wait(next)) return Code::ok;
  }
}

// Handles the sinks' answers while waiting. False: stopping.
bool HadoopSource::wait(int64_t until) {
  do settle();
  while (delivery_.wait_until(until) && !delivery_.stopping());
  return !delivery_.stopping();
}

void HadoopSource::settle() {
  for (const std::string &path : delivery_.settle()) {
    running_.erase(path);
    marks_.erase(path);
  }
}

// False: stopping.
bool HadoopSource::scan() {
  const Places::Listing listing = places_.list();
  is_complete_ = listing.complete;
  for (const Found &one : listing.found) {
    if (delivery_.stopping()) return false;
    settle();
    try {
      if (!read_one(one)) return false;
    } catch (const Missing &) {
      running_.erase(one.path);  // moved: the next scan finds its new path
    } catch (const Unreadable &problem) {
      host_.log(Level::warning, problem.what());
    }
  }
  drop_idle(listing.found);
  if (listing.complete) forget(listing.found);
  return true;
}

bool HadoopSource::is_new(const Found &found) {
  const auto known = marks_.find(found.path);
  if (known == marks_.end() || known->second != Mark{found.size, found.changed_ms}) return true;
  if (!grows_unseen(places_.storage_of(found.path), found)) return false;
  const auto running = running_.find(found.path);
  return running == running_.end() || running->second.reading;
}

bool HadoopSource::read_one(const Found &found) {
  if (!is_new(found)) count_skipped(found.path);
  if (!follow_) import_.found.insert(found.path);
  if (!follow_ && is_too_old(found)) import_.too_old.insert(found.path);
  if (!is_new(found) || delivery_.must_wait(found.path) || is_too_old(found)) return true;
  if (!(found.configuration ? read_configuration(found) : read_history(found))) return false;
  const Mark mark{found.size, found.changed_ms};
  const auto [known, is_first] = marks_.try_emplace(found.path, mark);
  if (!is_first && known->second == mark) return true;
  known->second = mark;
  delivery_.mark_read(found.path, mark);
  return true;
}

// Open files on HDFS are never too old, because their listed time is that of their creation.
bool HadoopSource::is_too_old(const Found &found) {
  return max_age_ns_ > 0 && !is_listed_late(places_.storage_of(found.path), found) &&
         found.changed_ms < (host_.realtime() - max_age_ns_) / protocols::kNsPerMs;
}

// Returns true if the file has not grown for so long that its job may have been killed.
bool HadoopSource::is_idle(const Found &found, const Running &running) {
  const Storage &storage = places_.storage_of(found.path);
  if (is_listed_late(storage, found))
    return monotonic() - running.grown_at > (grows_unseen(storage, found) ? kStillRunning : kStillListed) * protocols::kNsPerMs;
  return found.changed_ms < host_.realtime() / protocols::kNsPerMs - kStillRunning;
}

bool HadoopSource::read_history(const Found &found) {
  Storage &storage = places_.storage_of(found.path);
  Running &running = running_[found.path];
  std::unique_ptr<Reading> &reading = running.reading;
  if (!reading || reading->outdated(storage, found)) reading = std::make_unique<Reading>(rules_, found);
  // A listed file is read only if it has changed.
  if (running.grown_at == 0 || !grows_unseen(storage, found)) running.grown_at = monotonic();
  const uint64_t before = reading->read(), spans_before = import_.spans;
  bool held = false;
  const bool went_on = reading->read_new(
      storage, found, !is_idle(found, running),
      [&](const std::string &key) {
        const std::optional<protocols::Position> position = delivery_.stored_position(key);
        held = position.has_value();
        return position;
      },
      [&](const std::string &key, const protocols::Spans &spans, protocols::Position position) {
        import_.spans += spans.size();
        report_damage(found.path, reading->history().damage());  // the ledger adds the counts to the next batch
        return delivery_.send(found.path, key, spans, position);
      });
  if (!went_on) {
    running_.erase(found.path);  // reading stopped half-way
    return false;
  }
  if (reading->read() > before) running.grown_at = monotonic();
  const History &history = reading->history();
  report_damage(found.path, history.damage());
  report_rest(found, history);
  if (!follow_ && !is_known(history)) import_.foreign.insert(found.path);
  const bool nothing_new = held && import_.spans == spans_before;
  if (is_known(history) && nothing_new) count_skipped(found.path);
  if (is_known(history) && !nothing_new) mark_read(found.path);
  if (!history.ended() && !is_idle(found, running) && history.form() != History::Form::none) return true;
  reading.reset();
  if (!grows_unseen(storage, found)) running_.erase(found.path);
  return true;
}

void HadoopSource::report_damage(const std::string &path, const protocols::Damage &damage) {
  if (damage.count == 0) return;
  uint64_t &reported = reported_[path];
  if (damage.count <= reported) return;
  host_.log(Level::warning, path + ": " + std::to_string(damage.count) + (damage.count == 1 ? " piece" : " pieces") +
                                " could not be read; the first is " + damage.first + ". The rest is kept");
  host_.dropped("damaged history", damage.count - reported);
  reported = damage.count;
}

void HadoopSource::report_rest(const Found &found, const History &history) {
  // The time of a copied file is that of the copy, so an import ignores it.
  const bool old_enough = !follow_ || found.changed_ms < host_.realtime() / protocols::kNsPerMs - kStillWritten;
  const bool done_writing = old_enough && !found.parts.back().open;
  if (is_known(history) && done_writing && !history.broken() && history.waiting() > 0)
    host_.log(Level::warning, found.path + ": its end is cut off; complete lines are kept");
  if (delivery_.omitted() > 0)
    host_.log(Level::warning, "jobs have more than max_names distinct names of counters; further counters are left out");
  if (history.form() == History::Form::none && (places_.is_named(found.path) || found.path.ends_with(".jhist")))
    host_.log(Level::warning, found.path + " is not a known form of job history");
}

bool HadoopSource::read_configuration(const Found &found) {
  const std::string text = places_.storage_of(found.path).read(found.path, 0, hadoop_config::kMaxFile + 1);
  const hadoop_config::Config config = hadoop_config::read_config(text);
  if (!config.problem.empty()) host_.log(Level::warning, found.path + ": " + config.problem + ". Settings before it are kept");
  protocols::Spans facts;
  for (const hadoop_config::Property &one : config.properties)
    if (!found.name.empty() && !one.value.empty() && rules_.facts.wants(one.key, one.value)) facts.push_back(fact_of(found, one));
  import_.spans += facts.size();
  mark_read(found.path);
  return facts.empty() || delivery_.send(found.path, "", facts, {});
}

void HadoopSource::mark_read(const std::string &path) {
  if (follow_) return;
  import_.skipped.erase(path);
  import_.read.insert(path);
}

// Counts a file that an earlier run has read.
void HadoopSource::count_skipped(const std::string &path) {
  if (!follow_ && import_.read.count(path) == 0) import_.skipped.insert(path);
}

// Explains to operators with a new store why files are skipped.
void HadoopSource::log_import() {
  std::string text = "import finished: " + files(import_.read.size()) + " of jobs, " + std::to_string(import_.spans) + " spans";
  if (const size_t count = import_.skipped.size(); count > 0)
    text += "; " + files(count) + " skipped, because an earlier run read them. The folder \"" + host_.state_dir().value_or("") +
            "\" records this: delete it, or use another pipeline name, to read all files again";
  const std::string why = import_.skipped.empty() && import_.spans == 0 ? why_nothing() : "";
  host_.log(why.empty() ? Level::info : Level::warning, text + why);
}

// Returns the reasons why an import has no spans.
std::string HadoopSource::why_nothing() const {
  if (import_.found.empty())
    return "; there is no file at path = \"" + places_.path() + "\"; correct it, or give the agent's user access";
  std::string text = "; of " + files(import_.found.size()) + " found";
  if (const size_t count = import_.too_old.size(); count > 0) text += ", " + std::to_string(count) + " older than max_age";
  if (const size_t count = import_.foreign.size(); count > 0) text += ", " + std::to_string(count) + " not a job history";
  if (const size_t count = import_.read.size(); count > 0)
    text += ", " + std::to_string(count) + " without a finished job, stage or task";
  return text;
}

// Frees the state of histories that no longer change, such as those of killed jobs.
void HadoopSource::drop_idle(const std::vector<Found> &found) {
  if (running_.empty()) return;
  for (const Found &one : found) {
    const auto running = running_.find(one.path);
    if (running == running_.end() || grows_unseen(places_.storage_of(one.path), one)) continue;
    if (is_idle(one, running->second)) running_.erase(running);
  }
}

// Forgets missing files in memory and on disk.
void HadoopSource::forget(const std::vector<Found> &found) {
  std::set<std::string> paths;
  for (const Found &one : found) paths.insert(one.path);
  const auto gone = [&](const auto &entry) { return paths.count(entry.first) == 0; };
  std::erase_if(marks_, gone);
  std::erase_if(running_, gone);
  std::erase_if(reported_, gone);
  delivery_.forget_all_but(paths);
}

}  // namespace atalaya::hadoop
