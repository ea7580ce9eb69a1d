// SPDX-License-Identifier: Apache-2.0
#include "core/pipeline/engine.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "core/base/log.h"
#include "core/base/now.h"
#include "core/pipeline/component_names.h"

namespace atalaya::core {
namespace {

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

// Whether a running pipeline can continue for a new description. Its receivers may differ, because they can be reconnected.
bool same_work(const PipelineDescription &a, const std::string &a_digest, const PipelineDescription &b,
               const std::string &b_digest) {
  return a.name == b.name && a.every_ns == b.every_ns && a.from == b.from && same(a.sources, b.sources) &&
         same(a.stages, b.stages) && (!has_function(a) || a_digest == b_digest);
}

// "sink file", or "sink file 2" if that name is used. Equal files result in equal names.
std::string free_name(const StageDescription &sink, const std::vector<std::shared_ptr<SinkWorker>> &taken) {
  const std::string base = "sink " + sink.name;
  std::string name = base;
  const auto used = [&](const auto &worker) { return worker != nullptr && worker->name() == name; };
  for (int number = 2; std::any_of(taken.begin(), taken.end(), used); ++number) name = base + " " + std::to_string(number);
  return name;
}

// Whether two sinks use the same file or folder, so that one must end before the other starts.
bool same_place(const StageDescription &a, const StageDescription &b) {
  if (!a.spool.dir.empty() && a.spool.dir == b.spool.dir) return true;
  const Parameter *a_path = a.parameters.find("path");
  const Parameter *b_path = b.parameters.find("path");
  return a.name == b.name && a_path != nullptr && b_path != nullptr && a_path->text == b_path->text;
}

template <class T>
bool holds(const std::vector<std::shared_ptr<T>> &list, const std::shared_ptr<T> &item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

}  // namespace

Engine::Engine(Symbols &symbols, Options options)
    : options_(std::move(options)),
      services_{symbols,
                ledger_,
                BatchPool::make(),
                options_.host.empty() ? host_name() : options_.host,
                symbols.intern("host"),
                [this] { wake(); },
                options_.launcher} {}

Engine::~Engine() {
  stop_lanes();
  options_.flush_deadline_ns = 0;
  stop_parts(graph_, {});
  for (const auto &sink : retiring_) release(sink);
  // A component that hangs in a call still uses its memory.
  for (auto &left : abandoned_) static_cast<void>(new std::shared_ptr<void>(std::move(left)));  // NOLINT
}

Status Engine::start(FileDescription file) {
  Status started = apply(std::move(file));
  const std::lock_guard lock(mutex_);
  running_ = static_cast<bool>(started);
  return started;
}

Result<Engine::Graph> Engine::build(FileDescription file, const Graph &current) {
  Graph graph;
  graph.sinks.resize(file.sinks.size());
  for (size_t i = 0; i < file.sinks.size(); ++i) {
    const auto old = std::find_if(current.sinks.begin(), current.sinks.end(), [&](const auto &worker) {
      return worker->running() && same(worker->description(), file.sinks[i]) && !holds(graph.sinks, worker);
    });
    if (old != current.sinks.end()) graph.sinks[i] = *old;
  }
  for (size_t i = 0; i < file.sinks.size(); ++i) {
    if (graph.sinks[i] != nullptr) continue;
    const StageDescription &sink = file.sinks[i];
    auto worker = std::make_shared<SinkWorker>(sink, free_name(sink, graph.sinks), services_.symbols, ledger_, services_.host,
                                               services_.wake_engine, services_.launcher);
    if (const Status made = worker->create(); !made) return Error{prefix_of(sink.where) + made.error()};
    graph.sinks[i] = std::move(worker);
  }
  for (const PipelineDescription &pipeline : file.pipelines) {
    const auto old = std::find_if(current.pipelines.begin(), current.pipelines.end(), [&](const auto &run) {
      return run->running() && same_work(run->description(), current.file.digest, pipeline, file.digest);
    });
    if (old != current.pipelines.end()) {
      graph.pipelines.push_back(*old);
      continue;
    }
    auto run = std::make_shared<PipelineRun>(pipeline, services_);
    if (const Status made = run->create(); !made) return Error{made.error()};
    graph.pipelines.push_back(std::move(run));
  }
  graph.file = std::move(file);
  return graph;
}

void Engine::wire(Graph &graph) {
  for (size_t i = 0; i < graph.pipelines.size(); ++i) {
    const PipelineDescription &pipeline = graph.file.pipelines[i];
    std::vector<std::shared_ptr<SinkWorker>> sinks;
    for (const size_t sink : pipeline.sinks) sinks.push_back(graph.sinks[sink]);
    std::vector<PipelineRun *> children;
    for (size_t c = 0; c < graph.pipelines.size(); ++c)
      if (graph.file.pipelines[c].from == pipeline.name) children.push_back(graph.pipelines[c].get());
    graph.pipelines[i]->set_description(pipeline);
    graph.pipelines[i]->connect(sinks, std::move(children));
  }
}

Status Engine::start_new(Graph &graph, const Graph &current) {
  for (const auto &sink : graph.sinks) {
    if (holds(current.sinks, sink)) continue;
    retire_until_free(sink->description());
    if (const Status started = sink->start(); !started)
      return at_location(sink->description().where, "", sink->description(), started.error());
  }
  for (const auto &pipeline : graph.pipelines) {
    if (holds(current.pipelines, pipeline)) continue;
    if (Status started = pipeline->start(); !started) return started;
  }
  return Done{};
}

Status Engine::apply(FileDescription file) {
  auto built = build(std::move(file), graph_);
  if (!built) return Error{built.error() + (graph_.file.pipelines.empty() ? "" : "; the old file runs on")};
  Graph next = std::move(*built);
  // Stops removed components before new ones start, because both may use the same file.
  stop_parts(graph_, next);
  wire(next);
  Status started = start_new(next, graph_);
  if (!started) {
    stop_parts(next, graph_);
    return fall_back(started.error());
  }
  graph_ = std::move(next);
  return started;
}

// Creates the stopped parts of the old file again, except those that do not start; the error reports them.
Status Engine::fall_back(const std::string &why) {
  FileDescription old_file = graph_.file;
  graph_ = only_running(std::move(graph_));
  if (old_file.pipelines.empty()) return Error{why};
  auto old = build(std::move(old_file), graph_);
  if (!old) return Error{why + "; of the old file only a part runs on: " + old.error()};
  wire(*old);
  const Status again = start_new(*old, graph_);
  graph_ = only_running(std::move(*old));
  if (!again) return Error{why + "; of the old file only a part runs on: " + again.error()};
  return Error{why + "; the old file runs on"};
}

// The running pipelines of a graph whose sinks run, connected again. Stops all others.
Engine::Graph Engine::only_running(Graph graph) {
  Graph kept;
  kept.file = graph.file;
  kept.file.sinks.clear();
  kept.file.pipelines.clear();
  std::vector<size_t> moved(graph.sinks.size());
  for (size_t i = 0; i < graph.sinks.size(); ++i) {
    if (!graph.sinks[i]->running()) continue;
    moved[i] = kept.sinks.size();
    kept.sinks.push_back(graph.sinks[i]);
    kept.file.sinks.push_back(graph.file.sinks[i]);
  }
  for (size_t i = 0; i < graph.pipelines.size(); ++i) {
    PipelineDescription pipeline = graph.file.pipelines[i];
    const bool whole = graph.pipelines[i]->running() && std::all_of(pipeline.sinks.begin(), pipeline.sinks.end(),
                                                                    [&](size_t sink) { return graph.sinks[sink]->running(); });
    if (!whole) continue;
    for (size_t &sink : pipeline.sinks) sink = moved[sink];
    kept.pipelines.push_back(graph.pipelines[i]);
    kept.file.pipelines.push_back(std::move(pipeline));
  }
  wire(kept);
  stop_parts(graph, kept);
  return kept;
}

void Engine::stop_parts(const Graph &graph, const Graph &keep) {
  const int64_t deadline = read_clocks().monotonic + options_.flush_deadline_ns;
  std::vector<std::shared_ptr<PipelineRun>> going;
  for (const auto &pipeline : graph.pipelines)
    if (!holds(keep.pipelines, pipeline)) going.push_back(pipeline);
  for (const auto &pipeline : going)
    if (!pipeline->stop_sources(deadline)) abandoned_.push_back(pipeline);
  for (const auto &pipeline : going) pipeline->stop_stages();
  for (const auto &sink : graph.sinks) {
    if (holds(keep.sinks, sink) || !sink->running()) continue;
    sink->begin_stop(deadline);
    retiring_.push_back(sink);
  }
}

void Engine::release(const std::shared_ptr<SinkWorker> &sink) {
  if (!sink->end_stop()) abandoned_.push_back(sink);
}

// Waits for the retiring sinks that use a file which the new sink will open.
void Engine::retire_until_free(const StageDescription &wanted) {
  for (auto sink = retiring_.begin(); sink != retiring_.end();) {
    if (!same_place((*sink)->description(), wanted)) {
      ++sink;
      continue;
    }
    release(*sink);
    sink = retiring_.erase(sink);
  }
}

void Engine::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  wake_.notify_all();
  for (const auto &lane : lanes_) lane->wake();
}

void Engine::wake_engine_thread() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  wake_.notify_all();
}

