// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/procfs/command_lines.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <vector>

namespace atalaya::proc {
namespace {

using Arguments = std::vector<std::string>;

std::string joined(const Arguments &arguments) {
  std::string text;
  for (const std::string &argument : arguments) text += argument + '\0';
  return text;
}

std::string shown(const Arguments &arguments, const std::vector<std::string> &redact = {}) {
  return procfs::redacted_command(joined(arguments), false, io::MatcherList::parse(redact).value());
}

struct Case {
  Arguments arguments;
  std::string shown;
};

TEST_CASE("command lines of real programs keep public values and lose secrets") {
  for (const Case &one : std::initializer_list<Case>{
           {{"/usr/sbin/sshd", "-D"}, "/usr/sbin/sshd -D"},
           {{"nginx: worker process"}, "nginx: worker process"},
           {{"sshd: ana@pts/0"}, "sshd: ana@pts/0"},
           {{"scp", "-r", "out", "ana@host:/srv/out"}, "scp -r out ana@host:/srv/out"},
           {{"docker", "run", "-p", "80:8080", "--name", "web", "nginx:1.25"}, "docker run -p 80:8080 --name web nginx:1.25"},
           {{"ssh", "-i", "/home/ana/.ssh/id_rsa", "-p", "2222", "host"}, "ssh -i /home/ana/.ssh/id_rsa -p 2222 host"},
           {{"server", "--password-file", "/run/secrets/db", "--port", "80"}, "server --password-file /run/secrets/db --port 80"},
           {{"git", "checkout", "4705926a3b2e8f6d1c0b9a8f7e6d5c4b3a291807"},
            "git checkout 4705926a3b2e8f6d1c0b9a8f7e6d5c4b3a291807"},
           {{"java", "-Xmx1g", "-XX:+UseG1GC", "-cp", "/opt/app/lib/a.jar:/opt/app/lib/b.jar", "com.example.Main"},
            "java -Xmx1g -XX:+UseG1GC -cp /opt/app/lib/a.jar:/opt/app/lib/b.jar com.example.Main"},
           // MySQL
           {{"mysql", "-u", "root", "-pS3cret", "shop"}, "mysql -u root -p*** shop"},
           {{"mysql", "-u", "root", "-p", "shop"}, "mysql -u root -p shop"},
           {{"/usr/bin/mysqldump", "-hdb", "-P3306", "--password=S3cret", "shop"},
            "/usr/bin/mysqldump -hdb -P3306 --password=*** shop"},
           {{"sudo", "mysqladmin", "--password", "S3cret", "status"}, "sudo mysqladmin --password *** status"},
           {{"mysql", "-h", "docker1", "-pS3cret"}, "mysql -h docker1 -p***"},
           // PostgreSQL
           {{"psql", "postgresql://ana:S3cret@db:5432/shop?sslmode=require"}, "psql postgresql://***@db:5432/shop?sslmode=require"},
           {{"psql", "host=db user=ana password=S3cret dbname=shop"}, "psql host=db user=ana password=***"},
           {{"env", "PGPASSWORD=S3cret", "psql", "-h", "db"}, "env PGPASSWORD=*** psql -h db"},
           {{"psql", "postgres://ana:S3/cr#et@db/shop"}, "psql postgres://***@db/shop"},
           {{"psql", "postgres://ana:5S3cret/x@db:5432/shop"}, "psql postgres://***@db:5432/shop"},
           {{"app", "http://proxy:8080/scope/@org/package"}, "app http://proxy:8080/scope/@org/package"},
           // curl, wget, git
           {{"curl", "-u", "ana:S3cret", "https://host/x"}, "curl -u *** https://host/x"},
           {{"curl", "-sSu", "ana:S3cret", "https://host/x"}, "curl -sSu *** https://host/x"},
           {{"curl", "-uana:S3cret", "https://host/x"}, "curl -u*** https://host/x"},
           {{"curl", "--user", "ana:S3cret", "https://host/x"}, "curl --user ana:*** https://host/x"},
           {{"curl", "--proxy-user=ana:S3cret", "https://host/x"}, "curl --proxy-user=ana:*** https://host/x"},
           {{"curl", "-H", "Authorization: Bearer abc.def", "https://h/"}, "curl -H Authorization: *** https://h/"},
           {{"curl", "-H", "X-Api-Key:abc", "https://h/"}, "curl -H X-Api-Key:*** https://h/"},
           {{"curl", "-d", R"({"user":"ana","password": "S3cret"})", "https://h/"},
            R"(curl -d {"user":"ana","password": *** https://h/)"},
           {{"curl", "https://h/login?user=ana&token=abc&x=1"}, "curl https://h/login?user=ana&token=***"},
           {{"wget", "--http-password=S3cret", "ftp://ana:S3cret@h/f"}, "wget --http-password=*** ftp://***@h/f"},
           {{"git", "clone", "https://ghp_0123456789abcdefghijABCDEFGHIJ012345@github.com/a/b"},
            "git clone https://***@github.com/a/b"},
           // Java
           {{"java", "-Djavax.net.ssl.keyStorePassword=S3cret", "-Dport=80", "Main"},
            "java -Djavax.net.ssl.keyStorePassword=*** -Dport=80 Main"},
           {{"java", "-jar", "app.jar", "--spring.datasource.password=S3cret", "--server.port=80"},
            "java -jar app.jar --spring.datasource.password=*** --server.port=80"},
           {{"java", "-jar", "token-service.jar", "--port", "80"}, "java -jar token-service.jar --port 80"},
           {{"keytool", "-list", "-storepass", "S3cret"}, "keytool -list -storepass ***"},
           // Containers and clouds
           {{"docker", "run", "-e", "MYSQL_ROOT_PASSWORD=S3cret", "-eAPI_TOKEN=abc", "--env=SECRET=x", "mysql"},
            "docker run -e MYSQL_ROOT_PASSWORD=*** -eAPI_TOKEN=*** --env=SECRET=*** mysql"},
           {{"docker", "login", "-u", "ana", "-p", "S3cret", "registry"}, "docker login -u ana -p *** registry"},
           {{"kubectl", "--token=abc", "get", "pods"}, "kubectl --token=*** get pods"},
           {{"kubectl", "create", "secret", "generic", "db", "--from-literal=user=S3cret"},
            "kubectl create secret *** db --from-literal=***"},
           {{"helm", "install", "x", "--set", "a=1,db.password=S3cret"}, "helm install x --set a=1,db.password=***"},
           {{"aws", "configure", "set", "aws_secret_access_key", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"},
            "aws configure set aws_secret_access_key ***"},
           {{"upload", "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}, "upload *** ***"},
           {{"upload", "--id=ASIAIOSFODNN7EXAMPLE"}, "upload --id=***"},
           // Others
           {{"redis-cli", "-a", "S3cret", "ping"}, "redis-cli -a *** ping"},
           {{"redis-cli", "config", "set", "requirepass", "S3cret"}, "redis-cli config set requirepass ***"},
           {{"sshpass", "-pS3cret", "ssh", "host"}, "sshpass -p*** ssh host"},
           {{"sshpass", "-p", "S3cret", "ssh", "host"}, "sshpass -p *** ssh host"},
           {{"mongodump", "-u", "ana", "-p", "S3cret"}, "mongodump -u ana -p ***"},
           {{"ldapsearch", "-D", "cn=x", "-w", "S3cret", "-b", "dc=y"}, "ldapsearch -D cn=x -w *** -b dc=y"},
           {{"openssl", "rsa", "-passin", "pass:S3cret"}, "openssl rsa -passin ***"},
           {{"smbclient", "//h/s", "-U", "ana%S3cret"}, "smbclient //h/s -U ***"},
           {{"sqlplus", "ana/S3cret@db"}, "sqlplus ***"},
           {{"htpasswd", "-b", "file", "ana", "S3cret"}, "htpasswd *** *** *** ***"},
           {{"sshfs", "ana:S3cret@host:/srv"}, "sshfs ana:***@host:/srv"},
           // Shells
           {{"sh", "-c", "mysql -u root -pS3cret shop < dump"}, "sh -c mysql -u root -p***"},
           {{"bash", "-c", "cd /srv && redis-cli -a S3cret ping"}, "bash -c cd /srv && redis-cli -a ***"},
           {{"sh", "-c", "export API_TOKEN=S3cret; exec server"}, "sh -c export API_TOKEN=***"},
           {{"sh", "-c", "server --password 'my S3cret' --port 80"}, "sh -c server --password ***"},
           {{"sh", "-c", "ls -l | wc"}, "sh -c ls -l | wc"},
       }) {
    CAPTURE(one.shown);
    const std::string text = shown(one.arguments);
    CHECK(text == one.shown);
    CHECK(text.find("S3cret") == std::string::npos);
  }
}

TEST_CASE("an operator hides more: an argument, or the value after an option") {
  CHECK(shown({"app", "--pin", "1234", "--zone=internal-7", "x"}, {"--pin", "*internal*"}) == "app --pin *** *** x");
  CHECK(shown({"app", "--pin", "1234"}) == "app --pin 1234");
}

TEST_CASE("a command line is one line, its length is bounded, and an excess is hidden") {
  CHECK(shown({"a\nb\x1b[1m", "c\x7f"}) == "a b [1m c");
  CHECK(procfs::redacted_command("", false, {}).empty());
  CHECK(procfs::redacted_command(std::string(9, '\0'), false, {}).empty());
  CHECK(shown({"a", std::string(3000, 'x')}).size() == 1024);
  CHECK(shown({"java", "-cp", std::string(5000, 'x'), "Main"}) == "java -cp *** Main");
  CHECK(procfs::redacted_command(std::string("mysql\0-pS3", 10), true, {}) == "mysql");  // the rest of the password was not read
}

TEST_CASE("only processes that are allowed, and none by default") {
  CHECK_FALSE(procfs::CommandLines{}.allows("java"));
  const procfs::CommandLines some{.allow = io::MatcherList::parse(std::vector<std::string>{"java*", "!javac"}).value(),
                                  .redact = {}};
  CHECK(some.allows("java"));
  CHECK_FALSE(some.allows("javac"));
  CHECK_FALSE(some.allows("mysql"));
}

}  // namespace
}  // namespace atalaya::proc
