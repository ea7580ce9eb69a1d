// SPDX-License-Identifier: Apache-2.0
// A created component, in this process or another one, and the services that it uses.
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/log.h"
#include "core/base/result.h"
#include "core/base/sample/batch.h"
#include "core/base/sample/symbols.h"
#include "core/plugin/describe/parameters.h"
#include "core/plugin/registry.h"

namespace atalaya::core {

// The services for an instance. The defaults are for use without an engine (check, try, tests).
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  virtual void log(LogLevel level, std::string_view text);                              // any thread
  virtual void count(int32_t /*what*/, std::string_view /*reason*/, uint64_t /*n*/) {}  // any thread
  virtual int64_t now(int32_t clock);                                                   // any thread
  virtual BatchOwner new_batch() { return nullptr; }                                    // only for push sources
  virtual int32_t emit(BatchOwner, uint64_t & /*id*/) { return ATALAYA_END; }
  virtual std::optional<std::string> state_dir() { return std::nullopt; }
  // The process of an isolated instance was restarted after a crash or a hang.
  virtual void on_restart() {}
  // Reads a ledger row of a snapshot; row 0 makes a new snapshot. Texts in `out` are valid until the next row 0.
  virtual bool ledger(uint64_t /*row*/, atalaya_ledger_row & /*out*/) { return false; }
};

// The result of an operation: one of the codes of plugin.h. An unknown code and a C++ exception of the plugin become
// ATALAYA_PERMANENT.
struct Outcome {
  int32_t code = ATALAYA_OK;
  std::string text;          // the plugin's message; may be empty
  bool unavailable = false;  // the isolated process has ended and will be restarted; the code is ATALAYA_RETRY
  bool ok() const { return code == ATALAYA_OK || code == ATALAYA_NOTHING; }
};

// A created component. Callers must follow the thread rules of plugin.h. The destructor stops a started component, then destroys
// it.
class Instance {
 public:
  // Creates the component in this process. Its log lines and errors start with `label`: `pipeline "x": source "proc"`. `names` and
  // `surroundings` must outlive the instance.
  static Result<std::unique_ptr<Instance>> create(Registry::Component component, Parameters parameters, std::string label,
                                                  NameTable &names, Surroundings &surroundings);
  Instance(const Instance &) = delete;
  Instance &operator=(const Instance &) = delete;
  virtual ~Instance() = default;

  virtual Outcome start() = 0;
  virtual Outcome stop() = 0;
  virtual Outcome collect(const atalaya_window &window, Batch &batch) = 0;
  virtual Outcome run() = 0;
  virtual void acked(uint64_t batch_id, int32_t status) = 0;
  virtual void interrupt() = 0;
  virtual Outcome process(const atalaya_window &window, Batch &batch) = 0;
  virtual Outcome write(const atalaya_batch &batch, int64_t &retry_after_ns) = 0;
  virtual Outcome flush(int64_t deadline_ns) = 0;
  virtual Outcome command(const std::vector<std::string> &arguments, int32_t &status) = 0;
  // Sets a deadline (CLOCK_MONOTONIC) for calls that can be interrupted. Any thread.
  virtual void end_by(int64_t /*deadline_ns*/) {}

  const atalaya_component &component() const { return *component_.component; }
  const Parameters &parameters() const { return parameters_; }
  const std::string &label() const { return label_; }

 protected:
  Instance(Registry::Component component, Parameters parameters, std::string label)
      : component_(std::move(component)), parameters_(std::move(parameters)), label_(std::move(label)) {}

  const Registry::Component component_;
  const Parameters parameters_;
  const std::string label_;
};

}  // namespace atalaya::core
