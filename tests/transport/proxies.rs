//! Small proxies for the tests: HTTP `CONNECT` and SOCKS 5.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    sync::Arc,
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use parking_lot::Mutex;
use rustls::{ServerConnection, StreamOwned};

use crate::support::{Server, pause, spawn};

/// What clients asked a proxy for.
pub(crate) type Asked = Arc<Mutex<Vec<String>>>;

/// Speaks `CONNECT`; sends everybody to `target`, whatever they asked for, if they know the password.
pub(crate) fn http_proxy(target: SocketAddr, credentials: Option<&'static str>) -> (Server, Asked) {
    let asked = Asked::default();
    let seen = asked.clone();
    let proxy = Server::start("127.0.0.1:0", move |mut socket, _| {
        if accept_connect(&mut socket, credentials, &seen) {
            forward(socket, target);
        }
    });
    (proxy, asked)
}

/// Reads a `CONNECT` byte by byte, so as not to take what is meant for the server, and answers it.
pub(crate) fn accept_connect(
    client: &mut (impl Read + Write),
    credentials: Option<&str>,
    asked: &Asked,
) -> bool {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if client.read(&mut byte).unwrap_or(0) == 0 {
            return false;
        }
        head.extend(byte);
    }
    let head = String::from_utf8(head).unwrap();
    asked.lock().push(head.lines().next().unwrap().to_owned());
    let wanted = credentials.map(|pair| format!("Basic {}", BASE64_STANDARD.encode(pair)));
    let welcome = wanted.is_none_or(|wanted| {
        head.lines().any(|line| line == format!("Proxy-Authorization: {wanted}"))
    });
    let answer = match welcome {
        true => "HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n",
        false => "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
    };
    client.write_all(answer.as_bytes()).unwrap();
    welcome
}

/// As a proxy that promised too much: hangs up if the server is not there.
fn forward(client: TcpStream, target: SocketAddr) {
    if let Ok(server) = TcpStream::connect(target) {
        join(client, server);
    }
}

/// Copies in both directions until either side ends.
fn join(client: TcpStream, server: TcpStream) {
    let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let back = spawn(move || {
        let (mut from, mut to) = (server, client);
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
    back.join().unwrap();
}

/// Speaks SOCKS 5; sends everybody to `target`, whatever they asked for, if they know the password.
pub(crate) fn socks_proxy(
    target: SocketAddr,
    credentials: Option<&'static str>,
) -> (Server, Asked) {
    let asked = Asked::default();
    let seen = asked.clone();
    let proxy = Server::start("127.0.0.1:0", move |mut socket, _| {
        if socks(&mut socket, credentials, &seen).unwrap_or(false) {
            forward(socket, target);
        }
    });
    (proxy, asked)
}

fn socks(client: &mut TcpStream, credentials: Option<&str>, asked: &Asked) -> io::Result<bool> {
    let methods = read_counted(client, 1)?;
    let choice = if credentials.is_some() { 2 } else { 0 };
    if !methods.contains(&choice) {
        client.write_all(&[5, 0xff])?;
        return Ok(false);
    }
    client.write_all(&[5, choice])?;
    if let Some(credentials) = credentials {
        let username = read_counted(client, 1)?;
        let password = read_counted(client, 0)?;
        let pair = [username, password].join(&b':');
        let right = pair == credentials.as_bytes();
        client.write_all(&[1, (!right).into()])?;
        if !right {
            return Ok(false);
        }
    }
    let mut request = [0; 4];
    client.read_exact(&mut request)?;
    assert_eq!(request[..3], [5, 1, 0]);
    let (kind, address) = match request[3] {
        1 => ("v4", read(client, 4)?),
        3 => ("name", read_counted(client, 0)?),
        4 => ("v6", read(client, 16)?),
        other => panic!("address type {other}"),
    };
    let port = read(client, 2)?;
    let port = u16::from_be_bytes([port[0], port[1]]);
    let address = match <[u8; 16]>::try_from(address.as_slice()) {
        Ok(six) if kind == "v6" => std::net::Ipv6Addr::from(six).to_string(),
        _ if kind == "v4" => address.iter().map(u8::to_string).collect::<Vec<_>>().join("."),
        _ => String::from_utf8(address).unwrap(),
    };
    asked.lock().push(format!("{kind} {address} {port}"));
    if address == "refused.example" {
        client.write_all(&[5, 2, 0, 1, 0, 0, 0, 0, 0, 0])?;
        return Ok(false);
    }
    // Bound to a name: rare, and its length must be honoured.
    client.write_all(b"\x05\x00\x00\x03\x04name\x00\x50")?;
    Ok(true)
}

/// `skip` bytes, then one that counts those that follow.
fn read_counted(client: &mut TcpStream, skip: usize) -> io::Result<Vec<u8>> {
    let head = read(client, skip + 1)?;
    read(client, head[skip].into())
}

fn read(client: &mut TcpStream, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    client.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Copies between a TLS session, which cannot be split, and a socket.
pub(crate) fn relay(mut client: StreamOwned<ServerConnection, TcpStream>, mut server: TcpStream) {
    client.sock.set_nonblocking(true).unwrap();
    server.set_nonblocking(true).unwrap();
    let mut buffer = [0; 4096];
    let mut idle = |from: &mut dyn Read, to: &mut dyn Write| match from.read(&mut buffer) {
        Ok(0) => None,
        Ok(length) => {
            to.write_all(&buffer[..length]).and_then(|()| to.flush()).ok().map(|()| false)
        }
        Err(error) => (error.kind() == io::ErrorKind::WouldBlock).then_some(true),
    };
    while let (Some(a), Some(b)) = (idle(&mut client, &mut server), idle(&mut server, &mut client))
    {
        if a && b {
            pause(Duration::from_millis(1));
        }
    }
}
