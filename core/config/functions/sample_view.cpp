// SPDX-License-Identifier: Apache-2.0
#include "core/config/functions/sample_view.h"

#include <cmath>
#include <cstring>
#include <exception>

#include "core/config/lua/lua_state.h"

namespace atalaya::core {
namespace {

constexpr const char *kMemberNames[] = {"tags", "fields", "time", "duration", "kind", "text", "unit", "metric_kind"};
constexpr const char *kKindNames[] = {"metrics", "stack", "span"};

// Upvalues of the functions below: the table of names in the id cache, and the two methods of a sample.
constexpr int kNames = 1, kUnitMethod = 2, kKindMethod = 3, kCommon = 3;
// Upvalues of an iterator: the number of its call, its index, the id of the previous name, whether it visits fields.
constexpr int kCall = 1, kIndex = 2, kLast = 3, kOfFields = 4;

}  // namespace

struct SampleViews::Callbacks {
  static SampleViews &owner(lua_State *lua) { return *LuaState::from_lua(lua).views(); }

  // A view is a light userdata, which needs no memory: the number of its call, and in the lowest 2 bits the part of the sample.
  enum Part : uintptr_t { kSample, kTagsPart, kFieldsPart, kPartBits = 3 };
  static void *view_of(lua_Integer call, Part part) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): never dereferenced
    return reinterpret_cast<void *>(static_cast<uintptr_t>(call) << 2 | part);
  }
  static uintptr_t view_at(lua_State *lua, int index) { return reinterpret_cast<uintptr_t>(lua_touserdata(lua, index)); }
  static Part part_of(uintptr_t view) { return static_cast<Part>(view & kPartBits); }

  static SampleViews &live(lua_State *lua, uintptr_t view) { return of_call(lua, static_cast<lua_Integer>(view >> 2)); }
  static SampleViews &of_call(lua_State *lua, lua_Integer call) {
    SampleViews &views = owner(lua);
    if (call != views.call_ || views.sample_ == nullptr)
      raise_error(lua, "this sample was kept after its call; copy its values into variables");
    return views;
  }

  // Calls the function at index 1 for each remaining sample. A Lua error ends the loop; its sample has no verdict.
  static int run(lua_State *lua) {
    SampleViews &views = owner(lua);
    while (views.next_ < views.verdicts_.size()) {
      const uint64_t index = views.next_++;
      views.select(views.batch_->raw().samples[index]);
      void *const view = view_of(++views.call_, kSample);
      lua_pushvalue(lua, 1);
      lua_pushlightuserdata(lua, view);
      lua_call(lua, 1, 1);
      if (lua_touserdata(lua, 2) == view)
        views.verdicts_[index] = Verdict::kept;
      else if (lua_toboolean(lua, 2) == 0)
        views.verdicts_[index] = Verdict::dropped;
      else if (views.wrong_type_ == nullptr)
        views.wrong_type_ = luaL_typename(lua, 2);
      lua_settop(lua, 1);
    }
    return 0;
  }

  // ---- Metamethods, by the part of the view ----
  static int index(lua_State *lua) {
    const uintptr_t view = view_at(lua, 1);
    SampleViews &views = live(lua, view);
    switch (part_of(view)) {
      case kTagsPart:
        return tags_index(lua, views);
      case kFieldsPart:
        return fields_index(lua, views);
      default:
        return sample_index(lua, views);
    }
  }
  static int newindex(lua_State *lua) {
    const uintptr_t view = view_at(lua, 1);
    SampleViews &views = live(lua, view);
    switch (part_of(view)) {
      case kTagsPart:
        return tags_newindex(lua, views);
      case kFieldsPart:
        return fields_newindex(lua, views);
      default:
        return sample_newindex(lua, views);
    }
  }
  static int pairs_of(lua_State *lua) {
    const uintptr_t view = view_at(lua, 1);
    if (part_of(view) == kSample) return luaL_error(lua, "pairs(s.tags) and pairs(s.fields) go through a sample");
    return pairs(lua, live(lua, view), part_of(view) == kFieldsPart);
  }

  // ---- The sample ----
  static int sample_index(lua_State *lua, const SampleViews &views) {
    const atalaya_sample &sample = *views.sample_;
    const void *key = lua_topointer(lua, 2);
    if (key == views.members_[kFields]) {
      lua_pushlightuserdata(lua, view_of(views.call_, kFieldsPart));
    } else if (key == views.members_[kTags]) {
      lua_pushlightuserdata(lua, view_of(views.call_, kTagsPart));
    } else if (key == views.members_[kTime]) {
      lua_pushinteger(lua, sample.time_ns);
    } else if (key == views.members_[kDuration]) {
      lua_pushinteger(lua, sample.duration_ns);
    } else if (key == views.members_[kText]) {
      lua_pushlstring(lua, sample.text.size == 0 ? "" : sample.text.data, sample.text.size);
    } else if (key == views.members_[kKind]) {
      lua_pushstring(lua, sample.kind < std::size(kKindNames) ? kKindNames[sample.kind] : "unknown");
    } else if (key == views.members_[kUnit]) {
      lua_pushvalue(lua, lua_upvalueindex(kUnitMethod));
    } else if (key == views.members_[kMetricKind]) {
      lua_pushvalue(lua, lua_upvalueindex(kKindMethod));
    } else {
      unknown_member(lua);
    }
    return 1;
  }

  // s:unit(name), s:metric_kind(name): nil for an undeclared metric.
  static int unit(lua_State *lua) {
    const atalaya_metric_info *info = metric_at(lua);
    if (info == nullptr) {
      lua_pushnil(lua);
      return 1;
    }
    lua_pushlstring(lua, info->unit.data, info->unit.size);
    return 1;
  }
  static int metric_kind(lua_State *lua) {
    const atalaya_metric_info *info = metric_at(lua);
    if (info == nullptr) {
      lua_pushnil(lua);
      return 1;
    }
    const std::string_view kind = metric_kind_name(info->kind);
    lua_pushlstring(lua, kind.data(), kind.size());
    return 1;
  }
  // The metric with the name at index 2. The sample need not have that field.
  static const atalaya_metric_info *metric_at(lua_State *lua) {
    const uintptr_t view = view_at(lua, 1);
    if (lua_type(lua, 1) != LUA_TLIGHTUSERDATA || part_of(view) != kSample)
      luaL_error(lua, "write s:unit(name) and s:metric_kind(name), with a colon");
    SampleViews &views = live(lua, view);
    if (lua_type(lua, 2) != LUA_TSTRING) luaL_error(lua, "the name of a metric is a string, got a %s", luaL_typename(lua, 2));
    if (const uint32_t id = id_at(lua, views, true, false); id != 0) return views.symbols_.metric(id);
    return views.symbols_.metric(views.symbols_.find(string_at(lua, 2)));
  }

  static int sample_newindex(lua_State *lua, SampleViews &views) {
    const void *key = lua_topointer(lua, 2);
    if (key == views.members_[kTime] || key == views.members_[kDuration]) {
      if (lua_isinteger(lua, 3) == 0)
        return luaL_error(lua, "%s is a whole number of nanoseconds, got a %s; compute with whole numbers, and with // for /",
                          lua_tostring(lua, 2), lua_type(lua, 3) == LUA_TNUMBER ? "number with a fraction" : luaL_typename(lua, 3));
      (key == views.members_[kTime] ? views.sample_->time_ns : views.sample_->duration_ns) = lua_tointeger(lua, 3);
      return 0;
    }
    if (key == views.members_[kText]) {
      if (lua_type(lua, 3) != LUA_TSTRING) return luaL_error(lua, "text is a string, got a %s", luaL_typename(lua, 3));
      charge_copy(lua);
      return done(lua, views.edit_.set_text(string_at(lua, 3)));
    }
    if (key == views.members_[kTags] || key == views.members_[kFields])
      return luaL_error(lua, "%s cannot be replaced; set single ones: s.%s.name = value", lua_tostring(lua, 2),
                        lua_tostring(lua, 2));
    if (key == views.members_[kKind]) return luaL_error(lua, "the kind of a sample cannot be changed");
    return unknown_member(lua);
  }

  static int unknown_member(lua_State *lua) {
    return luaL_error(lua, "a sample has no \"%s\"; it has tags, fields, time, duration, kind, text, unit() and metric_kind()",
                      luaL_tolstring(lua, 2, nullptr));
  }
  // Counts the copy of the string at index 3 as work.
  static void charge_copy(lua_State *lua) { LuaState::from_lua(lua).charge(1 + lua_rawlen(lua, 3) / 4); }
  static int done(lua_State *lua, SampleEdit::Change change) {
    if (change == SampleEdit::Change::done) return 0;
    if (change == SampleEdit::Change::no_room) return luaL_error(lua, "the sample has no room for more");
    return luaL_error(lua, "more than a function may add to a batch: %d MiB, and %d KiB for each of its samples; set shorter texts",
                      static_cast<int>(LuaLimits::kBatchAdds >> 20), static_cast<int>(LuaLimits::kSampleAdds >> 10));
  }

  // ---- Tags and fields ----
  // The id of the name at index 2: from the cache, from the sample, or with `make` a new one; 0 if there is none.
  static uint32_t id_at(lua_State *lua, SampleViews &views, bool field, bool make) {
    const void *const name = lua_topointer(lua, 2);
    const size_t first = (reinterpret_cast<uintptr_t>(name) >> 4) * 0x9e3779b97f4a7c15 >> (64 - kSlotBits), second = first ^ 1;
    if (name != nullptr && views.ids_[first].name == name) return views.ids_[first].id;
    if (name != nullptr && views.ids_[second].name == name) return views.ids_[second].id;
    if (lua_type(lua, 2) != LUA_TSTRING)
      luaL_error(lua, "the name of a %s is a string, got a %s", field ? "field" : "tag", luaL_typename(lua, 2));
    const uint32_t id = make ? views.new_id(string_at(lua, 2)) : views.known_id(string_at(lua, 2), field);
    if (id == 0) {
      if (make)
        luaL_error(lua, "\"%s\" cannot be a name: it is empty or too long, or there are too many names", lua_tostring(lua, 2));
      return 0;
    }
    const size_t slot = views.ids_[first].name == nullptr ? first : second;
    lua_pushvalue(lua, 2);
    lua_rawseti(lua, lua_upvalueindex(kNames), static_cast<lua_Integer>(slot) + 1);
    views.ids_[slot] = {name, id};
    return id;
  }

  static int tags_index(lua_State *lua, SampleViews &views) {
    const uint32_t i = views.edit_.tag_index(id_at(lua, views, false, false));
    if (i < views.sample_->tag_count) return push_tag(lua, views.sample_->tags[i]);
    lua_pushnil(lua);
    return 1;
  }
  static int fields_index(lua_State *lua, SampleViews &views) {
    const uint32_t i = views.edit_.field_index(id_at(lua, views, true, false));
    if (i < views.sample_->field_count) return push_field(lua, views.sample_->fields[i]);
    lua_pushnil(lua);
    return 1;
  }

  static int tags_newindex(lua_State *lua, SampleViews &views) {
    if (lua_isnil(lua, 3)) return done(lua, views.edit_.remove_tag(id_at(lua, views, false, false)));
    if (lua_type(lua, 3) != LUA_TSTRING)
      return luaL_error(lua, "tag \"%s\" is a string, got a %s; tostring() makes one", luaL_tolstring(lua, 2, nullptr),
                        luaL_typename(lua, 3));
    charge_copy(lua);
    return done(lua, views.edit_.set_tag(id_at(lua, views, false, true), string_at(lua, 3)));
  }
  static int fields_newindex(lua_State *lua, SampleViews &views) {
    if (lua_isnil(lua, 3)) return done(lua, views.edit_.remove_field(id_at(lua, views, true, false)));
    if (lua_type(lua, 3) != LUA_TNUMBER)
      return luaL_error(lua, "field \"%s\" is a number, got a %s", luaL_tolstring(lua, 2, nullptr), luaL_typename(lua, 3));
    atalaya_field field{id_at(lua, views, true, true), ATALAYA_I64, {}};
    if (lua_isinteger(lua, 3) != 0) {
      field.value.i64 = lua_tointeger(lua, 3);
    } else {
      field.type = ATALAYA_F64;
      field.value.f64 = lua_tonumber(lua, 3);
      if (!std::isfinite(field.value.f64) && !views.edit_.contains(field))
        return luaL_error(lua, "field \"%s\" cannot be %s, the result of a division by zero or the like; nil removes the field",
                          lua_tostring(lua, 2), std::isnan(field.value.f64) ? "NaN" : "infinite");
    }
    return done(lua, views.edit_.set_field(field));
  }

  static int push_tag(lua_State *lua, const atalaya_tag &tag) {
    lua_pushlstring(lua, tag.value.size == 0 ? "" : tag.value.data, tag.value.size);
    return 1;
  }
  static int push_field(lua_State *lua, const atalaya_field &field) {
    if (field.type == ATALAYA_I64) {
      lua_pushinteger(lua, field.value.i64);
    } else {
      lua_pushnumber(lua, field.value.f64);
    }
    return 1;
  }

  // ---- pairs(s.tags), pairs(s.fields): the loop may remove the current element, as in a table ----
  static int pairs(lua_State *lua, const SampleViews &views, bool fields) {
    lua_pushinteger(lua, views.call_);
    lua_pushinteger(lua, 0);
    lua_pushinteger(lua, 0);
    lua_pushboolean(lua, fields ? 1 : 0);
    lua_pushcclosure(lua, next, 4);
    return 1;
  }
  static int next(lua_State *lua) {
    const SampleViews &views = of_call(lua, lua_tointeger(lua, lua_upvalueindex(kCall)));
    const bool fields = lua_toboolean(lua, lua_upvalueindex(kOfFields)) != 0;
    const atalaya_sample &sample = *views.sample_;
    const uint32_t count = fields ? sample.field_count : sample.tag_count;
    const auto id_of = [&](uint32_t i) { return fields ? sample.fields[i].name : sample.tags[i].key; };
    auto index = static_cast<uint32_t>(lua_tointeger(lua, lua_upvalueindex(kIndex)));
    const auto last = static_cast<uint32_t>(lua_tointeger(lua, lua_upvalueindex(kLast)));
    // If the loop removed the current element, the next one is at its index.
    if (last != 0 && index < count && id_of(index) == last) ++index;
    if (index >= count) return 0;
    lua_pushinteger(lua, index);
    lua_replace(lua, lua_upvalueindex(kIndex));
    lua_pushinteger(lua, id_of(index));
    lua_replace(lua, lua_upvalueindex(kLast));
    const std::string_view name = views.symbols_.name(id_of(index));
    lua_pushlstring(lua, name.data(), name.size());
    return 1 + (fields ? push_field(lua, sample.fields[index]) : push_tag(lua, sample.tags[index]));
  }

  // Pushes a function with the upvalues at stack index `common` and after it; upvalues that do not exist yet are nil.
  static void push_function(lua_State *lua, int common, lua_CFunction function) {
    for (int i = 0; i < kCommon; ++i) lua_pushvalue(lua, common + i);
    lua_pushcclosure(lua, function, kCommon);
  }
};

