local a = require "atalaya"

local function name(x)
  if not x then error("a name is needed", 2) end
  return x
end

local n = name(nil)
