// SPDX-License-Identifier: Apache-2.0
#include "core/config/lua_table.h"

#include "core/config/components.h"
#include "core/config/lua/lua_read.h"
#include "core/config/lua/lua_state.h"

namespace atalaya::core {

Result<Value> lua_table(const std::string &text) {
  LuaState state("");
  LuaState::Failure failure;
  if (!state.load_text("return " + text, failure)) return Error{failure.text};
  state.start_limit(LuaLimits::kEvaluate_ns);
  const bool done = state.call(0, 1);
  state.end_limit();
  if (!done) return Error{state.failure().text};
  state.lift_memory_limit();
  std::vector<Problem> problems;
  Value value = LuaReader(state.raw()).take(problems);
  if (!problems.empty()) return Error{text_of(problems.front())};
  return value;
}

}  // namespace atalaya::core
