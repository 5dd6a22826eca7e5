//! Pods: the status column sums up phase, conditions and containers.

use std::time::SystemTime;

use serde_json::{Value, json};

use super::cell::Item;
use crate::testing::{kinds::ResourceDef, time::human_duration};

pub(super) fn pod(pod: Item<'_>) -> Vec<Value> {
    let summary = Summary::of(pod);
    let gates: Vec<_> = pod.list("/spec/readinessGates").collect();
    let passed =
        gates.iter().filter(|gate| pod.is_condition_true(&gate.text("/conditionType"))).count();
    let gates =
        if gates.is_empty() { "<none>".to_owned() } else { format!("{passed}/{}", gates.len()) };
    vec![
        pod.name(),
        format!("{}/{}", summary.ready, summary.total).into(),
        summary.reason.into(),
        summary.restarts.text(pod.now).into(),
        pod.age(),
        pod.text_or("/status/podIPs/0/ip", "<none>").into(),
        pod.text_or("/spec/nodeName", "<none>").into(),
        pod.text_or("/status/nominatedNodeName", "<none>").into(),
        gates.into(),
    ]
}

/// The conditions of a row, by which `kubectl get` tells pods that have ended.
pub(super) fn row_conditions(resource: &ResourceDef, item: &Value) -> Option<Value> {
    if resource.kind != "Pod" || !resource.builtin {
        return None;
    }
    let phase = item.pointer("/status/phase")?.as_str()?;
    let message = match phase {
        "Succeeded" => "The pod has completed successfully.",
        "Failed" => "The pod failed.",
        _ => return None,
    };
    Some(json!([{"type": "Completed", "status": "True", "reason": phase, "message": message}]))
}

struct Summary {
    ready: usize,
    total: usize,
    reason: String,
    restarts: Restarts,
}

#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    last: Option<SystemTime>,
}

impl Restarts {
    fn add(&mut self, container: Item<'_>) {
        self.count += container.int("/restartCount");
        let finished = container.at("/lastState/terminated/finishedAt").as_str();
        self.last = self.last.max(finished.and_then(crate::rfc3339::parse));
    }

    fn text(self, now: SystemTime) -> String {
        match self.last.filter(|_| self.count != 0) {
            Some(last) => {
                let ago = human_duration(now.duration_since(last).unwrap_or_default());
                format!("{} ({ago} ago)", self.count)
            }
            None => self.count.to_string(),
        }
    }
}

impl Summary {
    fn of(pod: Item<'_>) -> Self {
        let phase = pod.text("/status/phase");
        let mut summary = Self {
            ready: 0,
            total: pod.count("/spec/containers"),
            reason: pod.text_or("/status/reason", &phase),
            restarts: Restarts::default(),
        };
        let gated = pod.condition("PodScheduled");
        if gated.is_some_and(|c| c.text("/reason") == "SchedulingGated") {
            "SchedulingGated".clone_into(&mut summary.reason);
        }
        let sidecars = summary.init_containers(pod);
        if sidecars.is_none() || pod.is_condition_true("Initialized") {
            summary.restarts = sidecars.unwrap_or_else(|| sidecar_restarts(pod));
            summary.containers(pod);
        }
        if pod.is_being_deleted() {
            if pod.text("/status/reason") == "NodeLost" {
                "Unknown".clone_into(&mut summary.reason);
            } else if !["Succeeded", "Failed"].contains(&phase.as_str()) {
                "Terminating".clone_into(&mut summary.reason);
            }
        }
        summary
    }

    /// Goes through the init containers up to the first that is not done. Returns the restarts of
    /// the sidecars among those if there is such a one.
    fn init_containers(&mut self, pod: Item<'_>) -> Option<Restarts> {
        let specs = pod.list("/spec/initContainers");
        self.total += specs.filter(|c| is_sidecar(*c)).count();
        let mut sidecars = Restarts::default();
        for (at, container) in pod.list("/status/initContainerStatuses").enumerate() {
            self.restarts.add(container);
            let sidecar = is_sidecar_status(pod, container);
            if sidecar {
                sidecars.add(container);
            }
            let terminated = container.has("/state/terminated");
            if terminated && container.int("/state/terminated/exitCode") == 0 {
                continue;
            }
            if sidecar && container.flag("/started") {
                self.ready += usize::from(container.flag("/ready"));
                continue;
            }
            let waiting = container.text("/state/waiting/reason");
            self.reason = if terminated {
                format!("Init:{}", ending(container))
            } else if !waiting.is_empty() && waiting != "PodInitializing" {
                format!("Init:{waiting}")
            } else {
                format!("Init:{at}/{}", pod.count("/spec/initContainers"))
            };
            return Some(sidecars);
        }
        None
    }

