// SPDX-License-Identifier: Apache-2.0
// One created component, in this process or another, and the services of its surroundings.
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/sample/batch.h"
#include "core/base/log.h"
#include "core/base/result.h"
#include "core/base/sample/symbols.h"
#include "core/plugin/describe/parameters.h"
#include "core/plugin/registry.h"

namespace atalaya::core {

// The services for an instance. The defaults serve where there is no engine (check, try, tests).
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  virtual void log(LogLevel level, std::string_view text);                              // any thread
  virtual void count(int32_t /*what*/, std::string_view /*reason*/, uint64_t /*n*/) {}  // any thread
  virtual int64_t now(int32_t clock);                                                   // any thread
  virtual BatchOwner new_batch() { return nullptr; }                                    // push sources
  virtual int32_t emit(BatchOwner, uint64_t & /*id*/) { return ATALAYA_END; }
  virtual std::optional<std::string> state_dir() { return std::nullopt; }
  // Its process was restarted after a crash or a hang (isolation).
  virtual void restarted() {}
  // Row 0 takes a new snapshot. Texts in the row stay valid until the next row 0.
  virtual bool ledger(uint64_t /*row*/, atalaya_ledger_row & /*out*/) { return false; }
};

// The result of an operation: one of the codes of plugin.h. A code that is none of them, and an exception that left the plugin,
// become PERMANENT.
struct Outcome {
  int32_t code = ATALAYA_OK;
  std::string text;          // the plugin's message; may be empty
  bool unavailable = false;  // its process has ended and is being restarted; the code is RETRY
  bool ok() const { return code == ATALAYA_OK || code == ATALAYA_NOTHING; }
};

// Calls follow the thread rules of plugin.h; the caller keeps them. Destroyed by the destructor, stopped before if that was left
// out.
class Instance {
 public:
  // Creates the component in this process. `label` begins every line that it logs, and the error: pipeline "x": source "proc". The
  // names and the surroundings outlive it.
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
  // Any thread. Calls that can be cut short shall not last beyond this time (CLOCK_MONOTONIC).
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
