-- SPDX-License-Identifier: Apache-2.0
-- What a pipeline file requires:  local a = require "atalaya"
--
--   a.source.NAME { ... }   a.translate.NAME { ... }   a.filter.NAME { ... }   a.sink.NAME { ... }
--   a.from "PIPELINE"       another pipeline's output as the source
--   a.call { FUNCTION, on_error = "pass" }   an inline function with options; a function alone is enough otherwise
--   a.pipeline "NAME" { every = "5s", SOURCES..., STAGES..., SINKS... }
--   a.state_folder          where this agent keeps its data: $STATE_DIRECTORY, /var/lib/atalaya, or ~/.local/state/atalaya
--   a.test "NAME" { pipeline = "PIPELINE", input = { ... }, expect = { ... } }
--
-- Every call only notes what it was called with, and from which line; the host checks and builds the pipelines afterwards.
local _, _, native = ...

-- What the library gives to a component whose parameters leave it out.
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

-- A mistyped name is noted, not raised, so that one run shows all mistakes of a file.
return setmetatable(a, { __index = function(_, name) return native.unknown(name) end })
