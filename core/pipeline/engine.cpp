// SPDX-License-Identifier: Apache-2.0
#include "core/pipeline/engine.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "core/util/log.h"

namespace atalaya::core {
namespace {

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

// Whether two constructor calls make the same component; where they stand in the file does not matter.
bool same(const StageDescription &a, const StageDescription &b) {
  return a.kind == b.kind && a.name == b.name && a.component.component == b.component.component && a.parameters == b.parameters &&
         a.function == b.function && a.on_error == b.on_error && a.queue == b.queue;
}

bool same(const std::vector<StageDescription> &a, const std::vector<StageDescription> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto &x, const auto &y) { return same(x, y); });
}

bool has_function(const PipelineDescription &pipeline) {
  return std::any_of(pipeline.stages.begin(), pipeline.stages.end(), [](const auto &stage) { return stage.function != 0; });
}

// Whether a pipeline may go on as it is. Where its output goes is wiring and may change.
bool same_work(const PipelineDescription &a, const std::string &a_digest, const PipelineDescription &b, const std::string &b_digest) {
  return a.name == b.name && a.every_ns == b.every_ns && a.from == b.from && same(a.sources, b.sources) && same(a.stages, b.stages) &&
         (!has_function(a) || a_digest == b_digest);
}

template <class T>
bool holds(const std::vector<std::shared_ptr<T>> &list, const std::shared_ptr<T> &item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

}  // namespace

Engine::Engine(Symbols &symbols, Options options)
    : options_(std::move(options)),
      shared_{symbols,
              ledger_,
              BatchPool::make(),
              options_.host.empty() ? host_name() : options_.host,
              symbols.intern("host"),
              [this] { wake(); }} {}

Engine::~Engine() {
  if (!graph_.pipelines.empty()) stop_parts(graph_, nullptr, read_clocks().monotonic);
  // What hangs in a call still uses its memory.
  for (auto &left : abandoned_) static_cast<void>(new std::shared_ptr<void>(std::move(left)));  // NOLINT
}

Status Engine::start(FileDescription file) { return apply(std::move(file)); }

std::string Engine::free_sink_name(const StageDescription &sink, const std::vector<std::shared_ptr<SinkWorker>> &taken) const {
  const auto used = [&](const std::string &name) {
    const auto has = [&](const auto &worker) { return worker != nullptr && worker->name() == name; };
    return std::any_of(taken.begin(), taken.end(), has) || std::any_of(graph_.sinks.begin(), graph_.sinks.end(), has);
  };
  const std::string base = "sink " + sink.name;
  std::string name = base;
  for (int number = 2; used(name); ++number) name = base + " " + std::to_string(number);
  return name;
}

Result<Engine::Graph> Engine::build(FileDescription file, const Graph &current) {
  Graph graph;
  for (const StageDescription &sink : file.sinks) {
    const auto old = std::find_if(current.sinks.begin(), current.sinks.end(), [&](const auto &worker) {
      return same(worker->description(), sink) && !holds(graph.sinks, worker);
    });
    if (old != current.sinks.end()) {
      graph.sinks.push_back(*old);
      continue;
    }
    auto worker = std::make_shared<SinkWorker>(sink, free_sink_name(sink, graph.sinks), shared_.symbols, ledger_, shared_.wake_engine);
    if (const Status made = worker->create(); !made)
      return Error{sink.where.file + ":" + std::to_string(sink.where.line) + ": " + made.error()};
    graph.sinks.push_back(std::move(worker));
  }
  for (const PipelineDescription &pipeline : file.pipelines) {
    const auto old = std::find_if(current.pipelines.begin(), current.pipelines.end(), [&](const auto &run) {
      return same_work(run->description(), current.file.digest, pipeline, file.digest);
    });
    if (old != current.pipelines.end()) {
      graph.pipelines.push_back(*old);
      continue;
    }
    auto run = std::make_shared<PipelineRun>(pipeline, file.functions, shared_);
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
    graph.pipelines[i]->rename_locations(pipeline);
    graph.pipelines[i]->connect(sinks, std::move(children));
  }
}

