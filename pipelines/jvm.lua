-- Heap, collections and hot functions of every JVM on this host, with nothing loaded into them: windows of 20 s.
--   atalaya run pipelines/jvm.lua        (as root, or with the drop-in jvm-others)
-- It goes to the store, atalaya.db in the state folder. Thread dumps are paced to cost 2 % of a core, all JVMs together; docs/how-to/jvm.md.
local a = require "atalaya"

a.pipeline "jvm" {
  every = "20s",
  a.source.jvm { budget = 2, flags = false },
  a.translate.names {},  -- what each JVM runs, instead of "java"
  a.sink.sqlite {},
}
