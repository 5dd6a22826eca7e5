//! Taking connections, each on a thread of its own.

use std::{
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread::JoinHandle,
    time::Duration,
};

use rustls::ServerConnection;

use super::{connection, tls::Certificates, wire::Wire};
use crate::{testing::shared::Shared, thread};

/// Takes connections, each on a thread of its own, until the server stops; then waits for them.
pub(crate) fn accept(
    shared: &Arc<Shared>,
    listener: Arc<TcpListener>,
    certificates: Option<&Arc<Certificates>>,
) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    while !shared.stop.is_stopped() {
        let Ok((tcp, _)) = listener.accept() else {
            // Out of file descriptors, most likely: some will come back.
            let _ = shared.stop.wait_timeout(Duration::from_millis(10));
            continue;
        };
        reap(&mut threads);
        let tcp = Arc::new(tcp);
        let Some(id) = shared.connect(&tcp) else { break };
        let thread = {
            let (shared, certificates) = (shared.clone(), certificates.cloned());
            thread::spawn("api:conn", move || {
                let registered = Registered { shared: &shared, id };
                connected(&shared, id, tcp, certificates.as_deref());
                drop(registered);
            })
        };
        match thread {
            Ok(thread) => threads.push(thread),
            Err(_) => shared.disconnect(id),
        }
    }
    drop(listener);
    for thread in threads {
        let _ = thread.join();
    }
}

/// Keeps a connection known to the server; not any more when its thread ends, in whatever way.
struct Registered<'a> {
    shared: &'a Shared,
    id: u64,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.shared.disconnect(self.id);
    }
}

/// Joins threads that have ended.
fn reap(threads: &mut Vec<JoinHandle<()>>) {
    for thread in threads.extract_if(.., |thread| thread.is_finished()) {
        let _ = thread.join();
    }
}

fn connected(
    shared: &Arc<Shared>,
    id: u64,
    tcp: Arc<TcpStream>,
    certificates: Option<&Certificates>,
) {
    let mut wire = match certificates {
        None => Wire::plain(tcp, shared.stop.clone()),
        Some(certificates) => match ServerConnection::new(certificates.config()) {
            Ok(session) => Wire::tls(tcp, session, shared.stop.clone()),
            Err(_) => return,
        },
    };
    connection::serve(shared, id, &mut wire);
    if wire.resets() {
        shared.disconnect(id);
    }
    wire.close();
}
