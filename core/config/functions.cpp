// SPDX-License-Identifier: Apache-2.0
#include "core/config/functions.h"

#include <mutex>
#include <utility>

#include "core/config/lua_functions.h"
#include "core/config/lua_read.h"
#include "core/config/sample_view.h"

namespace atalaya::core {
namespace {

class LuaFunctions final : public FunctionHost {
 public:
  LuaFunctions(std::unique_ptr<LuaState> state, std::vector<int> functions, Symbols &symbols)
      : state_(std::move(state)), functions_(std::move(functions)), views_(*state_, symbols) {}

  Result apply(int function, Batch &batch, bool pass_failed) override {
    const std::lock_guard lock(mutex_);
    Result result;
    atalaya_batch &raw = batch.raw();
    const int reference = functions_.at(static_cast<size_t>(function) - 1);
    const auto samples = static_cast<int64_t>(raw.count);
    state_->begin_limit(LuaLimits::kBatch_ns + samples * LuaLimits::kSample_ns);
    views_.begin(batch);
    uint64_t kept = 0;
    for (uint64_t i = 0; i < raw.count; ++i) {
      // After the limit the rest of the batch is as failed as the sample that met it.
      const Verdict verdict = state_->timed_out() ? Verdict::failed : call(reference, raw.samples[i], result);
      if (verdict == Verdict::dropped) ++result.dropped;
      if (verdict == Verdict::failed) ++result.failed;
      if (verdict == Verdict::kept || (verdict == Verdict::failed && pass_failed)) {
        if (kept != i) raw.samples[kept] = raw.samples[i];
        ++kept;
      }
    }
    raw.count = kept;
    state_->end_limit();
    return result;
  }

 private:
  enum class Verdict { kept, dropped, failed };

  Verdict call(int reference, atalaya_sample &sample, Result &batch) {
    lua_State *lua = state_->raw();
    views_.show(sample);
    views_.push_runner();
    lua_rawgeti(lua, LUA_REGISTRYINDEX, reference);
    const bool returned = state_->call(1, 2);
    views_.hide();
    if (!returned) {
      if (batch.error.empty()) batch.error = text_of(state_->failure());
      return Verdict::failed;
    }
    const auto answer = static_cast<SampleViews::Answer>(lua_tointeger(lua, -2));
    if (answer == SampleViews::kOther && batch.error.empty()) batch.error = wrong_answer(reference, lua_tostring(lua, -1));
    lua_pop(lua, 2);
    return answer == SampleViews::kKept ? Verdict::kept : answer == SampleViews::kDropped ? Verdict::dropped : Verdict::failed;
  }

  std::string wrong_answer(int reference, const char *type) {
    lua_Debug info{};
    lua_rawgeti(state_->raw(), LUA_REGISTRYINDEX, reference);
    lua_getinfo(state_->raw(), ">S", &info);
    return text_of({location_of(info, info.linedefined),
                    std::string("the function returned a ") + type + "; return the sample to keep it, nil to drop it"});
  }

  static std::string text_of(const LuaState::Failure &failure) {
    if (failure.where.line == 0) return failure.text;
    return prefix_of(failure.where) + failure.text;
  }

  std::mutex mutex_;
  std::unique_ptr<LuaState> state_;
  std::vector<int> functions_;
  SampleViews views_;
};

}  // namespace

std::shared_ptr<FunctionHost> make_function_host(std::unique_ptr<LuaState> state, std::vector<int> functions, Symbols &symbols) {
  return std::make_shared<LuaFunctions>(std::move(state), std::move(functions), symbols);
}

}  // namespace atalaya::core