SampleViews::SampleViews(LuaState &state, Symbols &symbols) : state_(state), lua_(state.raw()), symbols_(symbols) {
  static constexpr luaL_Reg kFunctions[] = {
      {"__index", Callbacks::index}, {"__newindex", Callbacks::newindex}, {"__pairs", Callbacks::pairs_of}};
  state.lift_memory_limit();
  lua_State *const lua = lua_;
  lua_settop(lua, 0);
  lua_newtable(lua);  // 1: the names of members, which must not be collected
  for (int i = 0; i < kMembers; ++i) {
    lua_pushstring(lua, kMemberNames[i]);
    members_[i] = lua_topointer(lua, -1);
    lua_rawseti(lua, 1, i + 1);
  }
  luaL_ref(lua, LUA_REGISTRYINDEX);
  lua_createtable(lua, kSlots, 0);  // 1 to 3: the upvalues
  for (int i = 1; i <= kSlots; ++i) {
    lua_pushboolean(lua, 0);
    lua_rawseti(lua, 1, i);
  }
  lua_pushnil(lua);
  lua_pushnil(lua);
  Callbacks::push_function(lua, 1, Callbacks::unit);
  lua_replace(lua, 2);
  Callbacks::push_function(lua, 1, Callbacks::metric_kind);
  lua_replace(lua, 3);
  Callbacks::push_function(lua, 1, Callbacks::run);
  runner_ = luaL_ref(lua, LUA_REGISTRYINDEX);
  lua_pushlightuserdata(lua, nullptr);
  lua_newtable(lua);  // the metatable of all light userdata, of which a file sees views only
  for (const auto &[name, function] : kFunctions) {
    Callbacks::push_function(lua, 1, function);
    lua_setfield(lua, -2, name);
  }
  lua_pushliteral(lua, "sample");
  lua_setfield(lua, -2, "__name");
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_setmetatable(lua, -2);
  lua_settop(lua, 0);
  state.restore_memory_limit();
  state.set_views(this);
}

