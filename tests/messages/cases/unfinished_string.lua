local a = require "atalaya"

a.pipeline "hosts {
  every = "5s",
}
