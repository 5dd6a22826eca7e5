//! Runs the embedded API server on its own.
fn main() -> std::io::Result<()> {
    let listen = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".into());
    let listen = listen.parse().map_err(std::io::Error::other)?;
    let server = kinformer::testing::ApiServer::builder().listen(listen).start()?;
    println!("listening on {}", server.url());
    std::thread::park();
    Ok(())
}
