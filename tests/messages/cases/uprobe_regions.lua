local a = require "atalaya"

a.pipeline "twice" {
  every = "1s",
  a.source.uprobe { regions = {
    { name = "parse", binary = "/bin/app", enter = "parse_file" },
    { name = "parse", binary = "/bin/app", enter = "parse_text" },
  } },
  a.sink.stdout {},
}
a.pipeline "within" {
  every = "1s",
  a.source.uprobe { regions = { { name = "parse", binary = "/bin/app", enter = "parse_file+4" } } },
  a.sink.stdout {},
}
a.pipeline "amount" {
  every = "1s",
  a.source.uprobe { regions = { { name = "parse", binary = "/bin/app", enter = "parse_file", bytes = "arg9" } } },
  a.sink.stdout {},
}
