// SPDX-License-Identifier: Apache-2.0
#include "core/config/sample_view.h"

#include <cmath>
#include <cstring>
#include <exception>

#include "core/config/lua_state.h"

namespace atalaya::core {
namespace {

constexpr size_t kMaxCached = 65536;  // names whose ids a state remembers
constexpr const char *kWordTexts[] = {"tags", "fields", "time", "duration", "kind", "text", "unit", "metric_kind"};
constexpr const char *kKindTexts[] = {"metrics", "stack", "span"};

// Upvalues of every function below.
constexpr int kOwner = 1, kTagsMeta = 2, kFieldsMeta = 3, kIds = 4, kCommon = 4;
// Of an iterator, which has these instead: the call it belongs to, where it stands, what it gave last, and of what.
constexpr int kCall = 2, kIndex = 3, kLast = 4, kOfFields = 5;

template <class T>
void erase(T *items, uint32_t &count, uint32_t index) {
  std::memmove(items + index, items + index + 1, (--count - index) * sizeof(T));
}

}  // namespace

struct SampleViews::Callbacks {
  static SampleViews &owner(lua_State *lua) { return *static_cast<SampleViews *>(lua_touserdata(lua, lua_upvalueindex(kOwner))); }

  // The sample of the view at index 1.
  static SampleViews &live(lua_State *lua) { return of_call(lua, *static_cast<const lua_Integer *>(lua_touserdata(lua, 1))); }
  static SampleViews &of_call(lua_State *lua, lua_Integer call) {
    SampleViews &views = owner(lua);
    if (call != views.call_ || views.sample_ == nullptr)
      raise_error(lua, "this sample was kept after its call; copy its values into variables");
    return views;
  }

  static void push_view(lua_State *lua, lua_Integer call, int metatable) {
    *static_cast<lua_Integer *>(lua_newuserdatauv(lua, sizeof(lua_Integer), 0)) = call;
    lua_pushvalue(lua, lua_upvalueindex(metatable));
    lua_setmetatable(lua, -2);
  }

  // ---- The sample ----
  static int run(lua_State *lua) {
    push_view(lua, owner(lua).call_, kTagsMeta);  // of the runner: the sample's metatable
    lua_pushvalue(lua, 1);
    lua_pushvalue(lua, 2);
    lua_call(lua, 1, 1);
    const Answer answer = lua_toboolean(lua, 3) == 0 ? kDropped : lua_rawequal(lua, 2, 3) != 0 ? kKept : kOther;
    lua_pushinteger(lua, answer);
    if (answer != kOther) return 1;
    lua_pushstring(lua, luaL_typename(lua, 3));
    return 2;
  }

  static int sample_index(lua_State *lua) {
    const SampleViews &views = live(lua);
    const atalaya_sample &sample = *views.sample_;
    const char *key = lua_type(lua, 2) == LUA_TSTRING ? lua_tostring(lua, 2) : nullptr;
    if (key == views.words_[kFields]) {
      push_view(lua, views.call_, kFieldsMeta);
    } else if (key == views.words_[kTags]) {
      push_view(lua, views.call_, kTagsMeta);
    } else if (key == views.words_[kTime]) {
      lua_pushinteger(lua, sample.time_ns);
    } else if (key == views.words_[kDuration]) {
      lua_pushinteger(lua, sample.duration_ns);
    } else if (key == views.words_[kText]) {
      lua_pushlstring(lua, sample.text.size == 0 ? "" : sample.text.data, sample.text.size);
    } else if (key == views.words_[kKind]) {
      lua_pushstring(lua, sample.kind < std::size(kKindTexts) ? kKindTexts[sample.kind] : "unknown");
    } else if (key != nullptr && (key == views.words_[kUnit] || key == views.words_[kMetricKind])) {
      for (int i = 1; i <= kCommon; ++i) lua_pushvalue(lua, lua_upvalueindex(i));
      lua_pushcclosure(lua, key == views.words_[kUnit] ? unit : metric_kind, kCommon);
    } else {
      unknown_member(lua);
    }
    return 1;
  }

  // s:unit(name), s:metric_kind(name): nil when nobody declared the metric.
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
  // Of the name at index 2; the sample need not have the field.
  static const atalaya_metric_info *metric_at(lua_State *lua) {
    if (lua_type(lua, 1) != LUA_TUSERDATA || lua_rawlen(lua, 1) != sizeof(lua_Integer))
      luaL_error(lua, "write s:unit(name) and s:metric_kind(name), with a colon");
    SampleViews &views = live(lua);
    if (lua_type(lua, 2) != LUA_TSTRING) luaL_error(lua, "the name of a metric is a string, got a %s", luaL_typename(lua, 2));
    if (const uint32_t id = id_at(lua, views, true, false); id != 0) return views.symbols_.metric(id);
    return views.symbols_.metric(views.symbols_.find(string_at(lua, 2)));
  }