    fn containers(&mut self, pod: Item<'_>) {
        let mut running = false;
        let mut failure = None;
        for container in pod.list("/status/containerStatuses").rev() {
            self.restarts.add(container);
            let waiting = container.text("/state/waiting/reason");
            if !waiting.is_empty() {
                self.reason = waiting;
            } else if container.has("/state/terminated") {
                self.reason = ending(container);
                if container.int("/state/terminated/exitCode") != 0 {
                    failure = Some(self.reason.clone());
                }
            } else if container.flag("/ready") && container.has("/state/running") {
                running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" {
            if running && pod.is_condition_true("Ready") {
                "Running".clone_into(&mut self.reason);
            } else if let Some(failure) = failure {
                self.reason = failure;
            } else if running {
                "NotReady".clone_into(&mut self.reason);
            }
        }
    }
}

/// Why a container has ended.
fn ending(container: Item<'_>) -> String {
    let reason = container.text("/state/terminated/reason");
    let signal = container.int("/state/terminated/signal");
    if !reason.is_empty() {
        reason
    } else if signal != 0 {
        format!("Signal:{signal}")
    } else {
        format!("ExitCode:{}", container.int("/state/terminated/exitCode"))
    }
}

fn is_sidecar(spec: Item<'_>) -> bool {
    spec.text("/restartPolicy") == "Always"
}

fn is_sidecar_status(pod: Item<'_>, status: Item<'_>) -> bool {
    let name = status.text("/name");
    pod.list("/spec/initContainers").any(|c| c.text("/name") == name && is_sidecar(c))
}

fn sidecar_restarts(pod: Item<'_>) -> Restarts {
    let mut restarts = Restarts::default();
    let statuses = pod.list("/status/initContainerStatuses");
    statuses.filter(|c| is_sidecar_status(pod, *c)).for_each(|c| restarts.add(c));
    restarts
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::cells;

    /// Ready, status and restarts of a pod with one container.
    fn summary(status: Value) -> Value {
        let mut pod = json!({"spec": {"containers": [{"name": "c"}]}});
        pod["status"] = status;
        let cells = cells("", "Pod", pod);
        json!([cells[1], cells[2], cells[3]])
    }

    #[test]
    fn a_running_pod_shows_its_ready_containers_and_when_it_restarted() {
        let status = json!({"phase": "Running", "containerStatuses": [
            {"name": "c", "ready": true, "restartCount": 2, "state": {"running": {}},
             "lastState": {"terminated": {"finishedAt": "1970-01-01T00:50:00Z"}}}]});
        assert_eq!(summary(status), json!(["1/1", "Running", "2 (10m ago)"]));
    }

    #[test]
    fn the_reason_of_a_container_comes_before_the_phase() {
        let of = |state: Value| {
            let status = json!({"phase": "Running", "containerStatuses": [{"state": state}]});
            summary(status)[1].clone()
        };
        assert_eq!(of(json!({"waiting": {"reason": "CrashLoopBackOff"}})), "CrashLoopBackOff");
        assert_eq!(of(json!({"terminated": {"exitCode": 3}})), "ExitCode:3");
        assert_eq!(of(json!({"terminated": {"signal": 9, "exitCode": 137}})), "Signal:9");
        assert_eq!(of(json!({"terminated": {"reason": "OOMKilled"}})), "OOMKilled");
    }

    #[test]
    fn a_pod_that_initializes_shows_how_far_it_is() {
        let pod = json!({
            "spec": {"containers": [{"name": "c"}], "initContainers": [
                {"name": "a"}, {"name": "side", "restartPolicy": "Always"}, {"name": "b"}]},
            "status": {"phase": "Pending", "initContainerStatuses": [
                {"name": "a", "state": {"terminated": {"exitCode": 0}}},
                {"name": "side", "started": true, "ready": true, "restartCount": 1},
                {"name": "b", "restartCount": 4, "state": {"running": {}}}]}});
        let cells = cells("", "Pod", pod);
        assert_eq!(cells[1], "1/2");
        assert_eq!(cells[2], "Init:2/3");
        assert_eq!(cells[3], "5");
    }

    #[test]
    fn a_completed_container_beside_a_running_one_does_not_complete_the_pod() {
        let containers = json!([
            {"state": {"terminated": {"reason": "Completed"}}},
            {"ready": true, "state": {"running": {}}}]);
        let status = json!({"phase": "Running", "containerStatuses": containers,
                            "conditions": [{"type": "Ready", "status": "True"}]});
        assert_eq!(summary(status)[1], "Running");
        let status = json!({"phase": "Running", "containerStatuses": containers});
        assert_eq!(summary(status)[1], "NotReady");
    }

    #[test]
    fn deletion_gates_and_lost_nodes_show() {
        let deleted = |status: Value| {
            let pod = json!({"metadata": {"deletionTimestamp": "1970-01-01T00:00:00Z"},
                             "status": status});
            cells("", "Pod", pod)[2].clone()
        };
        assert_eq!(deleted(json!({"phase": "Running"})), "Terminating");
        assert_eq!(deleted(json!({"phase": "Succeeded"})), "Succeeded");
        assert_eq!(deleted(json!({"phase": "Running", "reason": "NodeLost"})), "Unknown");
        let gated = json!({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]});
        assert_eq!(summary(gated)[1], "SchedulingGated");
    }
}
