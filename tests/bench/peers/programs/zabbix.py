# SPDX-License-Identifier: Apache-2.0
import os
import socket
import struct

from peers.program import PATIENCE, Peer, Program, binary, free_port, write

PROGRAM = Program("zabbix-agent2", "zabbix-agent2", "the host: ten items, as a server would request them",
                  "single processes; storing; series that its server stores")

ITEMS = ("system.cpu.util[,user]", "system.cpu.util[,system]", "system.cpu.util[,iowait]", "system.cpu.load[all,avg1]", "vm.memory.size[available]",
         "system.swap.size[,free]", "vfs.fs.size[/,pused]", "net.if.in[lo]", "net.if.out[lo]", "proc.num[]")
HEADER = b"ZBXD\x01"


class Host(Peer):
    asked = True

    def start(self):
        self.port = free_port(20000)  # it takes none above 32767
        path = write(self.folder, "agent.conf", f"""LogType=console
PidFile={self.folder}/agent.pid
ControlSocket={self.folder}/agent.sock
PluginSocket={self.folder}/plugin.sock
Server=127.0.0.1
ListenIP=127.0.0.1
ListenPort={self.port}
""")
        self.group.start([binary("zabbix_agent2", "/usr/sbin/zabbix_agent2"), "-f", "-c", path], dict(os.environ))

    def ready(self):
        try:
            return bool(self.item("vm.memory.size[available]"))
        except OSError:
            return False

    def collect(self):
        for name in ITEMS:
            self.item(name)

    def item(self, name):
        """The answer of the passive protocol: a header, eight bytes of length, a value."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            connection.sendall(HEADER + struct.pack("<Q", len(name)) + name.encode())
            answer = b""
            while part := connection.recv(4096):
                answer += part
        return answer[len(HEADER) + 8:]
