//! A port that nobody else gets.

use std::net::SocketAddr;

use socket2::{Domain, Socket, Type};

/// An address where nobody listens; no one else is given it while this lives, and its owner may listen there.
pub(crate) struct Reserved {
    pub(crate) address: SocketAddr,
    _bound: Socket,
}

impl Reserved {
    pub(crate) fn new() -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.set_reuse_address(true).unwrap();
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        let address = socket.local_addr().unwrap().as_socket().unwrap();
        Self { address, _bound: socket }
    }
}