int64_t Engine::longest_stop_ns() const {
  // Sources, then sinks, have the deadline; all sinks flush at the same time, for one more second.
  static constexpr int64_t kSlack = 3'000'000'000;
  return 2 * options_.flush_deadline_ns + kSlack;
}

void Engine::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = woken_ = true;
  wake_.notify_all();
}

std::future<Status> Engine::reload(FileDescription file) {
  Reload reload{std::move(file), {}};
  std::future<Status> result = reload.result.get_future();
  const std::lock_guard lock(mutex_);
  if (stopping_ || !running_ || reload_) {
    reload.result.set_value(Error{reload_ ? "another reload is under way" : "the agent is not running"});
    return result;
  }
  reload_ = std::move(reload);
  woken_ = true;
  wake_.notify_all();
  return result;
}

void Engine::start_lanes() {
  Division division = divide(graph_.pipelines);
  own_ = std::move(division.engine);
  std::vector<std::unique_ptr<Lane>> lanes;
  for (Pipelines &pipelines : division.lanes)
    lanes.push_back(std::make_unique<Lane>(std::move(pipelines), [this] { wake_engine_thread(); }));
  for (const auto &lane : lanes) lane->start();
  const std::lock_guard lock(mutex_);
  lanes_ = std::move(lanes);
  for (const auto &lane : lanes_) lane->wake();  // batches may have arrived before lanes_ was set
}