  static int sample_newindex(lua_State *lua) {
    SampleViews &views = live(lua);
    const char *key = lua_type(lua, 2) == LUA_TSTRING ? lua_tostring(lua, 2) : nullptr;
    if (key == views.words_[kTime] || key == views.words_[kDuration]) {
      if (lua_isinteger(lua, 3) == 0)
        return luaL_error(lua, "%s is a whole number of nanoseconds, got a %s; compute with whole numbers, and with // for /", key,
                          lua_type(lua, 3) == LUA_TNUMBER ? "number with a fraction" : luaL_typename(lua, 3));
      (key == views.words_[kTime] ? views.sample_->time_ns : views.sample_->duration_ns) = lua_tointeger(lua, 3);
      return 0;
    }
    if (key == views.words_[kText]) {
      if (lua_type(lua, 3) != LUA_TSTRING) return luaL_error(lua, "text is a string, got a %s", luaL_typename(lua, 3));
      charge_copy(lua);
      return done(lua, views.set_text(string_at(lua, 3)));
    }
    if (key == views.words_[kTags] || key == views.words_[kFields])
      return luaL_error(lua, "%s cannot be replaced; set single ones: s.%s.name = value", key, key);
    if (key == views.words_[kKind]) return luaL_error(lua, "the kind of a sample cannot be changed");
    return unknown_member(lua);
  }

  static int unknown_member(lua_State *lua) {
    return luaL_error(lua, "a sample has no \"%s\"; it has tags, fields, time, duration, kind, text, unit() and metric_kind()",
                      luaL_tolstring(lua, 2, nullptr));
  }
  // The string at index 3 goes into the batch, which no instruction counts.
  static void charge_copy(lua_State *lua) { LuaState::of(lua).charge(1 + lua_rawlen(lua, 3) / 4); }
  static int done(lua_State *lua, Change change) {
    if (change == Change::done) return 0;
    if (change == Change::no_room) return luaL_error(lua, "the sample has no room for more");
    return luaL_error(lua, "more than a function may add to a batch: %d MiB, and %d KiB for each of its samples; set shorter texts",
                      static_cast<int>(LuaLimits::kBatchAdds >> 20), static_cast<int>(LuaLimits::kSampleAdds >> 10));
  }

  // ---- Tags and fields ----
  // The id of the name at index 2: from the cache, else looked up, else made if wanted; 0 if there is none.
  static uint32_t id_at(lua_State *lua, SampleViews &views, bool field, bool make) {
    lua_pushvalue(lua, 2);
    if (lua_rawget(lua, lua_upvalueindex(kIds)) == LUA_TNUMBER) {
      const auto id = static_cast<uint32_t>(lua_tointeger(lua, -1));
      lua_pop(lua, 1);
      return id;
    }
    lua_pop(lua, 1);
    if (lua_type(lua, 2) != LUA_TSTRING)
      luaL_error(lua, "the name of a %s is a string, got a %s", field ? "field" : "tag", luaL_typename(lua, 2));
    const uint32_t id = make ? views.new_id(string_at(lua, 2)) : views.known_id(string_at(lua, 2), field);
    if (id == 0) {
      if (make)
        luaL_error(lua, "\"%s\" cannot be a name: it is empty or too long, or there are too many names", lua_tostring(lua, 2));
      return 0;
    }
    if (views.cached_ < kMaxCached) {
      lua_pushvalue(lua, 2);
      lua_pushinteger(lua, id);
      lua_rawset(lua, lua_upvalueindex(kIds));
      ++views.cached_;
    }
    return id;
  }

  static int tags_index(lua_State *lua) {
    SampleViews &views = live(lua);
    const uint32_t i = views.tag_index(id_at(lua, views, false, false));
    if (i < views.sample_->tag_count) return push_tag(lua, views.sample_->tags[i]);
    lua_pushnil(lua);
    return 1;
  }
  static int fields_index(lua_State *lua) {
    SampleViews &views = live(lua);
    const uint32_t i = views.field_index(id_at(lua, views, true, false));
    if (i < views.sample_->field_count) return push_field(lua, views.sample_->fields[i]);
    lua_pushnil(lua);
    return 1;
  }

