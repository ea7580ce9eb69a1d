# The packages: `./dev package`.
#   atalaya        the agent and the plugins whose libraries a plain Debian host has, or which are small (http, clickhouse, receive, prometheus:
#                  6 MB of Poco and libmicrohttpd; without them a host could not send to a hub)
#   atalaya-analysis  the commands that read the store: query, plot, flamegraph, jvms, report, sql, experiment, serve, graph,
#                  place, bottleneck and phases, and the translator phases: pagmo is large
#   atalaya-kafka  the sink kafka: librdkafka is for those who have a Kafka
#   atalaya-riemann  the sink riemann: its client library brings GnuTLS and protobuf
#   atalaya-dev    headers, CMake package and examples for authors of plugins
# and a tarball with everything below one prefix. Where rpmbuild exists, the same packages for RPM.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_CONTACT "the Atalaya maintainers <maintainers@atalaya.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Watches what the processes of a Linux host do, and why they are slow")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL atalaya etc analysis kafka riemann dev)
set(CPACK_COMPONENT_ATALAYA_GROUP atalaya)
set(CPACK_COMPONENT_ETC_GROUP atalaya)
set(CPACK_COMPONENT_ANALYSIS_GROUP analysis)
set(CPACK_COMPONENT_KAFKA_GROUP kafka)
set(CPACK_COMPONENT_RIEMANN_GROUP riemann)
set(CPACK_COMPONENT_DEV_GROUP dev)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(scripts ${PROJECT_SOURCE_DIR}/packaging/debian)

set(CPACK_DEBIAN_ATALAYA_PACKAGE_NAME atalaya)
set(CPACK_DEBIAN_ATALAYA_DESCRIPTION "One small agent loads plugins and chains them through pipelines that are
written in Lua: sources, translators, filters and sinks. It shows what the
processes of a host do and why they are slow, costs little, and counts what
became of every sample.")
set(CPACK_DEBIAN_ATALAYA_PACKAGE_SHLIBDEPS ON)
# systemd-sysusers makes the service's user.
set(CPACK_DEBIAN_ATALAYA_PACKAGE_DEPENDS "systemd | systemd-standalone-sysusers | systemd-sysusers")
set(CPACK_DEBIAN_ATALAYA_PACKAGE_RECOMMENDS "atalaya-analysis")
set(CPACK_DEBIAN_ATALAYA_PACKAGE_SUGGESTS "atalaya-kafka, atalaya-riemann, sqlite3")
set(CPACK_DEBIAN_ATALAYA_PACKAGE_CONTROL_EXTRA ${scripts}/preinst ${scripts}/postinst ${scripts}/prerm ${scripts}/postrm ${scripts}/conffiles)

set(CPACK_DEBIAN_ANALYSIS_PACKAGE_NAME atalaya-analysis)
set(CPACK_DEBIAN_ANALYSIS_DESCRIPTION "The commands of atalaya that read the data of an agent: query, plot,
flamegraph, jvms, report, sql, experiment, serve (answers queries of OpenTSDB
and Prometheus over HTTP), graph and place (traffic, and a placement with
little of it), bottleneck (the reason why a job is slow), and
phases (what a program does when, and what is not normal).")
set(CPACK_DEBIAN_ANALYSIS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_ANALYSIS_PACKAGE_DEPENDS "atalaya (>= ${PROJECT_VERSION})")
# `plot -o FILE.png` opens the one, which writes with the other.
set(CPACK_DEBIAN_ANALYSIS_PACKAGE_RECOMMENDS "librsvg2-2, fonts-dejavu-core")

set(CPACK_DEBIAN_KAFKA_PACKAGE_NAME atalaya-kafka)
set(CPACK_DEBIAN_KAFKA_DESCRIPTION "The plugin that lets a pipeline of atalaya send its samples to Kafka, with
an idempotent producer, TLS and SASL.")
set(CPACK_DEBIAN_KAFKA_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_KAFKA_PACKAGE_DEPENDS "atalaya (>= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_KAFKA_PACKAGE_CONTROL_EXTRA ${scripts}/plugin/postinst)

set(CPACK_DEBIAN_RIEMANN_PACKAGE_NAME atalaya-riemann)
set(CPACK_DEBIAN_RIEMANN_DESCRIPTION "The plugin that lets a pipeline of atalaya send its samples to Riemann as
events, profiles of JVMs too, by protobuf over TCP or TLS.")
set(CPACK_DEBIAN_RIEMANN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RIEMANN_PACKAGE_DEPENDS "atalaya (>= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_RIEMANN_PACKAGE_CONTROL_EXTRA ${scripts}/plugin/postinst)

set(CPACK_DEBIAN_DEV_PACKAGE_NAME atalaya-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_DEV_DESCRIPTION "For authors of plugins: the plugin ABI in C, the C++ layer on it, static
libraries for files, texts, patterns and /proc, a CMake package with
atalaya_add_plugin, and an example in each language.")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "atalaya, libre2-dev")

include(AtalayaRpm)
include(CPack)
