// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/local_instance.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "core/base/now.h"
#include "core/plugin/active_call.h"
#include "core/plugin/host_functions.h"

namespace atalaya::core {
namespace {

// Calls `body`, which receives an error to fill in, and converts the result to an outcome.
template <class Body>
Outcome call(const std::string &label, const char *operation, Body &&body) {
  const ActiveCall active(label.c_str(), operation);
  atalaya_error error;
  error.struct_size = sizeof(error);
  error.reserved = 0;
  error.text[0] = 0;
  try {
    const int32_t code = body(&error);
    if (code == ATALAYA_OK || code == ATALAYA_NOTHING || code == ATALAYA_END) return {code, {}};
    std::string text(error.text, ::strnlen(error.text, sizeof(error.text)));
    if (code > ATALAYA_END && code <= ATALAYA_UNSUPPORTED) {
      if (text.empty()) text = std::string(operation) + " failed and gave no reason (code " + std::to_string(code) + ")";
      return {code, std::move(text)};
    }
    return {ATALAYA_PERMANENT, std::string(operation) + " answered with the unknown code " + std::to_string(code) +
                                   (text.empty() ? "" : ": " + text) + "; report it to the plugin's author"};
  } catch (const std::exception &exception) {
    return {ATALAYA_PERMANENT,
            std::string(operation) + " let a C++ exception out: " + exception.what() + "; report it to the plugin's author"};
  } catch (...) {
    return {ATALAYA_PERMANENT, std::string(operation) + " let an unknown exception out; report it to the plugin's author"};
  }
}

// A scope that sets a pointer during a call.
class Handed {
 public:
  Handed(Batch *&place, Batch &batch) : place_(place) { place_ = &batch; }
  Handed(const Handed &) = delete;
  Handed &operator=(const Handed &) = delete;
  ~Handed() { place_ = nullptr; }

 private:
  Batch *&place_;
};

}  // namespace

void Surroundings::log(LogLevel level, std::string_view text) {
  log_limited(level, text);
}

int64_t Surroundings::now(int32_t clock) {
  return clock == ATALAYA_CLOCK_REALTIME ? realtime() : monotonic();
}

LocalInstance::LocalInstance(Registry::Component component, Parameters parameters, std::string label, NameTable &names,
                             Surroundings &surroundings)
    : Instance(std::move(component), std::move(parameters), std::move(label)),
      names_(names),
      surroundings_(surroundings),
      host_(host_functions(this)) {}

Result<std::unique_ptr<Instance>> Instance::create(Registry::Component component, Parameters parameters, std::string label,
                                                   NameTable &names, Surroundings &surroundings) {
  auto made = std::make_unique<LocalInstance>(std::move(component), std::move(parameters), std::move(label), names, surroundings);
  if (const Outcome outcome = made->create(); outcome.code != ATALAYA_OK) return Error{made->label() + ": " + outcome.text};
  return std::unique_ptr<Instance>(std::move(made));
}

Outcome LocalInstance::create() {
  Outcome outcome = call(label_, "create",
                         [&](atalaya_error *error) { return component().ops->create(&host_, &component(), &instance_, error); });
  created_ = outcome.code == ATALAYA_OK;
  if (!created_ && outcome.text.empty()) outcome.text = "create made no instance";
  return outcome;
}

LocalInstance::~LocalInstance() {
  if (!created_) return;
  if (started_) stop();
  const Outcome outcome =
      call(label_, "destroy", [this](atalaya_error *) { return component().ops->destroy(instance_), ATALAYA_OK; });
  if (!outcome.ok()) surroundings_.log(LogLevel::error, label_ + ": " + outcome.text);
}

Outcome LocalInstance::start() {
  started_ = true;  // also if start fails, because stop releases its resources
  return call(label_, "start", [this](atalaya_error *error) { return component().ops->start(instance_, error); });
}

Outcome LocalInstance::stop() {
  started_ = false;
  return call(label_, "stop", [this](atalaya_error *error) { return component().ops->stop(instance_, error); });
}

Outcome LocalInstance::collect(const atalaya_window &window, Batch &batch) {
  const Handed handed(current_, batch);
  return call(label_, "collect",
              [&](atalaya_error *error) { return component().ops->collect(instance_, &window, &batch.raw(), error); });
}

Outcome LocalInstance::run() {
  Outcome outcome = call(label_, "run", [this](atalaya_error *error) { return component().ops->run(instance_, error); });
  new_batches_.clear();
  return outcome;
}

void LocalInstance::acked(uint64_t batch_id, int32_t status) {
  const auto hear = component().ops->acked;
  if (hear == nullptr) return;
  const Outcome outcome = call(label_, "acked", [&](atalaya_error *) { return hear(instance_, batch_id, status), ATALAYA_OK; });
  if (!outcome.ok()) surroundings_.log(LogLevel::error, label_ + ": " + outcome.text);
}

void LocalInstance::interrupt() {
  const Outcome outcome =
      call(label_, "interrupt", [this](atalaya_error *) { return component().ops->interrupt(instance_), ATALAYA_OK; });
  if (!outcome.ok()) surroundings_.log(LogLevel::error, label_ + ": " + outcome.text);
}

Outcome LocalInstance::process(const atalaya_window &window, Batch &batch) {
  const Handed handed(current_, batch);
  return call(label_, "process",
              [&](atalaya_error *error) { return component().ops->process(instance_, &window, &batch.raw(), error); });
}

Outcome LocalInstance::write(const atalaya_batch &batch, int64_t &retry_after_ns) {
  retry_after_ns = 0;
  Outcome outcome = call(label_, "write",
                         [&](atalaya_error *error) { return component().ops->write(instance_, &batch, &retry_after_ns, error); });
  retry_after_ns = std::max<int64_t>(retry_after_ns, 0);
  return outcome;
}

Outcome LocalInstance::flush(int64_t deadline_ns) {
  const auto hand_on = component().ops->flush;
  if (hand_on == nullptr) return {};
  return call(label_, "flush", [&](atalaya_error *error) { return hand_on(instance_, deadline_ns, error); });
}

Outcome LocalInstance::command(const std::vector<std::string> &arguments, int32_t &status) {
  std::vector<atalaya_str> texts;
  texts.reserve(arguments.size());
  for (const std::string &argument : arguments) texts.push_back({argument.data(), argument.size()});
  return call(label_, "command", [&](atalaya_error *error) {
    return component().ops->command(instance_, texts.size(), texts.data(), &status, error);
  });
}

}  // namespace atalaya::core
