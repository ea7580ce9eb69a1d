# SPDX-License-Identifier: Apache-2.0
"""The manifests in packaging/kubernetes and the chart in packaging/helm: field names and types, references between objects, the least
privilege, values and their schema, and that both ways deploy the same. Go's template engine with sprig, as in helm, renders the chart;
kubectl, where it exists, reads the manifests. Nothing is deployed."""

import copy
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import jsonschema
import kinds
import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs"))
import style  # noqa: E402

BINARY = os.environ.get("ATALAYA", "build/release/atalaya")
MANIFESTS, CHART = "packaging/kubernetes", "packaging/helm/atalaya"
GOCODE = "/usr/share/gocode"
SPRIG = os.path.join(GOCODE, "src/github.com/Masterminds/sprig")
FEATURE_ROW = re.compile(r"^\| ((?:`[\w-]+`(?:, )?)+) \| ((?:plus )?CAP_[^|]*) \|", re.M)
# They open devices, which only a privileged container may.
DEVICES = {"power-msr", "energy-msr", "power-ipmi", "kernel-log"}


def load(path):
    with open(path, encoding="utf-8") as file:
        return [document for document in yaml.safe_load_all(file) if document]


def manifests():
    """What `kubectl apply -k` applies, but for hashes in the names of ConfigMaps."""
    kustomization, = load(f"{MANIFESTS}/kustomization.yaml")
    found = [document for name in kustomization["resources"] for document in load(f"{MANIFESTS}/{name}")]
    image, = kustomization["images"]
    for document in found:
        for container in containers(document):
            assert container["image"] == image["name"]
            container["image"] = f'{image["newName"]}:{image["newTag"]}'
    for made in kustomization["configMapGenerator"]:
        data = {}
        for entry in made["files"]:
            key, _, path = entry.partition("=")
            data[key] = style.read(f"{MANIFESTS}/{path}")
        found.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": made["name"]}, "data": data})
    return found


def pod_of(document):
    return document.get("spec", {}).get("template", {}).get("spec", {})


def containers(document):
    return pod_of(document).get("containers", [])


def named(documents, kind, name):
    found, = (document for document in documents if document["kind"] == kind and document["metadata"]["name"] == name)
    return found


class Rules:
    """What holds for the manifests and for the chart with any values."""

    def check_all(self, documents):
        names = [(document["kind"], document["metadata"]["name"]) for document in documents]
        self.assertEqual(len(names), len(set(names)))
        for document in documents:
            self.assertEqual(kinds.problems_of(document), [])
            self.assertNotEqual(document["kind"], "Secret")
        for document in documents:
            if pod_of(document):
                self.check_pod(document, documents)
        for service in (document for document in documents if document["kind"] == "Service"):
            self.check_service(service, documents)

    def check_pod(self, document, documents):
        pod = pod_of(document)
        labels = document["spec"]["template"]["metadata"]["labels"]
        self.assertLessEqual(document["spec"]["selector"]["matchLabels"].items(), labels.items())
        self.assertFalse(pod["automountServiceAccountToken"])
        named(documents, "ServiceAccount", pod["serviceAccountName"])
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        mounted = {mount["name"] for container in pod["containers"] for mount in container["volumeMounts"]}
        self.assertEqual(mounted, set(volumes))
        for volume in volumes.values():
            if "configMap" in volume:
                named(documents, "ConfigMap", volume["configMap"]["name"])
            if "persistentVolumeClaim" in volume:
                named(documents, "PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"])
            if "secret" in volume:
                self.assertEqual(volume["secret"]["defaultMode"] & 0o007, 0)
        for container in pod["containers"]:
            self.check_container(container, pod, volumes)

    def check_container(self, container, pod, volumes):
        context = container["securityContext"]
        self.assertFalse(context.get("privileged", False))
        self.assertFalse(context["allowPrivilegeEscalation"])
        self.assertTrue(context["readOnlyRootFilesystem"])
        self.assertEqual(context["capabilities"]["drop"], ["ALL"])
        self.assertTrue(context.get("runAsUser") == 0 or pod["securityContext"]["runAsNonRoot"])
        self.assertIn("memory", container["resources"]["limits"])
        paths = [mount["mountPath"] for mount in container["volumeMounts"]]
        self.assertEqual(len(paths), len(set(paths)))
        for mount in container["volumeMounts"]:
            volume = volumes[mount["name"]]
            writable = not mount.get("readOnly", False)
            self.assertEqual(writable, mount["name"] in ("state", "run", "tmp"), mount)
            if "hostPath" in volume and mount["name"] != "state":
                self.assertEqual(mount["mountPath"], "/host" + volume["hostPath"]["path"])
        self.check_runtime_folder(container, volumes)
        ports = {port["name"] for port in container.get("ports", [])}
        for probe in ("livenessProbe", "readinessProbe"):
            for kind in ("httpGet", "tcpSocket"):
                if kind in container.get(probe, {}):
                    self.assertIn(container[probe][kind]["port"], ports)

    def check_runtime_folder(self, container, volumes):
        """Everyone may write into an emptyDir, and the agent refuses such a folder: it makes its own below."""
        empty = {mount["mountPath"] for mount in container["volumeMounts"] if "emptyDir" in volumes[mount["name"]]}
        for variable in container.get("env", []):
            if variable["name"] == "RUNTIME_DIRECTORY":
                self.assertIn(os.path.dirname(variable["value"]), empty)

    def check_service(self, service, documents):
        selector = service["spec"]["selector"].items()
        pods = [document for document in documents if pod_of(document) and selector <= document["spec"]["template"]["metadata"]["labels"].items()]
        self.assertEqual(len(pods), 1)
        ports = {port["name"]: port["containerPort"] for container in containers(pods[0]) for port in container.get("ports", [])}
        self.assertEqual({port["targetPort"]: port["port"] for port in service["spec"]["ports"]}, ports)


