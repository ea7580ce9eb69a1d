local a = require "atalaya"

for i = 1, 30 do
  a.pipeline("p" .. i) { a.source.prco {}, a.sink.stdout {} }
end
