local a = require "atalaya"

error("no host name")
