# SPDX-License-Identifier: Apache-2.0
"""Real ClickHouse servers, one or a cluster of two shards, and the ZooKeeper that replicated tables need."""

import base64
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from harness import PATIENCE, forget_jvm
from http_servers import Server, free_port

CLUSTER = "pair"


class ZooKeeper:
    jar = "/usr/share/java/zookeeper.jar"
    java = shutil.which("java")
    there = java is not None and os.path.exists(jar)

    def __init__(self, folder):
        self.port = free_port()
        data = os.path.join(folder, "zookeeper")
        config = os.path.join(folder, "zookeeper.cfg")
        with open(config, "w") as file:
            file.write(f"tickTime=500\ndataDir={data}\nclientPort={self.port}\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n")
        self.command = [self.java, "-Xmx128m", "-Dzookeeper.admin.enableServer=false", "-Dzookeeper.forceSync=no",
                        "-cp", "/usr/share/java/*:/etc/zookeeper/conf", "org.apache.zookeeper.server.quorum.QuorumPeerMain", config]

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port), 1):
                    return self
            except OSError:
                assert self.process.poll() is None and time.monotonic() < until, "zookeeper does not start"
                time.sleep(0.05)

    def stop(self):
        self.process.kill()
        self.process.wait(PATIENCE)
        forget_jvm(self.process.pid)  # agents of other tests may have asked it


class ClickHouse(Server):
    program = shutil.which("clickhouse-server") or "/usr/sbin/clickhouse-server"
    there = os.path.exists(program)
    ready = "/ping"

    def __init__(self, folder, name="clickhouse", password=""):
        self.folder = os.path.join(folder, name)
        os.mkdir(self.folder)
        self.password = password
        self.port, self.tcp_port, self.interserver_port = free_port(), free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.command = [self.program, "--config-file=" + os.path.join(self.folder, "config.xml")]

    def start(self, shards=(), zookeeper=None, number=1):
        """`shards`: all servers of the cluster, this one included."""
        with open(os.path.join(self.folder, "users.xml"), "w") as file:
            file.write(f"""<yandex><profiles><default/><readonly><readonly>2</readonly></readonly>
<breaker><max_rows_to_read>50</max_rows_to_read><read_overflow_mode>break</read_overflow_mode></breaker></profiles><quotas><default/></quotas><users>
<default><password>{self.password}</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
<reader><password>look</password><networks><ip>127.0.0.1</ip></networks><profile>readonly</profile><quota>default</quota></reader>
<breaker><password>look</password><networks><ip>127.0.0.1</ip></networks><profile>breaker</profile><quota>default</quota></breaker>
</users></yandex>""")
        cluster = "".join(f"<shard><internal_replication>true</internal_replication><replica><host>127.0.0.1</host>"
                          f"<port>{shard.tcp_port}</port></replica></shard>" for shard in shards)
        supervisor = f"<zookeeper><node><host>127.0.0.1</host><port>{zookeeper.port}</port></node><session_timeout_ms>3000</session_timeout_ms></zookeeper>" if zookeeper else ""
        with open(os.path.join(self.folder, "config.xml"), "w") as file:
            file.write(f"""<yandex>
<logger><level>warning</level><log>{self.folder}/log</log><errorlog>{self.folder}/errors</errorlog><size>10M</size><count>1</count></logger>
<http_port>{self.port}</http_port><tcp_port>{self.tcp_port}</tcp_port><interserver_http_port>{self.interserver_port}</interserver_http_port>
<interserver_http_host>127.0.0.1</interserver_http_host><listen_host>127.0.0.1</listen_host><max_connections>100</max_connections>
<max_concurrent_queries>100</max_concurrent_queries><uncompressed_cache_size>0</uncompressed_cache_size>
<mark_cache_size>104857600</mark_cache_size><path>{self.folder}/data/</path><tmp_path>{self.folder}/tmp/</tmp_path>
<users_config>users.xml</users_config><default_profile>default</default_profile><default_database>default</default_database>
<remote_servers>{f"<{CLUSTER}>{cluster}</{CLUSTER}>" if shards else ""}</remote_servers>{supervisor}
<macros><shard>{number}</shard><replica>r{number}</replica></macros>
<distributed_ddl><path>/clickhouse/task_queue/ddl</path></distributed_ddl>
</yandex>""")
        return self.restart()

    def restart(self):
        try:
            return super().start()
        except AssertionError as error:
            with open(os.path.join(self.folder, "errors"), errors="replace") as file:
                raise AssertionError(f"{error}: {file.read()[-2000:]}") from error

    def query(self, statement, database="", user="default"):
        """The lines of the answer, each a list of columns."""
        target = self.url + "/?" + urllib.parse.urlencode({"database": database} if database else {})
        request = urllib.request.Request(target, statement.encode())
        password = self.password if user == "default" else "look"
        request.add_header("Authorization", "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode())
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return [line.split("\t") for line in answer.read().decode().splitlines()]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode(errors="replace")) from error

    def number(self, statement, database=""):
        return int(self.query(statement, database)[0][0])

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()  # an orderly end takes seconds, and its folder goes anyway
            self.process.wait(PATIENCE)