void SampleViews::start(Batch &batch) {
  batch_ = &batch;
  edit_.start(batch, batch.used_bytes() + LuaLimits::kBatchAdds + batch.count() * LuaLimits::kSampleAdds);
  verdicts_.assign(batch.count(), Verdict::failed);
  next_ = 0;
  wrong_type_ = nullptr;
}

bool SampleViews::run(int function) {
  const uint64_t first = next_;
  lua_rawgeti(lua_, LUA_REGISTRYINDEX, runner_);
  lua_rawgeti(lua_, LUA_REGISTRYINDEX, function);
  const bool returned = state_.call(1, 0);
  sample_ = nullptr;
  if (!returned && next_ == first) ++next_;  // the error was raised before the first call
  return returned;
}

// Does not intern the name: a function may read names that do not exist.
uint32_t SampleViews::known_id(std::string_view name, bool field) const {
  const uint32_t count = field ? sample_->field_count : sample_->tag_count;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t id = field ? sample_->fields[i].name : sample_->tags[i].key;
    if (symbols_.name(id) == name) return id;
  }
  return 0;
}

uint32_t SampleViews::new_id(std::string_view name) noexcept {
  try {
    return symbols_.intern(name);
  } catch (const std::exception &) {
    return 0;
  }
}

}  // namespace atalaya::core
