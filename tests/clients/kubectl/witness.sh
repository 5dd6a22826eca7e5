#!/bin/bash
# What a user does with kubectl, each answer compared. KUBECONFIG names the server, KUBECTL the program.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../lib.sh"
. "$here/manifests.sh"

ns=kubectl-$RANDOM
cache=$(mktemp -d "$work/kubectl.XXXX")
k() { "$KUBECTL" --cache-dir "$cache" --request-timeout 60s -n "$ns" "$@"; }
# `create KIND` writes protobuf, which a server need not read; `create -f` writes JSON.
make() { k create "$@" --dry-run=client -o yaml | k create -f -; }
value() { k get "$1" -o "jsonpath={$2}"; }

main() {
    server_facts
    same "create namespace" "namespace/$ns created" "$(make namespace "$ns" 2>&1)"
    create
    get
    get_watch
    apply_client_side
    apply_server_side
    patch_and_edit
    label_and_annotate
    scale_and_status
    delete
    custom_resources
    k delete namespace "$ns" --wait=false >/dev/null 2>&1
}

server_facts() {
    has "version" '^Server Version: v1\.[0-9]+' "$(k version 2>&1)"
    local versions; versions=$(k api-versions)
    has "api-versions" '^v1$' "$versions"
    has "api-versions" '^apps/v1$' "$versions"
    has "api-versions" '^apiextensions.k8s.io/v1$' "$versions"
    local resources; resources=$(k api-resources)
    has "api-resources" '^pods +po +v1 +true +Pod$' "$resources"
    has "api-resources" '^nodes +no +v1 +false +Node$' "$resources"
    has "api-resources" '^deployments +deploy +apps/v1 +true +Deployment$' "$resources"
    has "api-resources" '^customresourcedefinitions +crd,crds +apiextensions.k8s.io/v1 +false +' "$resources"
    same "api-resources --api-group=apps" \
        "controllerrevisions.apps daemonsets.apps deployments.apps replicasets.apps statefulsets.apps" \
        "$(k api-resources --api-group=apps -o name | sort | xargs)"
    has "api-resources --verbs=watch" '^services$' "$(k api-resources --verbs=list,watch --namespaced -o name)"
    same "get --raw /readyz" ok "$(k get --raw /readyz)"
    same "get --raw of an object" default "$(k get --raw /api/v1/namespaces/default | jq -r .metadata.name)"
    fails "get --raw of an unknown path" 'NotFound' k get --raw /nothing/here
    same "an access review by create --raw" true "$(access_review |
        k create --raw /apis/authorization.k8s.io/v1/selfsubjectaccessreviews -f - | jq .status.allowed)"
    same "an access review by create -f" true "$(access_review | k create -f - -o json | jq .status.allowed)"
}

create() {
    same "create configmap" "configmap/plain created" "$(make configmap plain --from-literal=a=1 2>&1)"
    fails "create it again" 'configmaps "plain" already exists' make configmap plain --from-literal=a=1
    same "create deployment" "deployment.apps/web created" "$(make deployment web --image=nginx:1 --replicas=2 2>&1)"
    same "create service" "service/web created" "$(make service clusterip web --tcp=80:80 2>&1)"
    same "create secret" "secret/hidden created" "$(make secret generic hidden --from-literal=key=value 2>&1)"
    same "secret data" value "$(value secret/hidden .data.key | base64 -d)"
    same "create -f" "pod/one created" "$(pod one first | k create -f - 2>&1)"
    same "create -f" "pod/two created" "$(pod two second | k create -f - 2>&1)"
    same "create --dry-run=server" "configmap/dry created (server dry run)" \
        "$(config_map dry 'a: b' | k create --dry-run=server -f - 2>&1)"
    fails "the dry run left nothing" 'configmaps "dry" not found' k get configmap dry
    # A member of the object itself, and one of the few types: all that the embedded server says it checks in built-in kinds.
    fails "an unknown field is refused" 'unknown field' k create -f <(config_map odd 'a: b'; echo 'nonsense: {a: 1}')
    fails "a wrong type is refused" 'replicas' k create -f <(deployment odd nginx | sed 's/replicas: 2/replicas: two/')
    fails "a bad name is refused" 'is invalid: metadata.name' make configmap Bad_Name
}

