# SPDX-License-Identifier: Apache-2.0
"""One module for each subject; ALL are the tables in the order of the page."""

from peers.tables import engine, growth, host, hub, jvm, jvms, network, presets, processes, profile, short_lives, store

ALL = (*host.TABLES, *processes.TABLES, *store.TABLES, *short_lives.TABLES, *hub.TABLES, *jvm.TABLES, *jvms.TABLES, *profile.TABLES, *network.TABLES,
       *presets.TABLES, *engine.TABLES, *growth.TABLES)
