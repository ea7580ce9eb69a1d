local a = require "atalaya"

local db = 5
