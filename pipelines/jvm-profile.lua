-- Hot methods of every JVM on this host: CPU samples, which are exact for compiled code, next to heap, collections and
-- thread dumps, which also see JVMs without frame pointers. Windows of 20 s, of CPU samples 60 s.
--   atalaya run pipelines/jvm-profile.lua   (as root, or with the drop-ins jvm-others, perf-bpf, perf-symbols, perf-jvm)
--   atalaya jvms;  atalaya flamegraph --keep jvm -o java.svg
-- Start JVMs (17 or later) with -XX:+PreserveFramePointer. The store is atalaya.db in the state folder.
local a = require "atalaya"
local common = require "atalaya.common"

local store = a.sink.sqlite {}

common.jvm { every = "20s", store }

-- Of all processes, as in profile.lua: in one run with it, each sample is stored once.
common.profile { every = "60s", store }
