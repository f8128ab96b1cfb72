//! Connections: where we listen, how long we wait for whoever is slow.

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

/// Connections at once; more are closed unheard.
pub const MOST_CONNECTIONS: usize = 2048;
/// The head of a request must have come after this long; also how long an idle connection stays.
const HEAD_WITHIN: Duration = Duration::from_secs(8);
/// Somebody who reads nothing for so long is dropped.
const READ_WITHIN: Duration = Duration::from_secs(8);
/// Most bytes of the head of a request: longer ones are refused.
const MOST_HEAD: usize = 32 << 10;
/// The kernel keeps this much for who is slow.
const SEND_BUFFER: u32 = 64 << 10;
/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;
/// Ports that are tried after the usual one.
const TRIES: u16 = 50;

/// Listens as the options say: all sockets, with one port.
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

/// Of a machine itself there are two addresses.
fn listen_at(host: Option<IpAddr>, port: u16) -> io::Result<Vec<TcpListener>> {
    let Some(host) = host else {
        let first = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        let port = first.local_addr()?.port();
        return match bind(SocketAddr::from((Ipv6Addr::LOCALHOST, port))) {
            Ok(second) => Ok(vec![first, second]),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
            // There are machines without IPv6.
            Err(_) => Ok(vec![first]),
        };
    };
    Ok(vec![bind(SocketAddr::from((host, port)))?])
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    // What is accepted has it too.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Accepts connections for ever.
pub(crate) async fn accept(listener: TcpListener, shared: Arc<Shared>, room: Arc<Semaphore>) {
    let router = routes::router(&shared);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Who finds no room is closed by being dropped.
                let Ok(place) = room.clone().try_acquire_owned() else { continue };
                let router = router.clone();
                tokio::spawn(async move {
                    // Who breaks off has no use for an error.
                    let _ = serve(stream, router).await;
                    drop(place);
                });
            }
            // No more files, or the caller is gone already: not a reason to end.
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
        .serve_connection(TokioIo::new(Patient { stream, waiting: None }), service)
        .await
}

/// A connection that does not wait for ever for a reader.
struct Patient {
    stream: TcpStream,
    /// Until when, while something cannot be written.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    /// Looks at the clock where nothing could be written.
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

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Patient {
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
