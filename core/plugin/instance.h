// SPDX-License-Identifier: Apache-2.0
// One created component and the host services that it was given.
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/parameters.h"
#include "core/plugin/registry.h"
#include "core/sample/batch.h"
#include "core/sample/symbols.h"
#include "core/util/log.h"
#include "core/util/result.h"

namespace atalaya::core {

// What the surroundings of an instance do for it. The defaults are those of a place without an engine (check, try, tests).
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  virtual void log(LogLevel level, std::string_view text);                              // any thread
  virtual void count(int32_t /*what*/, std::string_view /*reason*/, uint64_t /*n*/) {}  // any thread
  virtual int64_t now(int32_t clock);                                                   // any thread
  virtual BatchOwner new_batch() { return nullptr; }                                    // push sources
  virtual int32_t emit(BatchOwner, uint64_t & /*id*/) { return ATALAYA_END; }
  virtual std::optional<std::string> state_dir() { return std::nullopt; }
  // Row 0 takes a new snapshot. Texts in the row stay valid until the next row 0.
  virtual bool ledger(uint64_t /*row*/, atalaya_ledger_row & /*out*/) { return false; }
};

// What an operation answered: one of the codes of plugin.h. A code that is none of them, and an exception that left the plugin,
// become PERMANENT.
struct Outcome {
  int32_t code = ATALAYA_OK;
  std::string text;  // what the plugin said; "" if nothing
  bool ok() const { return code == ATALAYA_OK || code == ATALAYA_NOTHING; }
};

// Calls follow the thread rules of plugin.h; the caller keeps them. Destroyed by the destructor, stopped before if that was left
// out.
class Instance {
 public:
  // Creates the component. `label` begins every line that it logs, and the error: pipeline "x": source "proc". The surroundings
  // outlive it.
  static Result<std::unique_ptr<Instance>> create(Registry::Component component, Parameters parameters, std::string label,
                                                  Symbols &symbols, Surroundings &surroundings);
  Instance(const Instance &) = delete;
  Instance &operator=(const Instance &) = delete;
  ~Instance();

  Outcome start();
  Outcome stop();
  Outcome collect(const atalaya_window &window, Batch &batch);
  Outcome run();
  void acked(uint64_t batch_id, int32_t status);
  void interrupt();
  Outcome process(const atalaya_window &window, Batch &batch);
  Outcome write(const atalaya_batch &batch, int64_t &retry_after_ns);
  Outcome flush(int64_t deadline_ns);
  Outcome command(const std::vector<std::string> &arguments, int32_t &status);

  const atalaya_component &component() const { return *component_.component; }
  const Parameters &parameters() const { return parameters_; }
  const std::string &label() const { return label_; }

 private:
  Instance(Registry::Component component, Parameters parameters, std::string label, Symbols &symbols, Surroundings &surroundings);
  friend struct HostFunctions;  // the C functions of the table, in instance.cpp

  Registry::Component component_;
  Parameters parameters_;
  std::string label_;
  Symbols &symbols_;
  Surroundings &surroundings_;
  atalaya_host host_;
  void *instance_ = nullptr;
  bool created_ = false, started_ = false;

  Batch *handed_ = nullptr;       // the batch of the collect or process that runs
  std::vector<BatchOwner> lent_;  // given by new_batch, not yet emitted
  std::mutex state_dir_mutex_;
  std::string state_dir_;
};

}  // namespace atalaya::core
