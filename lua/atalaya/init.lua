-- SPDX-License-Identifier: Apache-2.0
-- The library of pipeline files:  local a = require "atalaya"
--
--   a.source.NAME { ... }   a.translate.NAME { ... }   a.filter.NAME { ... }   a.sink.NAME { ... }
--   a.from "PIPELINE"       another pipeline's output as the source
--   a.call { FUNCTION, on_error = "pass" }   an inline function with options; a function alone is enough otherwise
--   a.pipeline "NAME" { every = "5s", SOURCES..., STAGES..., SINKS... }
--   a.state_folder          folder of this agent's data: $STATE_DIRECTORY, /var/lib/atalaya, or ~/.local/state/atalaya
--   a.test "NAME" { pipeline = "PIPELINE", input = { ... }, expect = { ... } }
--
-- Every call records its arguments and its line only; the host validates and builds the pipelines afterwards.
local _, _, native = ...

-- Defaults for parameters that a pipeline file omits.
local defaults = {
  translator = { names = { rules = "atalaya.frameworks" } },
}

local function completed(parameters, modules)
  local all = {}
  for key, value in next, parameters do all[key] = value end
  for key, module in pairs(modules) do
    if all[key] == nil then all[key] = require(module) end
  end
  return all
end

local function constructors(kind)
  return setmetatable({}, {
    __index = function(_, name)
      local modules = (defaults[kind] or {})[name]
      return native.constructor(kind, name, modules and function(parameters) return completed(parameters, modules) end)
    end,
    __newindex = function() error("components come from plugins; they cannot be set in a pipeline file", 2) end,
  })
end

local a = {
  source = constructors("source"),
  translate = constructors("translator"),
  filter = constructors("filter"),
  sink = constructors("sink"),
  from = native.from,
  call = native.call,
  pipeline = native.pipeline,
  test = native.test,
  state_folder = native.state_folder,
}

-- A mistyped name is recorded, not raised, so that one run reports all mistakes of a file.
return setmetatable(a, { __index = function(_, name) return native.unknown(name) end })