Status Engine::start_new(Graph &graph, const Graph &current) {
  for (const auto &sink : graph.sinks) {
    if (holds(current.sinks, sink)) continue;
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
  if (!built) return Error{built.error()};
  Graph next = std::move(*built);
  // What goes is stopped before what comes is started: both may want the same file.
  stop_parts(graph_, &next, read_clocks().monotonic + options_.flush_deadline_ns);
  wire(next);
  Status started = start_new(next, graph_);
  if (started) {
    graph_ = std::move(next);
    return Done{};
  }
  stop_parts(next, &graph_, read_clocks().monotonic + options_.flush_deadline_ns);
  // Back to the old file: its stopped parts are made anew.
  Graph kept;
  kept.file = graph_.file;
  for (const auto &sink : graph_.sinks)
    if (holds(next.sinks, sink)) kept.sinks.push_back(sink);
  for (const auto &pipeline : graph_.pipelines)
    if (holds(next.pipelines, pipeline)) kept.pipelines.push_back(pipeline);
  FileDescription old_file = std::move(graph_.file);
  graph_ = std::move(kept);
  if (old_file.pipelines.empty()) return started;
  auto old = build(std::move(old_file), graph_);
  if (!old) return Error{started.error() + "; and the old file does not start again: " + old.error()};
  wire(*old);
  const Status again = start_new(*old, graph_);
  graph_ = std::move(*old);
  if (!again) return Error{started.error() + "; and the old file does not start again: " + again.error()};
  return started;
}

// Stops what `keep` does not have: sources, then stages, then sinks.
bool Engine::stop_parts(const Graph &graph, const Graph *keep, int64_t deadline_ns) {
  bool clean = true;
  std::vector<std::shared_ptr<PipelineRun>> going;
  for (const auto &pipeline : graph.pipelines)
    if (keep == nullptr || !holds(keep->pipelines, pipeline)) going.push_back(pipeline);
  for (const auto &pipeline : going) {
    if (pipeline->stop_sources(deadline_ns)) continue;
    clean = false;
    abandoned_.push_back(pipeline);
  }
  for (const auto &pipeline : going) pipeline->stop_stages();
  for (const auto &sink : graph.sinks) {
    if ((keep != nullptr && holds(keep->sinks, sink)) || sink->stop(deadline_ns)) continue;
    clean = false;
    abandoned_.push_back(sink);
  }
  return clean;
}

void Engine::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  wake_.notify_all();
}

void Engine::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = woken_ = true;
  wake_.notify_all();
}

Status Engine::reload(FileDescription file) {
  std::future<Status> result;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || !running_) return Error{"the agent is stopping"};
    reload_.emplace(Reload{std::move(file), {}});
    result = reload_->result.get_future();
    woken_ = true;
    wake_.notify_all();
  }
  return result.get();
}

bool Engine::run() {
  {
    const std::lock_guard lock(mutex_);
    running_ = true;
  }
  while (turn()) wait_for_work();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    running_ = false;
    if (reload_) reload_->result.set_value(Error{"the agent is stopping"});
    reload_.reset();
  }
  const Graph last = std::move(graph_);
  graph_ = {};
  return stop_parts(last, nullptr, read_clocks().monotonic + options_.flush_deadline_ns);
}

bool Engine::turn() {
  std::optional<Reload> reload;
  {
    const std::lock_guard lock(mutex_);
    woken_ = false;
    if (stopping_) return false;
    reload = std::move(reload_);
    reload_.reset();
  }
  if (reload) reload->result.set_value(apply(std::move(reload->file)));

  const auto stopping = [this] {
    const std::lock_guard lock(mutex_);
    return stopping_;
  };
  for (bool any = true; any && !stopping();) {
    any = false;
    for (const auto &pipeline : graph_.pipelines) {
      any = pipeline->take_arrivals() || any;
      const ClockReading now = read_clocks();
      if (now.monotonic < pipeline->deadline()) continue;
      if (pipeline->tick(now)) ++windows_;
    }
    if (options_.max_windows > 0 && windows_ >= options_.max_windows) return false;
  }
  return std::any_of(graph_.pipelines.begin(), graph_.pipelines.end(), [](const auto &pipeline) {
    return pipeline->description().from.empty() && !pipeline->ended();
  });
}

void Engine::wait_for_work() {
  int64_t deadline = INT64_MAX;
  for (const auto &pipeline : graph_.pipelines) deadline = std::min(deadline, pipeline->deadline());
  std::unique_lock lock(mutex_);
  const auto woken = [this] { return woken_; };
  if (deadline == INT64_MAX) {
    wake_.wait(lock, woken);
  } else {
    wake_.wait_until(lock, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline)), woken);
  }
}

}  // namespace atalaya::core
