//! Services and what is about them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::cell::{Item, first_few, or};

pub(super) fn service(item: Item<'_>) -> Vec<Value> {
    let external: Vec<_> =
        item.list("/spec/externalIPs").filter_map(|ip| ip.object.as_str()).collect();
    let kind = item.text("/spec/type");
    let external = match kind.as_str() {
        "ClusterIP" | "NodePort" => or(external.join(","), "<none>"),
        "LoadBalancer" => {
            let balancer = addresses(item);
            let all: Vec<_> =
                [balancer.as_str()].into_iter().filter(|b| !b.is_empty()).chain(external).collect();
            or(all.join(","), "<pending>")
        }
        "ExternalName" => item.text("/spec/externalName"),
        _ => "<unknown>".to_owned(),
    };
    let ports: Vec<_> = item
        .list("/spec/ports")
        .map(|port| {
            let node_port = port.int("/nodePort");
            let node_port = if node_port > 0 { format!(":{node_port}") } else { String::new() };
            format!("{}{node_port}/{}", port.int("/port"), port.text_or("/protocol", "TCP"))
        })
        .collect();
    let cluster_ip = item.text_or("/spec/clusterIPs/0", &item.text("/spec/clusterIP"));
    vec![
        item.name(),
        kind.into(),
        or(cluster_ip, "<none>").into(),
        external.into(),
        or(ports.join(","), "<none>").into(),
        item.age(),
        item.labels("/spec/selector").into(),
    ]
}

pub(super) fn endpoints(item: Item<'_>) -> Vec<Value> {
    let mut all = Vec::new();
    for subset in item.list("/subsets") {
        let addresses: Vec<_> = subset.list("/addresses").map(|a| a.text("/ip")).collect();
        if subset.count("/ports") == 0 {
            all.extend_from_slice(&addresses);
        }
        for port in subset.list("/ports") {
            let port = port.int("/port");
            all.extend(addresses.iter().map(|ip| {
                if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }
            }));
        }
    }
    let none = if item.count("/subsets") == 0 { "<none>" } else { "" };
    vec![item.name(), first_few(&all, 3, ",", none).into(), item.age()]
}

pub(super) fn endpoint_slice(item: Item<'_>) -> Vec<Value> {
    let ports: Vec<_> = item
        .list("/ports")
        .map(|port| or(port.text_or("/port", &port.text("/name")), "*"))
        .collect();
    let addresses: Vec<_> = item
        .list("/endpoints")
        .flat_map(|endpoint| endpoint.list("/addresses"))
        .filter_map(|address| address.object.as_str().map(str::to_owned))
        .collect();
    vec![
        item.name(),
        item.text("/addressType").into(),
        first_few(&ports, 3, ",", "<unset>").into(),
        first_few(&addresses, 3, ",", "<unset>").into(),
        item.age(),
    ]
}

pub(super) fn ingress(item: Item<'_>) -> Vec<Value> {
    let hosts: Vec<_> = item
        .list("/spec/rules")
        .map(|rule| rule.text("/host"))
        .filter(|host| !host.is_empty())
        .collect();
    vec![
        item.name(),
        item.text_or("/spec/ingressClassName", "<none>").into(),
        first_few(&hosts, 3, ",", "*").into(),
        addresses(item).into(),
        if item.count("/spec/tls") == 0 { "80" } else { "80, 443" }.into(),
        item.age(),
    ]
}

pub(super) fn ingress_class(item: Item<'_>) -> Vec<Value> {
    let default = item.text("/metadata/annotations/ingressclass.kubernetes.io~1is-default-class");
    let mark = if default == "true" { " (default)" } else { "" };
    let parameters = if item.has("/spec/parameters") {
        let group = item.text("/spec/parameters/apiGroup");
        let dot = if group.is_empty() { "" } else { "." };
        let (kind, name) = (item.text("/spec/parameters/kind"), item.text("/spec/parameters/name"));
        format!("{kind}{dot}{group}/{name}")
    } else {
        "<none>".to_owned()
    };
    vec![
        format!("{}{mark}", item.text("/metadata/name")).into(),
        item.text("/spec/controller").into(),
        parameters.into(),
        item.age(),
    ]
}

pub(super) fn network_policy(item: Item<'_>) -> Vec<Value> {
    let selector = or(item.selector("/spec/podSelector"), "<none>");
    vec![item.name(), selector.into(), item.age()]
}