  static int tags_newindex(lua_State *lua) {
    SampleViews &views = live(lua);
    if (lua_isnil(lua, 3)) return done(lua, views.remove_tag(id_at(lua, views, false, false)));
    if (lua_type(lua, 3) != LUA_TSTRING)
      return luaL_error(lua, "tag \"%s\" is a string, got a %s; tostring() makes one", luaL_tolstring(lua, 2, nullptr),
                        luaL_typename(lua, 3));
    charge_copy(lua);
    return done(lua, views.set_tag(id_at(lua, views, false, true), string_at(lua, 3)));
  }
  static int fields_newindex(lua_State *lua) {
    SampleViews &views = live(lua);
    if (lua_isnil(lua, 3)) return done(lua, views.remove_field(id_at(lua, views, true, false)));
    if (lua_type(lua, 3) != LUA_TNUMBER)
      return luaL_error(lua, "field \"%s\" is a number, got a %s", luaL_tolstring(lua, 2, nullptr), luaL_typename(lua, 3));
    atalaya_field field{id_at(lua, views, true, true), ATALAYA_I64, {}};
    if (lua_isinteger(lua, 3) != 0) {
      field.value.i64 = lua_tointeger(lua, 3);
    } else {
      field.type = ATALAYA_F64;
      field.value.f64 = lua_tonumber(lua, 3);
      if (!std::isfinite(field.value.f64) && !views.holds(field))
        return luaL_error(lua, "field \"%s\" cannot be %s, the result of a division by zero or the like; nil removes the field",
                          lua_tostring(lua, 2), std::isnan(field.value.f64) ? "NaN" : "infinite");
    }
    return done(lua, views.set_field(field));
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

  // ---- pairs(s.tags), pairs(s.fields): the current one may be removed meanwhile, as in a table ----
  static int tags_pairs(lua_State *lua) { return pairs(lua, false); }
  static int fields_pairs(lua_State *lua) { return pairs(lua, true); }
  static int pairs(lua_State *lua, bool fields) {
    const SampleViews &views = live(lua);
    lua_pushvalue(lua, lua_upvalueindex(kOwner));
    lua_pushinteger(lua, views.call_);
    lua_pushinteger(lua, 0);
    lua_pushinteger(lua, 0);
    lua_pushboolean(lua, fields ? 1 : 0);
    lua_pushcclosure(lua, next, 5);
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
    // Removing the current one moves the next one into its place.
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

  // A metatable with these functions; `common` upvalues are on top of the stack and stay.
  static void fill(lua_State *lua, int metatable, const char *name, const luaL_Reg *functions) {
    const int common = lua_gettop(lua) - kCommon + 1;
    for (; functions->name != nullptr; ++functions) {
      for (int i = 0; i < kCommon; ++i) lua_pushvalue(lua, common + i);
      lua_pushcclosure(lua, functions->func, kCommon);
      lua_setfield(lua, metatable, functions->name);
    }
    lua_pushstring(lua, name);
    lua_setfield(lua, metatable, "__name");
    lua_pushboolean(lua, 0);
    lua_setfield(lua, metatable, "__metatable");
  }
};

SampleViews::SampleViews(LuaState &state, Symbols &symbols) : lua_(state.raw()), symbols_(symbols) {
  static constexpr luaL_Reg kSample[] = {
      {"__index", Callbacks::sample_index}, {"__newindex", Callbacks::sample_newindex}, {nullptr, nullptr}};
  static constexpr luaL_Reg kTagsView[] = {{"__index", Callbacks::tags_index},
                                           {"__newindex", Callbacks::tags_newindex},
                                           {"__pairs", Callbacks::tags_pairs},
                                           {nullptr, nullptr}};
  static constexpr luaL_Reg kFieldsView[] = {{"__index", Callbacks::fields_index},
                                             {"__newindex", Callbacks::fields_newindex},
                                             {"__pairs", Callbacks::fields_pairs},
                                             {nullptr, nullptr}};
  state.lift_memory_limit();
  lua_State *const lua = lua_;
  lua_settop(lua, 0);
  lua_newtable(lua);  // 1: the words, kept alive
  for (int i = 0; i < kWords; ++i) {
    words_[i] = lua_pushstring(lua, kWordTexts[i]);
    lua_rawseti(lua, 1, i + 1);
  }
  luaL_ref(lua, LUA_REGISTRYINDEX);
  for (int i = 0; i < 3; ++i) lua_newtable(lua);  // 1, 2, 3: metatables of samples, tags, fields
  lua_pushlightuserdata(lua, this);               // 4 to 7: the upvalues
  lua_pushvalue(lua, 2);
  lua_pushvalue(lua, 3);
  lua_newtable(lua);
  Callbacks::fill(lua, 1, "sample", kSample);
  Callbacks::fill(lua, 2, "tags", kTagsView);
  Callbacks::fill(lua, 3, "fields", kFieldsView);
  lua_pushvalue(lua, 4);
  lua_pushvalue(lua, 1);
  lua_pushcclosure(lua, Callbacks::run, 2);
  runner_ = luaL_ref(lua, LUA_REGISTRYINDEX);
  lua_settop(lua, 0);
  state.restore_memory_limit();
}

void SampleViews::begin(Batch &batch) {
  batch_ = &batch;
  most_bytes_ = batch.used_bytes() + LuaLimits::kBatchAdds + batch.count() * LuaLimits::kSampleAdds;
}

void SampleViews::show(atalaya_sample &sample) {
  sample_ = &sample;
  ++call_;
}

void SampleViews::hide() {
  sample_ = nullptr;
}

// A name that is only read is not interned: a function may ask for names that do not exist.
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

// Runs an action that adds this many bytes to the batch, if they are within the limit.
template <class Addition>
SampleViews::Change SampleViews::spend(size_t bytes, Addition add) noexcept {
  if (bytes > most_bytes_ || batch_->used_bytes() > most_bytes_ - bytes) return Change::too_much;
  try {
    add();
    return Change::done;
  } catch (const std::exception &) {
    return Change::no_room;
  }
}

// An array that the host did not make may be shared with other samples: it is copied before its first change.
SampleViews::Change SampleViews::own_tags(bool one_more) noexcept {
  const uint32_t room = sample_->capacity & 0xffffu;
  if (room != 0 && (!one_more || sample_->tag_count < room)) return Change::done;
  const uint32_t wanted = sample_->tag_count + 4;
  return spend(wanted * sizeof(atalaya_tag), [&] { batch_->reserve(*sample_, wanted, 0); });
}

SampleViews::Change SampleViews::own_fields(bool one_more) noexcept {
  const uint32_t room = sample_->capacity >> 16;
  if (room != 0 && (!one_more || sample_->field_count < room)) return Change::done;
  const uint32_t wanted = sample_->field_count + 8;
  return spend(wanted * sizeof(atalaya_field), [&] { batch_->reserve(*sample_, 0, wanted); });
}

SampleViews::Change SampleViews::copy(std::string_view text, atalaya_str &to) noexcept {
  return spend(text.size(), [&] { to = batch_->copy(text); });
}

uint32_t SampleViews::tag_index(uint32_t id) const {
  uint32_t i = 0;
  while (i < sample_->tag_count && sample_->tags[i].key != id) ++i;
  return i;
}

uint32_t SampleViews::field_index(uint32_t id) const {
  uint32_t i = 0;
  while (i < sample_->field_count && sample_->fields[i].name != id) ++i;
  return i;
}

// To the bit: whether to set the field to this would change nothing.
bool SampleViews::holds(const atalaya_field &field) const {
  const uint32_t i = field_index(field.name);
  return i < sample_->field_count && sample_->fields[i].type == field.type && sample_->fields[i].value.i64 == field.value.i64;
}

SampleViews::Change SampleViews::set_tag(uint32_t id, std::string_view value) noexcept {
  const uint32_t i = tag_index(id);
  const bool added = i == sample_->tag_count;
  atalaya_tag tag{id, 0, {}};
  Change change = own_tags(added);
  if (change == Change::done) change = copy(value, tag.value);
  if (change != Change::done) return change;
  sample_->tags[i] = tag;
  if (added) ++sample_->tag_count;
  return Change::done;
}

SampleViews::Change SampleViews::set_field(const atalaya_field &field) noexcept {
  const uint32_t i = field_index(field.name);
  const bool added = i == sample_->field_count;
  const Change change = own_fields(added);
  if (change != Change::done) return change;
  sample_->fields[i] = field;
  if (added) ++sample_->field_count;
  return Change::done;
}

SampleViews::Change SampleViews::remove_tag(uint32_t id) noexcept {
  const uint32_t i = tag_index(id);
  if (i == sample_->tag_count) return Change::done;
  const Change change = own_tags(false);
  if (change != Change::done) return change;
  erase(sample_->tags, sample_->tag_count, i);
  return Change::done;
}

SampleViews::Change SampleViews::remove_field(uint32_t id) noexcept {
  const uint32_t i = field_index(id);
  if (i == sample_->field_count) return Change::done;
  const Change change = own_fields(false);
  if (change != Change::done) return change;
  erase(sample_->fields, sample_->field_count, i);
  return Change::done;
}

SampleViews::Change SampleViews::set_text(std::string_view text) noexcept {
  return copy(text, sample_->text);
}

}  // namespace atalaya::core