get() {
    local table; table=$(k get pods)
    has "get pods" '^NAME +READY +STATUS +RESTARTS +AGE$' "$table"
    has "get pods" '^one +0/1 +Pending +0 +[0-9ms]+$' "$table"
    table=$(k get pods -o wide)
    has "get pods -o wide" '^NAME +READY +STATUS +RESTARTS +AGE +IP +NODE +NOMINATED NODE +READINESS GATES$' "$table"
    has "get pods -o wide" '^two +0/1 +Pending +0 +[0-9ms]+ +<none> +<none> +<none> +<none>$' "$table"
    table=$(k get deployments)
    has "get deployments" '^NAME +READY +UP-TO-DATE +AVAILABLE +AGE$' "$table"
    has "get deployments" '^web +0/2 +0 +0 +[0-9ms]+$' "$table"
    has "get deploy -o wide" '^web +0/2 +0 +0 +[0-9ms]+ +nginx +nginx:1 +app=web$' "$(k get deploy -o wide)"
    has "get svc" '^web +ClusterIP +[^ ]+ +<none> +80/TCP +[0-9ms]+$' "$(k get svc)"
    has "get cm" '^plain +1 +[0-9ms]+$' "$(k get cm plain)"
    has "get secrets" '^hidden +Opaque +1 +[0-9ms]+$' "$(k get secrets)"
    has "get ns" "^$ns +Active +[0-9ms]+$" "$(k get ns)"
    has "get -A" "^$ns +one +0/1 " "$(k get pods -A)"
    has "get --show-labels" ' app=first$' "$(k get pods --show-labels)"
    has "get of two kinds" '^deployment.apps/web +0/2 ' "$(k get pods,deployments)"
    same "get -o name" "pod/one pod/two" "$(k get pods -o name | xargs)"
    same "get -l" "pod/two" "$(k get pods -l 'app in (second,third)' -o name)"
    same "get --field-selector" "pod/one" "$(k get pods --field-selector metadata.name=one,status.phase=Pending -o name)"
    same "get -o json" "v1 Pod one Pending" \
        "$(k get pod one -o json | jq -r '[.apiVersion, .kind, .metadata.name, .status.phase] | join(" ")')"
    same "get -o json of a list" "List one two" "$(k get pods -o json | jq -r '[.kind, .items[].metadata.name] | join(" ")')"
    has "get -o yaml" '^  namespace: kubectl-' "$(k get pod one -o yaml)"
    same "get -o jsonpath" "nginx:1 nginx:1" "$(value pods '.items[*].spec.containers[*].image')"
    same "get -o custom-columns" "NAME APP one first two second" \
        "$(k get pods -o custom-columns=NAME:.metadata.name,APP:.metadata.labels.app | xargs)"
    local i; for i in 1 2 3 4 5; do config_map "page-$i" 'a: b' 'labels: {page: "yes"}'; echo ---; done | k apply -f - >/dev/null
    same "get --chunk-size=2" "page-1 page-2 page-3 page-4 page-5" \
        "$(k get cm -l page=yes --chunk-size=2 -o name | sed 's#.*/##' | xargs)"
    fails "get of a missing object" 'pods "none" not found' k get pod none
    fails "get of an unknown kind" "server doesn't have a resource type \"nonsenses\"" k get nonsenses
    same "get of an empty list" "No resources found in $ns namespace." "$(k get jobs 2>&1)"
    has "describe" '^Name: +one$' "$(k describe pod one)"
}

get_watch() {
    local out=$work/watched
    # Not through the function: the process to stop is kubectl itself.
    "$KUBECTL" --cache-dir "$cache" -n "$ns" get pods -w --output-watch-events >"$out" 2>&1 &
    local watcher=$!
    eventually 120 grep -q '^ADDED .*two' "$out" || fail "get -w: the pods that exist did not come"
    pod seen first | k create -f - >/dev/null
    eventually 120 grep -q '^ADDED .* seen ' "$out"
    k label pod seen changed=yes >/dev/null
    eventually 120 grep -q '^MODIFIED .* seen ' "$out"
    k delete pod seen --grace-period=0 --force >/dev/null 2>&1
    eventually 120 grep -q '^DELETED .* seen ' "$out"
    kill $watcher; wait $watcher 2>/dev/null
    has "get -w header" '^EVENT +NAME +READY +STATUS +RESTARTS +AGE$' "$(cat "$out")"
    same "get -w sees each change" "ADDED MODIFIED DELETED" \
        "$(awk '$2 == "seen" {print $1}' "$out" | uniq | xargs)"
}

