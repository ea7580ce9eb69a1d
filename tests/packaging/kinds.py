# SPDX-License-Identifier: Apache-2.0
"""Field names and types of the kinds in packaging/kubernetes and packaging/helm, as in the OpenAPI description of Kubernetes 1.19 and
later. Only fields that these objects use: another one is a mistake, or belongs here."""

TEXT, WHOLE, FLAG, TEXTS = str, int, bool, [str]
ANY = object()  # described by the operator, not by the chart
QUANTITY = (str, int)
LABELS = {"*": TEXT}


def many(**fields):
    return [fields]


METADATA = dict(name=TEXT, namespace=TEXT, labels=LABELS, annotations=LABELS)
SELECTOR = dict(matchLabels=LABELS)
PROBE = dict(exec=dict(command=TEXTS), httpGet=dict(path=TEXT, port=QUANTITY), tcpSocket=dict(port=QUANTITY), initialDelaySeconds=WHOLE,
             periodSeconds=WHOLE, timeoutSeconds=WHOLE)
RESOURCES = dict(requests={"*": QUANTITY}, limits={"*": QUANTITY})
SECCOMP = dict(type=TEXT)
CONTAINER = dict(
    name=TEXT, image=TEXT, imagePullPolicy=TEXT, args=TEXTS, env=many(name=TEXT, value=TEXT), ports=many(name=TEXT, containerPort=WHOLE),
    securityContext=dict(runAsUser=WHOLE, runAsGroup=WHOLE, privileged=FLAG, allowPrivilegeEscalation=FLAG, readOnlyRootFilesystem=FLAG,
                         capabilities=dict(drop=TEXTS, add=TEXTS), seccompProfile=SECCOMP),
    resources=RESOURCES, livenessProbe=PROBE, readinessProbe=PROBE,
    volumeMounts=many(name=TEXT, mountPath=TEXT, readOnly=FLAG, mountPropagation=TEXT))
VOLUME = dict(
    name=TEXT, configMap=dict(name=TEXT), secret=dict(secretName=TEXT, defaultMode=WHOLE, items=many(key=TEXT, path=TEXT)),
    hostPath=dict(path=TEXT, type=TEXT), emptyDir=dict(medium=TEXT, sizeLimit=QUANTITY), persistentVolumeClaim=dict(claimName=TEXT))
POD = dict(
    serviceAccountName=TEXT, automountServiceAccountToken=FLAG, enableServiceLinks=FLAG, imagePullSecrets=many(name=TEXT), hostPID=FLAG,
    hostNetwork=FLAG, dnsPolicy=TEXT, terminationGracePeriodSeconds=WHOLE, priorityClassName=TEXT, nodeSelector=LABELS, affinity=ANY,
    tolerations=many(key=TEXT, operator=TEXT, value=TEXT, effect=TEXT, tolerationSeconds=WHOLE),
    securityContext=dict(runAsNonRoot=FLAG, runAsUser=WHOLE, runAsGroup=WHOLE, fsGroup=WHOLE, seccompProfile=SECCOMP),
    containers=[CONTAINER], volumes=[VOLUME])
TEMPLATE = dict(metadata=dict(labels=LABELS, annotations=LABELS), spec=POD)

# apiVersion and fields by kind.
KINDS = {
    "Namespace": ("v1", dict(metadata=METADATA)),
    "ConfigMap": ("v1", dict(metadata=METADATA, data=LABELS)),
    "ServiceAccount": ("v1", dict(metadata=METADATA, automountServiceAccountToken=FLAG)),
    "Service": ("v1", dict(metadata=METADATA, spec=dict(type=TEXT, selector=LABELS, ports=many(name=TEXT, port=WHOLE, targetPort=QUANTITY)))),
    "PersistentVolumeClaim": ("v1", dict(metadata=METADATA, spec=dict(accessModes=TEXTS, storageClassName=TEXT, resources=RESOURCES))),
    "DaemonSet": ("apps/v1", dict(metadata=METADATA, spec=dict(
        selector=SELECTOR, template=TEMPLATE, updateStrategy=dict(type=TEXT, rollingUpdate=dict(maxUnavailable=QUANTITY))))),
    "Deployment": ("apps/v1", dict(metadata=METADATA, spec=dict(
        replicas=WHOLE, selector=SELECTOR, template=TEMPLATE, strategy=dict(type=TEXT)))),
}


def problems(value, wanted, path):
    """Each field of `value` that `wanted` does not have, or has with another type."""
    if wanted is ANY:
        return []
    if isinstance(wanted, dict):
        if not isinstance(value, dict):
            return [f"{path}: expected fields, found {value!r}"]
        found = []
        for key, inner in value.items():
            if key not in wanted and "*" not in wanted:
                found.append(f"{path}.{key}: no such field")
            else:
                found += problems(inner, wanted.get(key, wanted.get("*")), f"{path}.{key}")
        return found
    if isinstance(wanted, list):
        if not isinstance(value, list):
            return [f"{path}: expected a list, found {value!r}"]
        return [problem for number, inner in enumerate(value) for problem in problems(inner, wanted[0], f"{path}[{number}]")]
    fits = isinstance(value, wanted) and (not isinstance(value, bool) or wanted is FLAG)
    return [] if fits else [f"{path}: unexpected value {value!r}"]


def problems_of(document):
    kind = document.get("kind")
    if kind not in KINDS:
        return [f"kind {kind} is not described"]
    version, fields = KINDS[kind]
    if document.get("apiVersion") != version:
        return [f"{kind}: apiVersion {document.get('apiVersion')}, expected {version}"]
    return problems({key: value for key, value in document.items() if key not in ("kind", "apiVersion")}, fields, kind)
