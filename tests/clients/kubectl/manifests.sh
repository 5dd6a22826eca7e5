# The manifests of the kubectl checks, as functions that print them.

access_review() {
    cat <<J
{"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
 "spec": {"resourceAttributes": {"verb": "create", "group": "apps", "resource": "deployments"}}}
J
}

pod() { # pod NAME LABEL
    cat <<Y
apiVersion: v1
kind: Pod
metadata: {name: $1, labels: {app: $2}}
spec: {containers: [{name: main, image: "nginx:1"}]}
Y
}

config_map() { # config_map NAME DATA [METADATA]
    cat <<Y
apiVersion: v1
kind: ConfigMap
metadata: {name: $1${3:+, $3}}
data: {$2}
Y
}

deployment() { # deployment NAME IMAGE
    cat <<Y
apiVersion: apps/v1
kind: Deployment
metadata: {name: $1}
spec:
  replicas: 2
  selector: {matchLabels: {app: $1}}
  template:
    metadata: {labels: {app: $1}}
    spec: {containers: [{name: main, image: "$2"}]}
Y
}

widget_definition() {
    cat <<Y
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.clients.example}
spec:
  group: clients.example
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wdg]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    - {name: Color, type: string, jsonPath: .spec.color, priority: 1}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {size: {type: integer}, color: {type: string}, replicas: {type: integer}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
Y
}

widget() { # widget NAME SIZE
    cat <<Y
apiVersion: clients.example/v1
kind: Widget
metadata: {name: $1}
spec: {size: $2, color: red, replicas: 1}
Y
}
