# SPDX-License-Identifier: Apache-2.0
"""One module for each program that takes part; LIST has what docs/benchmarks.md says about them, by name."""

from peers.programs import (atalaya, atop, collectd, influxdb, jstat, netdata, nethogs, node_exporter, pcp, pidstat, process_exporter, profilers,
                            prometheus, victoria_metrics, zabbix)

LIST = {program.name: program for program in (
    atalaya.PROGRAM, atop.PROGRAM, pidstat.PROGRAM, process_exporter.PROGRAM, node_exporter.PROGRAM, netdata.PROGRAM, pcp.PROGRAM, collectd.PROGRAM,
    zabbix.PROGRAM, victoria_metrics.PROGRAM, influxdb.PROGRAM, prometheus.PROGRAM, jstat.PROGRAM, *profilers.ALL, nethogs.PROGRAM)}
