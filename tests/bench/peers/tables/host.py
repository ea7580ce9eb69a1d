# SPDX-License-Identifier: Apache-2.0
"""(g) An agent that runs all day: start, idle CPU and memory."""

from peers.programs import atalaya, collectd, netdata, node_exporter, pcp, zabbix
from peers.table import Column, Goal, Table, at_most, fraction
from peers.turns import take_turns, watch

EVERY, WINDOWS, WARM_UP, ROUNDS = 5, 3, 1, 2
OURS, NETDATA = "atalaya, host.lua", "netdata"
PROCESSES = {"atalaya, processes at 1 s": "atalaya", "netdata, processes at 1 s": "netdata"}


def measure(bench, recorder):
    def idle(kind, *arguments):
        return lambda: watch(kind, *arguments, windows=WINDOWS, warm_up=WARM_UP, every=EVERY)

    def at_one_second(kind, *arguments):
        return lambda: watch(kind, *arguments, windows=8, warm_up=2)
    take_turns(recorder, {
        OURS: idle(atalaya.HostPipeline, bench.atalaya),
        NETDATA: idle(netdata.Host),
        "pcp, host": idle(pcp.Host),
        "node-exporter, requested every 5 s": idle(node_exporter.Host),
        "collectd": idle(collectd.Host),
        "zabbix-agent2, 10 items every 5 s": idle(zabbix.Host),
        "atalaya, processes at 1 s": at_one_second(atalaya.Agent, bench.atalaya),
        "netdata, processes at 1 s": at_one_second(netdata.Processes),
    }, bench.rounds or ROUNDS)


TABLES = (Table(
    name="host",
    title="An idle host",
    text=("The first programs have windows of 5 s, their usual rate. The last two rows compare the collection of processes at 1 s: netdata has only "
          "its plugin for processes, and atalaya a pipeline with real names, a filter, a store and a file.",),
    columns=(Column("core", "CPU, % of a core", 3), Column("rss", "RSS, MiB", 1), Column("pss", "PSS, MiB", 1, detail=True), Column("first", "first data, s", detail=True)),
    rows={OURS: "atalaya", NETDATA: "netdata", "pcp, host": "pcp", "node-exporter, requested every 5 s": "node-exporter", "collectd": "collectd",
          "zabbix-agent2, 10 items every 5 s": "zabbix-agent2", **PROCESSES},
    goals=(Goal("host.lua: at most 0.2 % of a core", at_most(OURS, "core", 0.2, "%", 3)),
           Goal("host.lua: at most 25 MiB of memory (RSS)", at_most(OURS, "rss", 25, "MiB", 1)),
           Goal("host.lua: first data within 1 s", at_most(OURS, "first", 1, "s")),
           Goal("processes at 1 s: at most 1/10 of netdata", fraction(*PROCESSES, "core", 10))),
    measure=measure,
    reference=OURS,
    minutes=8,
),)
