-- Heap, garbage collections and hot methods of every JVM on this host, without an agent in the JVM: windows of 20 s.
--   atalaya run pipelines/jvm.lua        (as root, or with the drop-in jvm-others)
-- The store is atalaya.db in the state folder. Thread dumps of all JVMs together cost 2 % of a core: docs/how-to/jvm.md.
local a = require "atalaya"
local common = require "atalaya.common"

common.jvm { every = "20s", a.sink.sqlite {} }
