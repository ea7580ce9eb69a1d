local a = require "atalaya"

local rules = require "broken_rules"