class Manifests(Rules, unittest.TestCase):
    def test_rules(self):
        self.check_all(manifests())

    def test_mistakes_are_found(self):
        agent = named(manifests(), "DaemonSet", "atalaya-agent")
        for change in ("hostPid: true", "hostNetwork: yes please", "tolerations: {}", "containers: [{name: 5}]"):
            wrong = copy.deepcopy(agent)
            pod_of(wrong).update(yaml.safe_load(change))
            self.assertEqual(len(kinds.problems_of(wrong)), 1, change)

    def test_pipelines(self):
        environment = dict(os.environ, ATALAYA_HUB="http://hub:4242")
        for name in ("agent", "hub"):
            self.assertEqual(style.read(f"{MANIFESTS}/{name}.lua"), style.read(f"{CHART}/files/{name}.lua"))
            done = subprocess.run([BINARY, "check", f"{MANIFESTS}/{name}.lua"], env=environment, capture_output=True, text=True, timeout=60,
                                  check=False)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_status_works_below_a_folder_for_everyone(self):
        with tempfile.TemporaryDirectory(prefix="atalaya-test-") as folder:
            os.chmod(folder, 0o777)
            with open(os.path.join(folder, "self.lua"), "w", encoding="utf-8") as file:
                file.write('local a = require "atalaya"\na.pipeline "self" { every = "1s", a.source.self {}, a.sink.stdout {} }\n')
            environment = dict(os.environ, STATE_DIRECTORY=folder, RUNTIME_DIRECTORY=os.path.join(folder, "agent"))
            agent = subprocess.Popen([BINARY, "run", "--drop", os.path.join(folder, "self.lua")], env=environment, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.PIPE, text=True)
            try:
                self.assertIn("running", agent.stderr.readline())
                for _ in range(20):  # on a busy machine the agent answers later than the time limit of `status`
                    done = subprocess.run([BINARY, "status"], env=environment, capture_output=True, text=True, timeout=60, check=False)
                    if "the agent does not" not in done.stderr:
                        break
                self.assertEqual(done.returncode, 0, done.stderr)
            finally:
                agent.terminate()
                agent.communicate()

    def test_the_agent_reaches_the_hub(self):
        agent, = containers(named(manifests(), "DaemonSet", "atalaya-agent"))
        service = named(manifests(), "Service", "atalaya-hub")
        url, = (variable["value"] for variable in agent["env"] if variable["name"] == "ATALAYA_HUB")
        kustomization, = load(f"{MANIFESTS}/kustomization.yaml")
        self.assertEqual(url, f'http://{service["metadata"]["name"]}.{kustomization["namespace"]}.svc:{service["spec"]["ports"][0]["port"]}')

    @unittest.skipUnless(shutil.which("kubectl"), "needs kubectl: apt-get install kubernetes-client")
    def test_kubectl_reads_them(self):
        done = subprocess.run(["kubectl", "kustomize", MANIFESTS], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        built = [document for document in yaml.safe_load_all(done.stdout) if document]
        self.assertEqual(sorted(document["kind"] for document in built), sorted(document["kind"] for document in manifests()))
        for document in built:
            if pod_of(document):
                with self.subTest(document["kind"]):
                    self.assertEqual(self.through_kubectl(document), document)

    def through_kubectl(self, document):
        """A workload as kubectl's own types hold it: they drop fields that do not exist, and refuse wrong types."""
        done = subprocess.run(["kubectl", "set", "serviceaccount", "--local", "-f", "-", "-o", "json", pod_of(document)["serviceAccountName"]],
                              input=json.dumps(document), capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        held = json.loads(done.stdout)
        held.pop("status", None)
        held["metadata"].pop("creationTimestamp", None)
        held["spec"]["template"]["metadata"].pop("creationTimestamp", None)
        pod_of(held).pop("serviceAccount", None)  # the old name of serviceAccountName, set by kubectl
        for container in containers(held):
            container["resources"] = container.get("resources", {})
        return held


class Chart(unittest.TestCase):
    def setUp(self):
        self.values, = load(f"{CHART}/values.yaml")
        with open(f"{CHART}/values.schema.json", encoding="utf-8") as file:
            self.schema = json.load(file)

    def problems(self, **changes):
        values = copy.deepcopy(self.values)
        for path, value in changes.items():
            *folders, last = path.split("__")
            at = values
            for folder in folders:
                at = at[folder]
            at[last] = value
        return [error.message for error in jsonschema.Draft7Validator(self.schema).iter_errors(values)]

    def test_the_defaults_fit_the_schema(self):
        jsonschema.Draft7Validator.check_schema(self.schema)
        self.assertEqual(self.problems(), [])

    def test_the_schema_finds_mistakes(self):
        for changes in ({"agent__features": ["proc-bfp"]}, {"agent__features": ["power-msr"]}, {"agent__statePath": "var/lib"}, {"imgae": {}},
                        {"hub__persistence__size": "50GB"}, {"agent__seccompProfile": "None"}, {"hub__enabled": False}, {"token__secretName": "A B"},
                        {"agent__resources": {"limit": {}}}, {"agent__hubUrl": "hub:4242"}):
            self.assertNotEqual(self.problems(**changes), [], changes)
        self.assertEqual(self.problems(hub__enabled=False, agent__hubUrl="https://hub.example.org:4242"), [])

    def test_every_value_is_in_the_schema(self):
        def compare(values, schema, path):
            self.assertEqual(set(values), set(schema["properties"]) - {"global"}, path)
            for key, inner in schema["properties"].items():
                if "properties" in inner:
                    compare(values[key], inner, f"{path}.{key}")
        compare(self.values, self.schema, "values")

    def test_capabilities_are_those_of_the_features(self):
        listed, = load(f"{CHART}/files/capabilities.yaml")
        documented = {name for names, _ in FEATURE_ROW.findall(style.read("docs/how-to/operations.md")) for name in re.findall(r"[\w-]+", names)}
        self.assertGreater(len(documented), 15)
        self.assertEqual(set(listed), documented - DEVICES)
        self.assertEqual(set(listed), set(self.schema["properties"]["agent"]["properties"]["features"]["items"]["enum"]))
        for feature, capabilities in listed.items():
            done = subprocess.run([BINARY, "doctor", "--drop-in", feature], capture_output=True, text=True, timeout=60, check=True)
            self.assertEqual(sorted(set(re.findall(r"^AmbientCapabilities=CAP_(\w+)$", done.stdout, re.M))), sorted(capabilities), feature)


@unittest.skipUnless(shutil.which("go") and os.path.isdir(SPRIG), "needs Go and sprig: apt-get install golang-go golang-github-masterminds-sprig-dev")
class Rendered(Rules, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="atalaya-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        environment = dict(os.environ, GO111MODULE="off", GOPATH=GOCODE, GOCACHE=os.path.join(folder.name, "cache"), GOFLAGS="")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "render.go")
        subprocess.run(["go", "build", "-o", os.path.join(folder.name, "render"), source], env=environment, check=True, timeout=300)

    def render(self, values=None, release="atalaya", namespace="atalaya"):
        path = os.path.join(self.folder, "values.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(values or {}, file)
        done = subprocess.run([os.path.join(self.folder, "render"), CHART, release, namespace, path], capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.notes = done.stderr
        return [document for document in yaml.safe_load_all(done.stdout) if document]

    def test_the_defaults_are_the_manifests(self):
        chart, plain = self.render(), manifests()
        self.assertEqual(len(chart), len(plain) - 1)  # the namespace is the user's
        for document in chart:
            with self.subTest(f'{document["kind"]} {document["metadata"]["name"]}'):
                other = named(plain, document["kind"], document["metadata"]["name"])
                if document["kind"] == "ConfigMap":
                    self.assertEqual({key: text.strip() for key, text in document["data"].items()},
                                     {key: text.strip() for key, text in other["data"].items()})
                    continue
                mine, wanted = copy.deepcopy(document.get("spec", {})), copy.deepcopy(other.get("spec", {}))
                for spec in (mine, wanted):
                    spec.pop("selector", None)
                    spec.get("template", {}).pop("metadata", None)
                    spec.pop("type", None)
                    for volume in spec.get("template", {}).get("spec", {}).get("volumes", []):
                        volume.get("secret", {}).pop("items", None)
                self.assertEqual(mine, wanted)

    def test_rules_with_other_values(self):
        listed, = load(f"{CHART}/files/capabilities.yaml")
        for values in ({}, {"agent": {"features": []}}, {"agent": {"features": list(listed)}}, {"agent": {"containersPath": ""}},
                       {"hub": {"serve": {"enabled": False}}}, {"hub": {"enabled": False}, "agent": {"hubUrl": "https://hub.example.org:4242"}},
                       {"image": {"pullSecrets": [{"name": "registry"}]}, "agent": {"priorityClassName": "high", "affinity": {"nodeAffinity": {}},
                        "podAnnotations": {"a": "b"}, "tolerations": [{"key": "gpu", "operator": "Exists"}]},
                        "hub": {"persistence": {"storageClassName": "fast"}, "service": {"type": "NodePort", "annotations": {"c": "d"}}}}):
            with self.subTest(values):
                documents = self.render(values, "first", "watch")
                self.check_all(documents)
                agent, = containers(named(documents, "DaemonSet", "first-atalaya-agent"))
                features = values.get("agent", {}).get("features", ["proc-bpf"])
                self.assertEqual(set(agent["securityContext"]["capabilities"]["add"]), {name for feature in features for name in listed[feature]})
                url, = (variable["value"] for variable in agent["env"] if variable["name"] == "ATALAYA_HUB")
                self.assertEqual(url, values.get("agent", {}).get("hubUrl", "http://first-atalaya-hub.watch.svc:4242"))
                self.assertIn(url, self.notes)
                self.assertEqual("Deployment" in {document["kind"] for document in documents}, values.get("hub", {}).get("enabled", True))

    def test_another_pipeline_restarts_the_pods(self):
        def checksum(values):
            return named(self.render(values), "DaemonSet", "atalaya-agent")["spec"]["template"]["metadata"]["annotations"]["checksum/config"]
        text = 'local a = require "atalaya"\n\na.pipeline "p" {}\n'
        self.assertNotEqual(checksum({}), checksum({"agent": {"config": text}}))
        held = named(self.render({"agent": {"config": text}}), "ConfigMap", "atalaya-agent")["data"]["atalaya.lua"]
        self.assertEqual(held.strip(), text.strip())


class Texts(unittest.TestCase):
    def test_comments_have_no_banned_phrase(self):
        phrases = style.Phrases()
        for path in sorted(glob.glob(f"{MANIFESTS}/*") + glob.glob(f"{CHART}/**/*.*", recursive=True)):
            text = "\n".join(line.strip().lstrip("#-") for line in style.read(path).split("\n") if re.match(r"\s*(#|--) ", line))
            with self.subTest(path):
                self.assertEqual(phrases.find(text), [])


if __name__ == "__main__":
    unittest.main()
