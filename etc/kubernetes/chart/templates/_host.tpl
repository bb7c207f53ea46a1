{{- /* An address in front of a port. */ -}}
{{- define "kuryr-cni.host" }}{{ if contains ":" . }}[{{ . }}]{{ else }}{{ . }}{{ end }}{{ end }}
