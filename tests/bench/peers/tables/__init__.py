# SPDX-License-Identifier: Apache-2.0
"""One module for each subject; ALL are the tables in the order of the page."""

from peers.tables import engine, host, jvm, network, processes, profile, store

ALL = (*host.TABLES, *processes.TABLES, *store.TABLES, *jvm.TABLES, *profile.TABLES, *network.TABLES, *engine.TABLES)
