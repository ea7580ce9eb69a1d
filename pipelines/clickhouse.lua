-- This host and its busy processes into ClickHouse, which holds series, stacks and spans of many hosts in one database.
--   clickhouse-client --query "CREATE DATABASE atalaya"
--   atalaya run pipelines/clickhouse.lua
--   atalaya query --store clickhouse:http://127.0.0.1:8123/atalaya --metric sys.cpu.usage --group-by host
local a = require "atalaya"
local common = require "atalaya.common"

local store = a.sink.clickhouse {
  url = "http://127.0.0.1:8123/atalaya",
  -- basic = "/etc/atalaya/clickhouse",  -- a file with user:password, mode 0600
  -- cluster = "name",                   -- name in the server's configuration: replicated tables on all shards
  spool = { dir = "clickhouse" },        -- queue for times without a server
}

common.host { every = "10s", store }
common.processes { every = "10s", store }
