local a = require "atalaya"

local s = ("a"):rep(400)
local found = s:find(".-.-.-.-b")
