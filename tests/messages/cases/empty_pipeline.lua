local a = require "atalaya"

a.pipeline "hosts" {}