apply_client_side() {
    same "apply creates" "configmap/applied created" "$(config_map applied 'a: "1", b: "1"' | k apply -f - 2>&1)"
    same "apply again" "configmap/applied unchanged" "$(config_map applied 'a: "1", b: "1"' | k apply -f - 2>&1)"
    fails "diff" '^\+  a: "2"' k diff -f <(config_map applied 'a: "2", b: "1"')
    same "apply changes" "configmap/applied configured" "$(config_map applied 'a: "2"' | k apply -f - 2>&1)"
    same "apply removed what the manifest no longer has" '{"a":"2"}' "$(value cm/applied .data)"
    same "apply keeps its annotation" '{"a":"2"}' \
        "$(value cm/applied '.metadata.annotations.kubectl\.kubernetes\.io/last-applied-configuration' | jq -c .data)"
    same "apply a deployment" "deployment.apps/merged created" "$(deployment merged nginx:1 | k apply -f - 2>&1)"
    k patch deployment merged --patch '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"car:1"}]}}}}' >/dev/null
    same "apply to another image" "deployment.apps/merged configured" "$(deployment merged nginx:2 | k apply -f - 2>&1)"
    same "apply left the other container" "main=nginx:2 side=car:1" \
        "$(k get deployment merged -o json | jq -r '[.spec.template.spec.containers | sort_by(.name)[] | .name + "=" + .image] | join(" ")')"
    same "apply several documents" "configmap/applied unchanged | pod/three created" \
        "$(one_line "$( (config_map applied 'a: "2"'; echo ---; pod three third) | k apply -f - 2>&1)")"
    same "apply --dry-run=server" "configmap/applied configured (server dry run)" \
        "$(config_map applied 'a: "3"' | k apply --dry-run=server -f - 2>&1)"
    same "the dry run changed nothing" 2 "$(value cm/applied .data.a)"
}

apply_server_side() {
    local apply=(k apply --server-side -f -)
    same "server-side apply" "configmap/owned serverside-applied" \
        "$(config_map owned 'a: "1", b: "1"' | "${apply[@]}" --field-manager=one 2>&1)"
    fails "another manager conflicts" 'conflict with "one".* \.data\.a' \
        "${apply[@]}" --field-manager=two < <(config_map owned 'a: "2"')
    same "--force-conflicts" "configmap/owned serverside-applied" \
        "$(config_map owned 'a: "2"' | "${apply[@]}" --field-manager=two --force-conflicts 2>&1)"
    same "the managers of each field" "one:b two:a" "$(k get cm owned -o json --show-managed-fields | jq -r '
        [.metadata.managedFields[] | .manager + ":" + (.fieldsV1."f:data" | keys - ["."] | map(ltrimstr("f:")) | join(","))]
        | sort | join(" ")')"
    same "a field no longer applied goes" "configmap/owned serverside-applied" \
        "$(config_map owned '' | "${apply[@]}" --field-manager=one 2>&1)"
    same "only the other manager's field is left" '{"a":"2"}' "$(value cm/owned .data)"
    same "server-side apply of a deployment" "deployment.apps/owned serverside-applied" \
        "$(deployment owned nginx:1 | "${apply[@]}" 2>&1)"
}

