local a = require "atalaya"

local f = load("return 1")
