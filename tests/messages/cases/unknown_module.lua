local a = require "atalaya"

local b = require "helpers.missing"
