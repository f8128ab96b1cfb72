//! Accepts connections: which addresses the server listens on, and how long it waits for slow clients. Requests are handled in
//! `routes`.

use crate::guard::Local;
use crate::{Options, Shared, WatchError, routes};
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, Sleep};
use tower::ServiceExt;

/// Largest number of simultaneous connections; further ones are closed at once.
pub const MOST_CONNECTIONS: usize = 2048;
/// Time within which the head of a request must arrive; also how long an idle connection stays open.
const HEAD_WITHIN: Duration = Duration::from_secs(8);
/// A client that reads nothing for this long is disconnected.
const READ_WITHIN: Duration = Duration::from_secs(8);
/// Largest size of a request head in bytes; longer ones are refused.
const MOST_HEAD: usize = 32 << 10;
/// Size of the kernel's send buffer in bytes, which limits the memory for slow clients.
const SEND_BUFFER: u32 = 64 << 10;
/// Number of connections that may wait to be accepted.
const BACKLOG: u32 = 1024;
/// Number of ports tried after the default one.
const TRIES: u16 = 50;

/// Opens all listening sockets that the options ask for, on one port.
pub(crate) fn listen(options: &Options) -> Result<Vec<TcpListener>, WatchError> {
    let first = options.port.unwrap_or(crate::PORT);
    let last = if options.port.is_some() { first } else { first.saturating_add(TRIES) };
    let mut failure = None;
    for port in first..=last {
        match listen_at(options.host, port) {
            Ok(listeners) => return Ok(listeners),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => failure = Some(error),
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    let source = failure.unwrap_or_else(|| io::ErrorKind::AddrInUse.into());
    Err(WatchError::Port { port: first, exact: options.port.is_some(), source })
}

/// Listens on `host`; without one, on both loopback addresses (IPv4 and IPv6).
fn listen_at(host: Option<IpAddr>, port: u16) -> io::Result<Vec<TcpListener>> {
    let Some(host) = host else {
        let first = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        let port = first.local_addr()?.port();
        return match bind(SocketAddr::from((Ipv6Addr::LOCALHOST, port))) {
            Ok(second) => Ok(vec![first, second]),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
            // Some machines have no IPv6.
            Err(_) => Ok(vec![first]),
        };
    };
    Ok(vec![bind(SocketAddr::from((host, port)))?])
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    // Accepted connections inherit the buffer size.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Accepts connections until the server stops.
pub(crate) async fn accept(listener: TcpListener, shared: Arc<Shared>, room: Arc<Semaphore>) {
    let router = routes::router(&shared);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Beyond the limit, dropping the stream closes the connection.
                let Ok(place) = room.clone().try_acquire_owned() else { continue };
                let router = router.clone();
                tokio::spawn(async move {
                    // A client that disconnects needs no error message.
                    let _ = serve(stream, router).await;
                    drop(place);
                });
            }
            // Too many open files, or the client is already gone: the server continues.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

async fn serve(stream: TcpStream, router: Router) -> hyper::Result<()> {
    let local = Local(stream.local_addr().map_or(Ipv4Addr::LOCALHOST.into(), |address| address.ip()));
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(local);
        router.clone().oneshot(request)
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(MOST_HEAD)
        .serve_connection(TokioIo::new(TimedStream { stream, waiting: None }), service)
        .await
}

/// A connection whose writes time out.
struct TimedStream {
    stream: TcpStream,
    /// Deadline while a write is blocked.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl TimedStream {
    /// Fails a blocked write after [`READ_WITHIN`].
    fn within<T>(&mut self, context: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.waiting = None;
            return outcome;
        }
        let clock = self
            .waiting
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + READ_WITHIN)));
        match clock.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.within(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.within(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
