local a = require "atalaya"

local s = string.rep("x", 1024 * 1024 * 1024)