pub(super) fn ip_address(item: Item<'_>) -> Vec<Value> {
    let part = |field: &str| item.text(&format!("/spec/parentRef/{field}"));
    let parent = if item.has("/spec/parentRef") {
        let resource = [part("resource"), part("group")];
        let resource: Vec<_> = resource.into_iter().filter(|p| !p.is_empty()).collect();
        let parts = [resource.join(".").to_lowercase(), part("namespace"), part("name")];
        let parts: Vec<_> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        parts.join("/")
    } else {
        "<none>".to_owned()
    };
    vec![item.name(), parent.into()]
}

pub(super) fn service_cidr(item: Item<'_>) -> Vec<Value> {
    let cidrs: Vec<_> = item.list("/spec/cidrs").filter_map(|cidr| cidr.object.as_str()).collect();
    vec![item.name(), cidrs.join(",").into(), item.age()]
}

pub(super) fn api_service(item: Item<'_>) -> Vec<Value> {
    let service = if item.has("/spec/service") {
        format!("{}/{}", item.text("/spec/service/namespace"), item.text("/spec/service/name"))
    } else {
        "Local".to_owned()
    };
    let available = item.condition("Available").map_or_else(
        || "Unknown".to_owned(),
        |condition| {
            let (status, reason) = (condition.text("/status"), condition.text("/reason"));
            if status == "True" || reason.is_empty() {
                status
            } else {
                format!("{status} ({reason})")
            }
        },
    );
    vec![item.name(), service.into(), available.into(), item.age()]
}

/// The addresses of a load balancer.
fn addresses(item: Item<'_>) -> String {
    let all: BTreeSet<_> = item
        .list("/status/loadBalancer/ingress")
        .map(|ingress| ingress.text_or("/ip", &ingress.text("/hostname")))
        .filter(|address| !address.is_empty())
        .collect();
    all.into_iter().collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::cells;

    #[test]
    fn a_service_shows_the_address_of_its_type() {
        let of = |spec: serde_json::Value, status: serde_json::Value| {
            let cells = cells("", "Service", json!({"spec": spec, "status": status}));
            cells[3].clone()
        };
        let none = json!({});
        assert_eq!(of(json!({"type": "ClusterIP"}), none.clone()), "<none>");
        assert_eq!(of(json!({"type": "LoadBalancer"}), none.clone()), "<pending>");
        assert_eq!(of(json!({"type": "ExternalName", "externalName": "e.x"}), none), "e.x");
        let balancer = json!({"loadBalancer": {"ingress": [{"ip": "2.2.2.2"}, {"hostname": "h"}]}});
        let spec = json!({"type": "LoadBalancer", "externalIPs": ["1.1.1.1"]});
        assert_eq!(of(spec, balancer), "2.2.2.2,h,1.1.1.1");
    }

    #[test]
    fn ports_show_node_port_and_protocol() {
        let spec = json!({"clusterIP": "10.0.0.1", "ports": [
            {"port": 80, "protocol": "TCP", "nodePort": 30080}, {"port": 53, "protocol": "UDP"}]});
        let cells = cells("", "Service", json!({"spec": spec}));
        assert_eq!((&cells[2], &cells[4]), (&json!("10.0.0.1"), &json!("80:30080/TCP,53/UDP")));
    }

    #[test]
    fn endpoints_are_addresses_with_ports() {
        let object = json!({"subsets": [
            {"addresses": [{"ip": "1.1.1.1"}, {"ip": "::1"}],
             "ports": [{"port": 80}, {"port": 81}]}]});
        assert_eq!(cells("", "Endpoints", object)[1], "1.1.1.1:80,[::1]:80,1.1.1.1:81 + 1 more...");
        assert_eq!(cells("", "Endpoints", json!({}))[1], "<none>");
        let slice = json!({"addressType": "IPv4", "ports": [{"port": 80}, {"name": "n"}, {}],
                           "endpoints": [{"addresses": ["1.1.1.1"]}]});
        assert_eq!(
            cells("discovery.k8s.io", "EndpointSlice", slice),
            json!(["x", "IPv4", "80,n,*", "1.1.1.1", "60m"])
        );
    }

    #[test]
    fn an_ingress_shows_hosts_address_and_ports() {
        let object = json!({"spec": {"rules": [{"host": "a"}, {}], "tls": [{}]},
            "status": {"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}]}}});
        assert_eq!(
            cells("networking.k8s.io", "Ingress", object),
            json!(["x", "<none>", "a", "1.1.1.1", "80, 443", "60m"])
        );
    }
}
