//! A wire to a server on which bytes are counted.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use kinformer::{Client, Config, testing::ApiServer};

pub(crate) struct Wire {
    address: SocketAddr,
    bytes: Arc<AtomicUsize>,
}

impl Wire {
    pub(crate) fn to(server: &ApiServer) -> Self {
        let target = server.url().trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, bytes) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
        let counted = bytes.clone();
        // Ends with the process: it waits for connections until then.
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let Ok(far) = TcpStream::connect(&target) else { continue };
                let (from_far, to_near) = (far.try_clone().unwrap(), near.try_clone().unwrap());
                let counted = counted.clone();
                std::thread::spawn(move || copy(near, far, &AtomicUsize::new(0)));
                std::thread::spawn(move || copy(from_far, to_near, &counted));
            }
        });
        Self { address, bytes }
    }

    pub(crate) fn client(&self) -> Client {
        let config = Config::builder(format!("http://{}", self.address)).build().unwrap();
        Client::new(config).unwrap()
    }

    /// How many have come from the server.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::SeqCst)
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream, count: &AtomicUsize) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(read) = from.read(&mut buffer)
        && read > 0
    {
        // Before whoever gets them can ask.
        count.fetch_add(read, Ordering::SeqCst);
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}