void Engine::stop_lanes() {
  std::vector<std::unique_ptr<Lane>> lanes;
  {
    const std::lock_guard lock(mutex_);
    lanes.swap(lanes_);
  }
  for (const auto &lane : lanes) lane->stop();
  for (const auto &lane : lanes) windows_ += lane->windows();
  own_.clear();
}

bool Engine::run() {
  if (options_.alive && options_.alive_every_ns > 0) next_alive_ = 0;
  start_lanes();
  while (run_once()) {
    report_alive();
    wait_for_work();
  }
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    running_ = false;
    if (reload_) reload_->result.set_value(Error{"the agent is stopping"});
    reload_.reset();
  }
  stop_lanes();
  stop_parts(graph_, {});
  graph_ = {};
  for (const auto &sink : retiring_) release(sink);
  retiring_.clear();
  return abandoned_.empty();
}

bool Engine::run_once() {
  std::optional<Reload> reload;
  {
    const std::lock_guard lock(mutex_);
    woken_ = false;
    if (stopping_) return false;
    reload = std::move(reload_);
    reload_.reset();
  }
  if (reload) {
    stop_lanes();
    Status applied = apply(std::move(reload->file));
    start_lanes();
    reload->result.set_value(std::move(applied));
  }
  for (auto sink = retiring_.begin(); sink != retiring_.end();) {
    if (!(*sink)->stopped()) {
      ++sink;
      continue;
    }
    release(*sink);
    sink = retiring_.erase(sink);
  }

  const auto stopping = [this] {
    const std::lock_guard lock(mutex_);
    return stopping_;
  };
  windows_ += process_due(own_, stopping);
  uint64_t windows = windows_;
  for (const auto &lane : lanes_) windows += lane->windows();
  if (options_.max_windows > 0 && windows >= options_.max_windows) return false;
  if (!all_ended(own_) || std::any_of(lanes_.begin(), lanes_.end(), [](const auto &lane) { return !lane->ended(); })) return true;
  gave_up_ =
      any_unsupported(own_) || std::any_of(lanes_.begin(), lanes_.end(), [](const auto &lane) { return lane->unsupported(); });
  return false;
}

void Engine::report_alive() {
  const int64_t now = read_clocks().monotonic;
  if (now < next_alive_) return;
  options_.alive();
  next_alive_ = now + options_.alive_every_ns;
}

void Engine::wait_for_work() {
  const int64_t deadline = std::min(next_alive_, next_deadline(own_));
  std::unique_lock lock(mutex_);
  const auto woken = [this] { return woken_; };
  if (deadline == INT64_MAX) {
    wake_.wait(lock, woken);
  } else {
    wake_.wait_until(lock, at(deadline), woken);
  }
}

}  // namespace atalaya::core
