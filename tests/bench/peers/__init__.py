# SPDX-License-Identifier: Apache-2.0
"""./dev bench peers: atalaya and other programs on the same work, in turns, as ratios; two pages are made from the results.

    programs/   one module for each program: package, start, first data, and the list of what it counts
    tables/     one module for each table: its rows, its goals and its measurement
    growth.py   how a cost grows with a number
    command.py  the cost of a command from start to end
    hub.py      a hub, and the agents of a simulated fleet
    group.py    a control group around a program: CPU time of its whole tree, memory
    turns.py    rounds in which each program has its turn
    results.py  the results file, docs/benchmarks.json
    page.py     docs/benchmarks.md and docs/benchmarks-method.md
"""
