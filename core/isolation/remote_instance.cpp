// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/remote_instance.h"

#include <algorithm>
#include <utility>

#include "core/base/now.h"
#include "core/base/text/units.h"
#include "core/isolation/wire.h"

namespace atalaya::core {
namespace {

constexpr int64_t kMaxStop = 500'000'000;
constexpr int64_t kFlushGrace = 500'000'000;

const char *name_of(Op op) {
  static constexpr const char *kNames[] = {"", "create", "start", "stop", "destroy", "collect", "run", "process", "write", "flush"};
  return kNames[static_cast<uint32_t>(op)];
}

}  // namespace

RemoteInstance::RemoteInstance(Registry::Component component, Parameters parameters, std::string label, const Isolation &isolation,
                               Symbols &symbols, Surroundings &surroundings, Launcher &launcher)
    : Instance(std::move(component), std::move(parameters), std::move(label)),
      isolation_(isolation),
      symbols_(symbols),
      surroundings_(surroundings),
      supervisor_(
          {this->component(), label_,
           encode_order({component_.plugin->path(), this->component().kind, text_of(this->component().name), label_, parameters_})},
          isolation_, symbols, surroundings, launcher, lifecycle_) {}

RemoteInstance::~RemoteInstance() {
  stop();
  if (const Handle child = lifecycle_.ready()) call(child, {.op = Op::destroy}, kMaxStop);
  if (const Handle child = lifecycle_.request_end()) child->kill("it is not needed any more");
}

// Wakes the supervisor, which logs a process that does not end (state D).
void RemoteInstance::kill(const Handle &child, const std::string &why) {
  child->kill(why);
  supervisor_.wake();
}

Outcome RemoteInstance::create() {
  return lifecycle_.wait_created();
}

Outcome RemoteInstance::start() {
  lifecycle_.request_start();
  supervisor_.wake();
  return lifecycle_.wait_started();
}

Outcome RemoteInstance::stop() {
  if (!lifecycle_.request_stop()) return {};
  const Handle child = lifecycle_.ready();
  if (!child) return {};
  Outcome outcome = call(child, {.op = Op::stop}, std::min(isolation_.time_ns, kMaxStop));
  return outcome.unavailable ? Outcome{} : outcome;
}

Outcome RemoteInstance::unavailable(const std::string &why) const {
  return {ATALAYA_RETRY, why, true};
}

Outcome RemoteInstance::call(const Handle &child, Call call, int64_t limit_ns) {
  if (!child) return unavailable("its process is being started");
  call.metrics = symbols_.catalogue().size();
  const uint32_t number = child->begin(call);
  const int64_t until = monotonic() + limit_ns;
  for (;;) {
    switch (child->wait(number, until)) {
      case ChildHandle::Event::answered:
        return handle_answer(child);
      case ChildHandle::Event::emitted:
        forward_emitted(child);  // a push source that emits outside run: the batch is rejected
        break;
      case ChildHandle::Event::ended:
        return unavailable("its process has ended");
      case ChildHandle::Event::timed_out:
        return handle_timeout(child, call.op, limit_ns);
    }
  }
}

Outcome RemoteInstance::handle_answer(const Handle &child) {
  child->take_counts(surroundings_);
  Outcome outcome = child->outcome();
  // A component at its memory limit would fail in every call.
  static constexpr double kFull = 0.9;
  if (outcome.ok() || outcome.code == ATALAYA_END) return outcome;
  const uint64_t bytes = child->data_bytes();
  if (static_cast<double>(bytes) < kFull * static_cast<double>(isolation_.memory_bytes)) return outcome;
  kill(child, "has used up its memory, " + format_size(isolation_.memory_bytes) +
                  " (isolation.memory); raise that if it needs more, else report it to the plugin's author");
  return unavailable(outcome.text);
}

Outcome RemoteInstance::handle_timeout(const Handle &child, Op op, int64_t limit_ns) {
  kill(child, std::string("hangs: ") + name_of(op) + " took longer than " + format_duration(limit_ns) +
                  " (isolation.time); raise that if it needs more, else report it to the plugin's author");
  return unavailable(std::string(name_of(op)) + " took too long");
}

Outcome RemoteInstance::copy_batch(const Handle &child, Batch &batch) {
  const uint64_t before = batch.count();
  const size_t bytes = batch.used_bytes();
  const Status taken = take_batch(child->memory(), child->batch(), symbols_.size(), batch);
  child->used(batch.used_bytes() - bytes);
  if (taken) return {};
  batch.raw().count = before;
  kill(child, "gave a batch that is not sound: " + taken.error() + "; report it to the plugin's author");
  return unavailable("gave a batch that is not sound");
}

Outcome RemoteInstance::collect(const atalaya_window &window, Batch &batch) {
  const Handle child = lifecycle_.ready();
  Outcome outcome = call(child, {.op = Op::collect, .window = window}, isolation_.time_ns);
  if (outcome.code != ATALAYA_OK) return outcome;
  return copy_batch(child, batch);
}

Outcome RemoteInstance::process(const atalaya_window &window, Batch &batch) {
  const Handle child = lifecycle_.ready();
  if (!child) return unavailable("its process is being started");
  Call call{.op = Op::process, .window = window};
  const auto put = put_batch(batch.raw(), child->memory(), call.used);
  if (!put) return {ATALAYA_PERMANENT, put.error()};
  call.batch = put.value();
  Outcome outcome = this->call(child, call, isolation_.time_ns);
  if (!outcome.ok()) return outcome;
  batch.clear();
  if (Outcome taken = copy_batch(child, batch); !taken.ok()) return taken;
  return outcome;
}

Outcome RemoteInstance::write(const atalaya_batch &batch, int64_t &retry_after_ns) {
  retry_after_ns = 0;
  const Handle child = lifecycle_.ready();
  if (!child) return unavailable("its process is being started");
  Call call{.op = Op::write};
  const auto put = put_batch(batch, child->memory(), call.used);
  if (!put) return {ATALAYA_PERMANENT, put.error()};
  call.batch = put.value();
  Outcome outcome = this->call(child, call, isolation_.time_ns);
  if (!outcome.unavailable) retry_after_ns = child->retry_after_ns();
  child->used(call.used);
  return outcome;
}

Outcome RemoteInstance::flush(int64_t deadline_ns) {
  const Handle child = lifecycle_.ready();
  if (!child) return {};
  return call(child, {.op = Op::flush, .deadline_ns = deadline_ns}, std::max<int64_t>(deadline_ns - monotonic(), 0) + kFlushGrace);
}

Outcome RemoteInstance::command(const std::vector<std::string> &, int32_t &) {
  return {ATALAYA_UNSUPPORTED, "a command does not run isolated"};
}

// Runs the push source until it is interrupted. When its process ends, the next process continues.
Outcome RemoteInstance::run() {
  for (;;) {
    const Handle child = lifecycle_.wait_to_run();
    if (!child) return {};
    const uint32_t number = child->begin({.op = Op::run, .metrics = symbols_.catalogue().size()});
    for (auto event = child->wait(number, INT64_MAX); event != ChildHandle::Event::ended; event = child->wait(number, INT64_MAX)) {
      if (event == ChildHandle::Event::emitted) forward_emitted(child);
      if (event == ChildHandle::Event::answered) return handle_answer(child);
      if (event == ChildHandle::Event::timed_out) return handle_timeout(child, Op::run, isolation_.time_ns);
    }
  }
}

void RemoteInstance::forward_emitted(const Handle &child) {
  child->take_counts(surroundings_);
  BatchOwner batch = surroundings_.new_batch();
  if (batch == nullptr) return child->answer_emit(ATALAYA_RETRY, 0);
  if (!copy_batch(child, *batch).ok()) return child->answer_emit(ATALAYA_PERMANENT, 0);
  if (child->first_emitted == 0) child->first_emitted = last_emitted_ + 1;
  uint64_t id = 0;
  const int32_t code = surroundings_.emit(std::move(batch), id);
  last_emitted_ = std::max(last_emitted_, id);
  child->answer_emit(code, id);
}

void RemoteInstance::acked(uint64_t batch_id, int32_t status) {
  if (component().ops->acked == nullptr) return;
  const Handle child = lifecycle_.ready();
  // This process does not know the batches of an earlier one.
  if (!child || child->first_emitted == 0 || batch_id < child->first_emitted) return;
  if (!child->notify(Writer().number(Notice::acked).number(batch_id).number(status).bytes()))
    kill(child, "does not read the results of its batches; report it to the plugin's author");
}

void RemoteInstance::interrupt() {
  const auto [child, first] = lifecycle_.interrupt();
  if (!child) return;
  child->notify(Writer().number(Notice::interrupt).bytes());
  if (first) child->end_by(monotonic() + isolation_.time_ns);  // ends `run`, even if the component does not react
}

void RemoteInstance::end_by(int64_t deadline_ns) {
  lifecycle_.end_by(deadline_ns);
}

}  // namespace atalaya::core