patch_and_edit() {
    same "patch --type=merge" "configmap/plain patched" "$(k patch cm plain --type=merge -p '{"data":{"a":null,"m":"1"}}' 2>&1)"
    same "patch without a change" "configmap/plain patched (no change)" \
        "$(k patch cm plain --type=merge -p '{"data":{"m":"1"}}' 2>&1)"
    same "patch --type=json" "configmap/plain patched" \
        "$(k patch cm plain --type=json -p '[{"op":"test","path":"/data/m","value":"1"},{"op":"add","path":"/data/j","value":"2"}]' 2>&1)"
    same "both patches are there" '{"j":"2","m":"1"}' "$(value cm/plain .data | jq -cS .)"
    fails "a failing test operation" 'the server rejected our request|testing value|test failed' \
        k patch cm plain --type=json -p '[{"op":"test","path":"/data/m","value":"9"}]'
    same "patch (strategic)" "deployment.apps/web patched" \
        "$(k patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"car:1"}]}}}}' 2>&1)"
    same "the lists were merged by name" "nginx side" \
        "$(value deployment/web '.spec.template.spec.containers[*].name' | xargs -n1 | sort | xargs)"
    same "patch (strategic, \$patch: delete)" "deployment.apps/web patched" \
        "$(k patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"side","$patch":"delete"}]}}}}' 2>&1)"
    same "that container is gone" nginx "$(value deployment/web '.spec.template.spec.containers[*].name')"
    same "set image" "deployment.apps/web image updated" "$(k set image deployment/web nginx=nginx:3 2>&1)"
    same "edit" "configmap/plain edited" "$(KUBE_EDITOR="sed -i s/m:.*/m:\ edited/" k edit cm plain 2>&1)"
    same "what was edited" edited "$(value cm/plain .data.m)"
    local stale; stale=$(k get cm plain -o json)
    k patch cm plain --type=merge -p '{"data":{"m":"newer"}}' >/dev/null
    fails "replace with an old resource version" 'the object has been modified' k replace -f - <<<"$stale"
    same "replace" "configmap/plain replaced" "$(config_map plain 'r: "1"' | k replace -f - 2>&1)"
    same "what was replaced" '{"r":"1"}' "$(value cm/plain .data)"
}

label_and_annotate() {
    same "label" "configmap/plain labeled" "$(k label cm plain color=red 2>&1)"
    fails "label that exists" "already has a value" k label cm plain color=blue
    same "label --overwrite" "configmap/plain labeled" "$(k label cm plain color=blue --overwrite 2>&1)"
    same "find it by label" "configmap/plain" "$(k get cm -l color=blue -o name)"
    same "label removed" "configmap/plain unlabeled" "$(k label cm plain color- 2>&1)"
    same "no longer found" "" "$(k get cm -l color -o name)"
    same "annotate" "configmap/plain annotated" "$(k annotate cm plain note='with spaces' 2>&1)"
    same "the annotation" "with spaces" "$(value cm/plain .metadata.annotations.note)"
}

scale_and_status() {
    same "scale" "deployment.apps/web scaled" "$(k scale deployment web --replicas=5 2>&1)"
    same "replicas" 5 "$(value deployment/web .spec.replicas)"
    fails "scale with a wrong precondition" 'Expected replicas to be 2, was 5' \
        k scale deployment web --current-replicas=2 --replicas=3
    same "wait for a field" "deployment.apps/web condition met" \
        "$(k wait --for=jsonpath='{.spec.replicas}'=5 deployment/web --timeout=120s 2>&1)"
    fails "wait times out" 'timed out waiting for the condition' k wait --for=condition=Available deployment/web --timeout=1s
    k wait --for=condition=Available deployment/web --timeout=120s >"$work/waited" 2>&1 &
    local waiter=$!
    local generation; generation=$(value deployment/web .metadata.generation)
    same "patch --subresource=status" "deployment.apps/web patched" "$(k patch deployment web --subresource=status --type=merge -p '{
        "spec":{"replicas":9},
        "status":{"replicas":5,"observedGeneration":'"$generation"',"conditions":[{"type":"Available","status":"True"}]}}' 2>&1)"
    wait $waiter
    same "wait --for=condition" "deployment.apps/web condition met" "$(cat "$work/waited")"
    same "a status patch leaves the spec and its generation" "5 $generation" \
        "$(value deployment/web '.spec.replicas} {.metadata.generation')"
}

