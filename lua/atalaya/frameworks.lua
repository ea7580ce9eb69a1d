-- SPDX-License-Identifier: Apache-2.0
-- The default rules of a.translate.names {}. Operators add their own before them:
--   a.translate.names { rules = { { main = "com.example.*", name = "shop" }, table.unpack(require "atalaya.frameworks") } }
-- The first matching rule applies. Without a rule the name of a JVM is its main class without the package, or its jar without
-- ".jar". So the list has only programs that need another name, a value of their arguments, or a distinction between two programs
-- with one name. docs/how-to/names.md explains the members.
local function flat(groups)
  local rules = {}
  for _, group in ipairs(groups) do table.move(group, 1, #group, #rules + 1, rules) end
  return rules
end

local hadoop = {
  -- NameNode, SecondaryNameNode, DataNode, JournalNode, ResourceManager, NodeManager, MRAppMaster, ApplicationHistoryServer,
  -- TimelineReaderServer and JobHistoryServer have the name of their class.
  { main = "org.apache.hadoop.hdfs.server.datanode.SecureDataNodeStarter", name = "DataNode" },
  { main = "org.apache.hadoop.hdfs.tools.DFSZKFailoverController", name = "ZKFC" },
  -- host, port, attempt_TIME_JOB_m|r_TASK_ATTEMPT, number
  { main = "org.apache.hadoop.mapred.YarnChild", argument = { attempt = "attempt_*" }, name = "YarnChild", tags = { attempt = "{attempt}" },
    inherit = { "attempt" } },  -- the programs of Hadoop Streaming
}

local spark = {
  {
    main = {
      "org.apache.spark.executor.CoarseGrainedExecutorBackend",
      "org.apache.spark.executor.YarnCoarseGrainedExecutorBackend",
      "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
    },
    option = { executor = "--executor-id", application = "--app-id" },
    name = "executor {executor}",
    tags = { executor = "{executor}", application = "{application}", job = "{application}" },
    inherit = { "executor", "application", "job" },  -- pyspark.daemon and its workers, programs of RDD.pipe
  },
  {
    main = "org.apache.spark.deploy.SparkSubmit",
    arguments = "*--class org.apache.spark.sql.hive.thriftserver.HiveThriftServer2*",
    name = "SparkThriftServer",
  },
  { main = "org.apache.spark.deploy.SparkSubmit", option = { class = "--class" }, name = "driver {class:last}" },
  -- Programs and shells in Python or R have no class; the script is an argument of spark-submit.
  { main = "org.apache.spark.deploy.SparkSubmit", argument = { script = "~[.](py|R)$" }, name = "driver {script:file}" },
  { main = "org.apache.spark.deploy.SparkSubmit", name = "driver" },
  -- A driver started by a standalone cluster: the worker, the jar, the class.
  { main = "org.apache.spark.deploy.worker.DriverWrapper", name = "driver {3:last}" },
  { main = "org.apache.spark.deploy.master.Master", name = "SparkMaster" },
  { main = "org.apache.spark.deploy.worker.Worker", name = "SparkWorker" },
  { main = "org.apache.spark.deploy.history.HistoryServer", name = "SparkHistoryServer" },
  { main = "org.apache.spark.deploy.yarn.ApplicationMaster", name = "SparkApplicationMaster" },
  { main = "org.apache.spark.deploy.yarn.ExecutorLauncher", name = "SparkApplicationMaster" },
}

local others = {
  -- Kafka (kafka.Kafka), HMaster, HRegionServer, Elasticsearch, OpenSearch, Nimbus and Supervisor have the name of their class.
  { main = "org.apache.kafka.connect.cli.Connect*", name = "KafkaConnect" },
  { main = { "org.apache.zookeeper.server.quorum.QuorumPeerMain", "org.apache.zookeeper.server.ZooKeeperServerMain" }, name = "ZooKeeper" },
  { main = "org.apache.cassandra.service.CassandraDaemon", name = "Cassandra" },
  { main = "org.apache.flink.*ClusterEntry[Pp]oint", name = "JobManager" },
  {
    main = {
      "org.apache.flink.runtime.taskexecutor.TaskManagerRunner",
      "org.apache.flink.yarn.YarnTaskExecutorRunner",
      "org.apache.flink.kubernetes.taskmanager.KubernetesTaskExecutorRunner",
    },
    name = "TaskManager",
  },
  { main = "org.elasticsearch.launcher.CliToolLauncher", name = "ElasticsearchLauncher" },
  -- Hive's servers run from a jar: the jar, the class.
  { main = "org.apache.hadoop.util.RunJar", argument = { class = "org.apache.hive.service.server.HiveServer2" }, name = "{class:last}" },
  { main = "org.apache.hadoop.util.RunJar", argument = { class = "org.apache.hadoop.hive.metastore.HiveMetaStore" }, name = "{class:last}" },
  { main = "org.apache.storm.daemon.worker.Worker", name = "StormWorker" },
}

local shell = { code = { "-c", "-s" }, value = { "-o", "+o", "-O", "+O", "--rcfile", "--init-file" } }

local interpreters = {
  {
    interpreter = { "python", "python[0-9]*", "pypy", "pypy[0-9]*" },
    code = "-c",
    script = "-m",
    value = { "-W", "-X", "--check-hash-based-pycs" },
  },
  {
    interpreter = { "perl", "perl5*" },
    code = { "-e", "-E" },
    value = "-I",
    attached = { "-C", "-D", "-F", "-M", "-V", "-i", "-m", "-x" },
  },
  {
    interpreter = { "ruby", "ruby[0-9]*" },
    code = "-e",
    value = { "-C", "-E", "-I", "-r" },
    attached = { "-F", "-K", "-T", "-W", "-i", "-x" },
  },
  {
    interpreter = { "node", "nodejs" },
    code = { "-e", "--eval", "-p", "--print", "-pe" },
    value = { "-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions", "--title" },
  },
  { interpreter = { "sh", "bash", "dash", "ash", "ksh", "ksh93", "mksh", "zsh" }, code = shell.code, value = shell.value },
  {
    interpreter = { "php", "php[0-9]*" },
    code = { "-r", "-B", "-R", "-E", "-S", "--run", "--server" },
    script = { "-f", "-F", "--file", "--process-file" },
    value = { "-c", "-d", "-t", "-z", "--php-ini", "--define", "--docroot", "--zend-extension" },
  },
  { interpreter = { "lua", "lua5*", "luajit", "texlua" }, value = { "-e", "-l" } },
}

return flat { hadoop, spark, others, interpreters }
