local a = require "atalaya"

local b = require "../secrets"