delete() {
    has "delete" '^configmap "page-1" deleted' "$(k delete cm page-1 2>&1)"
    fails "it is gone" 'not found' k get cm page-1
    fails "delete again" 'configmaps "page-1" not found' k delete cm page-1
    same "delete --ignore-not-found" "" "$(k delete cm page-1 --ignore-not-found 2>&1)"
    has "delete --dry-run=server" 'deleted.*\(server dry run\)' "$(k delete cm page-2 --dry-run=server 2>&1)"
    same "delete -l" 4 "$(k delete cm -l page=yes 2>&1 | grep -c deleted)"
    config_map held 'a: b' 'finalizers: [clients.example/hold]' | k create -f - >/dev/null
    has "delete --wait=false" '^configmap "held" deleted' "$(k delete cm held --wait=false 2>&1)"
    has "the finalizer holds it" '^20..-..-..T..:..:..Z$' "$(value cm/held .metadata.deletionTimestamp)"
    fails "wait --for=delete times out" 'timed out' k wait --for=delete cm/held --timeout=1s
    k delete cm held >"$work/deleted" 2>&1 &
    local deleter=$!
    k wait --for=delete cm/held --timeout=120s >/dev/null &
    local waiter=$!
    eventually 120 grep -q '"held" deleted' "$work/deleted"
    same "delete waits for the finalizer" waiting "$(kill -0 $deleter && echo waiting)"
    k patch cm held --type=merge -p '{"metadata":{"finalizers":null}}' >/dev/null
    wait $deleter
    same "and ends when it is gone" 0 $?
    wait $waiter
    same "wait --for=delete" 0 $?
    has "delete deployment" 'deployment.apps "merged" deleted' "$(k delete deployment merged 2>&1)"
    has "delete pod" 'pod "two"( force)? deleted' "$(k delete pod two 2>&1)"
    has "delete --all" '^secret "hidden" deleted' "$(k delete secrets --all 2>&1)"
    same "nothing is left" "" "$(k get secrets -o name)"
}

custom_resources() {
    same "create a CRD" "customresourcedefinition.apiextensions.k8s.io/widgets.clients.example created" \
        "$(widget_definition | k apply -f - 2>&1)"
    has "it is established" 'condition met$' \
        "$(k wait --for=condition=Established crd/widgets.clients.example --timeout=120s 2>&1)"
    eventually 120 k get widgets
    has "api-resources" '^widgets +wdg +clients.example/v1 +true +Widget$' "$(k api-resources)"
    # kubectl validates a custom resource once its schema is published.
    eventually 120 grep_schema
    same "apply a custom resource" "widget.clients.example/first created" "$(widget first 3 | k apply -f - 2>&1)"
    has "get by short name" '^NAME +SIZE$' "$(k get wdg)"
    has "get by short name" '^first +3$' "$(k get wdg first)"
    has "get -o wide" '^first +3 +red$' "$(k get widget -o wide)"
    same "apply a change" "widget.clients.example/first configured" "$(widget first 4 | k apply -f - 2>&1)"
    same "patch --type=merge" "widget.clients.example/first patched" \
        "$(k patch wdg first --type=merge -p '{"spec":{"color":"blue"}}' 2>&1)"
    same "the custom resource" "4 blue 3" "$(value wdg/first '.spec.size} {.spec.color} {.metadata.generation')"
    fails "no strategic patch for it" 'UnsupportedMediaType|not supported' k patch wdg first -p '{"spec":{"color":"green"}}'
    fails "an unknown field is refused" 'unknown field' k create -f <(widget odd 1 | sed 's/color/colour/')
    fails "a wrong type is refused" 'size' k create -f <(widget odd big)
    same "scale" "widget.clients.example/first scaled" "$(k scale widget first --replicas=3 2>&1)"
    same "status" "widget.clients.example/first patched" \
        "$(k patch wdg first --subresource=status --type=merge -p '{"status":{"ready":true}}' 2>&1)"
    same "scaled and ready" "3 true" "$(value wdg/first '.spec.replicas} {.status.ready')"
    has "delete it" '^widget.clients.example "first" deleted' "$(k delete wdg first 2>&1)"
    has "delete the CRD" 'deleted' "$(k delete crd widgets.clients.example 2>/dev/null)"
    eventually 120 kind_is_gone
    fails "its kind is gone" 'not find|resource type|NotFound' k get widgets
}

grep_schema() { k get --raw /openapi/v3/apis/clients.example/v1 | grep -q '"color"'; }
kind_is_gone() { ! k get --raw /apis/clients.example/v1/widgets; }

main
exit 0
