// SPDX-License-Identifier: Apache-2.0
// Emits the samples of all parts of the source.
#pragma once

#include <atalaya/plugin.hpp>

#include <initializer_list>
#include <string>
#include <string_view>

#include "plugins/sources/power/power_metrics.h"

namespace atalaya::power {

// Collects the values of one sample, then emits it.
class Output {
 public:
  explicit Output(Host host)
      : emitter_(host),
        package_(host.intern("package")),
        core_(host.intern("core")),
        state_(host.intern("state")),
        chip_(host.intern("chip")),
        sensor_(host.intern("sensor")),
        zone_(host.intern("zone")),
        battery_(host.intern("battery")),
        gpu_(host.intern("gpu")),
        pid_(host.intern("pid")),
        process_(host.intern("process")),
        meter_(host.intern("meter")),
        quality_(host.intern("quality")) {}

  void begin(Batch &batch) { batch_ = &batch; }
  Values &values() { return values_; }
  // Ends one sample; a sample without values is not emitted.
  void emit(std::initializer_list<Emitter::Tag> tags) {
    emitter_.emit(*batch_, values_, tags);
    values_.clear();
  }
  void emit_package(int32_t number) { emit({{package_, std::to_string(number)}}); }
  void emit_core(int32_t number) { emit({{core_, std::to_string(number)}}); }
  void emit_core_state(int32_t number, std::string_view state) { emit({{core_, std::to_string(number)}, {state_, state}}); }
  void emit_package_state(int32_t number, std::string_view state) { emit({{package_, std::to_string(number)}, {state_, state}}); }
  void emit_sensor(std::string_view chip, std::string_view sensor) { emit({{chip_, chip}, {sensor_, sensor}}); }
  void emit_zone(std::string_view type) { emit({{zone_, type}}); }
  void emit_battery(std::string_view name) { emit({{battery_, name}}); }
  void emit_gpu(std::string_view name) { emit({{gpu_, name}}); }
  void emit_gpu_process(uint32_t pid, std::string_view process, std::string_view gpu) {
    emit({{pid_, std::to_string(pid)}, {process_, process}, {gpu_, gpu}});
  }
  void emit_meter(std::string_view name, bool model) {
    if (model)
      emit({{meter_, name}, {quality_, "model"}});
    else
      emit({{meter_, name}});
  }

 private:
  Emitter emitter_;
  uint32_t package_, core_, state_, chip_, sensor_, zone_, battery_, gpu_, pid_, process_, meter_, quality_;
  Values values_;
  Batch *batch_ = nullptr;
};

}  // namespace atalaya::power
