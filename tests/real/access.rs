//! Who may do what: certificates, tokens, plugins, roles.

use k8s_openapi::api::{
    core::v1::Pod,
    rbac::v1::{Role, RoleBinding},
};
use kinformer::{Client, Config, FieldValidation, ListOptions, ListWatch, SharedInformer, labels};
use serde_json::json;

use crate::cluster::{Cluster, LIMIT, maps, put, wait_until};

#[test]
#[ignore = "needs a kube-apiserver: tests/real/run"]
fn certificates_tokens_plugins_and_roles() {
    let cluster = Cluster::start();
    a_server_of_another_authority_is_not_talked_to(&cluster);
    a_wrong_token_is_unauthorized(&cluster);
    a_plugin_gives_the_token(&cluster);
    rights_that_are_taken_away_show_in_the_status_and_come_back(&cluster);
    unknown_fields_are_refused_or_dropped_as_asked(&cluster);
}

fn a_server_of_another_authority_is_not_talked_to(cluster: &Cluster) {
    let config = cluster.config("kubeconfig").to_builder();
    let key = rcgen::KeyPair::generate().unwrap();
    let other = rcgen::CertificateParams::new(vec!["other".to_owned()]).unwrap();
    let other = other.self_signed(&key).unwrap().pem();
    let client = Client::new(config.certificate_authority(other).build().unwrap()).unwrap();
    let error = client.server_version().unwrap_err();
    let text = format!("{error:?}");
    assert!(text.contains("certificate") || text.contains("UnknownIssuer"), "{text}");
}

fn a_wrong_token_is_unauthorized(cluster: &Cluster) {
    let config = cluster.config("kubeconfig").to_builder().token("wrong").build().unwrap();
    let error = maps(&Client::new(config).unwrap()).list(&ListOptions::new()).unwrap_err();
    assert!(error.is_unauthorized(), "{error}");
}

fn a_plugin_gives_the_token(cluster: &Cluster) {
    let kubeconfig = cluster.kubeconfig();
    let (before, token) = kubeconfig.split_once("{token: ").unwrap();
    let token = token.split('}').next().unwrap();
    let credential = json!({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": {"token": token}});
    let plugin = json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "echo",
        "args": [credential.to_string()], "interactiveMode": "Never"}});
    let text = format!("{before}{plugin}}}]\n");
    let config = Config::from_kubeconfig_str(&text, None).unwrap();
    maps(&Client::new(config).unwrap()).list(&ListOptions::new()).unwrap();
}

fn rights_that_are_taken_away_show_in_the_status_and_come_back(cluster: &Cluster) {
    let (admin, limited) = (cluster.client(), cluster.limited());
    let source = ListWatch::from_client(&limited, Some("default")).tweak(|options| {
        options.labels = labels::parse("test").unwrap();
        // Rights are looked at when a watch is opened.
        options.timeout_seconds = Some(2);
    });
    let informer = SharedInformer::<k8s_openapi::api::core::v1::ConfigMap>::builder(source);
    let informer = informer.build().unwrap();
    informer.start().unwrap();
    let forbidden = || {
        let error = informer.status().last_error.unwrap_or_default();
        error.contains("forbidden") && error.contains("limited")
    };
    wait_until("the status says that it is forbidden", forbidden);

    let rule = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]});
    let role = json!({"metadata": {"name": "reader"}, "rules": [rule]});
    admin.api::<Role>().namespace("default").create(&role).unwrap();
    let bindings = admin.api::<RoleBinding>().namespace("default");
    let binding = json!({"metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "limited"}]});
    bindings.create(&binding).unwrap();
    put(&admin, "rights", "1");
    informer.wait_for_sync(LIMIT).unwrap();
    assert_eq!(informer.store().len(), 1);
    wait_until("the status is well", || informer.status().last_error.is_none());

    bindings.delete("reader").unwrap();
    wait_until("the status says that it is forbidden again", forbidden);
    assert_eq!(informer.store().len(), 1, "what is known stays");
    let version = put(&admin, "rights", "2");
    bindings.create(&binding).unwrap();
    informer.wait_for_resource_version(&version, LIMIT).unwrap();
    wait_until("the status is well again", || informer.status().last_error.is_none());
}

fn unknown_fields_are_refused_or_dropped_as_asked(cluster: &Cluster) {
    let pod = json!({"metadata": {"name": "p"}, "spec": {"nodeNme": "n",
        "containers": [{"name": "main", "image": "example.com/main:1"}]}});
    let pods = cluster.client().api::<Pod>().namespace("default");
    let strict = pods.field_validation(FieldValidation::Strict).create(&pod).unwrap_err();
    assert!(strict.is_bad_request() && strict.to_string().contains("nodeNme"), "{strict}");
    let made = pods.field_validation(FieldValidation::Ignore).create(&pod).unwrap();
    assert!(!made.json().contains("nodeNme"));
}
