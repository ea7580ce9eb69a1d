{{/* The names of all objects begin with the name of the release; a release named atalaya does not repeat it. */}}
{{- define "atalaya.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* Labels that select the pods of a component: list . "agent" */}}
{{- define "atalaya.selector" -}}
app.kubernetes.io/name: {{ (index . 0).Chart.Name }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "atalaya.labels" -}}
{{ include "atalaya.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
helm.sh/chart: {{ printf "%s-%s" (index . 0).Chart.Name (index . 0).Chart.Version }}
{{- end }}

{{- define "atalaya.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* The capabilities of the chosen features, each once. */}}
{{- define "atalaya.capabilities" -}}
{{- $of := .Files.Get "files/capabilities.yaml" | fromYaml }}
{{- $all := list }}
{{- range .Values.agent.features }}
{{- $all = concat $all (index $of .) }}
{{- end }}
{{- $all | uniq | sortAlpha | toJson }}
{{- end }}

{{- define "atalaya.agentConfig" -}}
{{ .Values.agent.config | default (.Files.Get "files/agent.lua") }}
{{- end }}

{{- define "atalaya.hubConfig" -}}
{{ .Values.hub.config | default (.Files.Get "files/hub.lua") }}
{{- end }}

{{- define "atalaya.hubUrl" -}}
{{ .Values.agent.hubUrl | default (printf "http://%s-hub.%s.svc:4242" (include "atalaya.name" .) .Release.Namespace) }}
{{- end }}

{{/* The token as a file in the pod. */}}
{{- define "atalaya.tokenVolume" -}}
secret:
  secretName: {{ .Values.token.secretName }}
  items:
    - key: {{ .Values.token.key }}
      path: token
{{- end }}

{{/* What a container of the hub may do: nothing. */}}
{{- define "atalaya.unprivileged" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}
