local a = require "atalaya"

local f = io.open("/etc/passwd")
