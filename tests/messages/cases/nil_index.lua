local a = require "atalaya"

local t
local x = t.host
