//! Access control. Checked in this order: the Host header, the method, the token of writing requests, the Origin header. Every
//! answer, also a refusal, has headers that forbid the browser to load anything from elsewhere and to run any script that is not a
//! file of this server.

use crate::fault::Fault;
use crate::host::Host;
use crate::routes::{self, Route};
use crate::{Shared, TOKEN_HEADER};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::sync::Arc;

/// The local address at which a request arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Local(pub(crate) IpAddr);

/// Content security policy of the page: only files and requests of this server.
const POLICY: &str = "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// Headers of every answer, unless the handler sets another value.
const HEADERS: [(HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Passes a request on or refuses it.
pub(crate) async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let mut response = match admitted(&shared, &request) {
        Ok(()) => next.run(request).await,
        Err(fault) => fault.into_response(),
    };
    for (name, value) in &HEADERS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

fn admitted(shared: &Shared, request: &Request) -> Result<(), Fault> {
    let local = request.extensions().get::<Local>().map_or(IpAddr::from([127, 0, 0, 1]), |local| local.0);
    let host = called(request.headers(), request.uri(), local)?;
    let route = method(request.method(), request.uri().path())?;
    if route.is_some_and(|route| route.writes) {
        token(shared, request.headers())?;
    }
    origin(request.headers(), &host)?;
    match route {
        Some(route) if route.writes => kind(request.headers(), route),
        _ => Ok(()),
    }
}

/// Checks the Host header: there must be exactly one, and it must name this machine.
fn called(headers: &HeaderMap, uri: &Uri, local: IpAddr) -> Result<Host, Fault> {
    let stated: Vec<&HeaderValue> = headers.get_all(header::HOST).iter().collect();
    let [stated] = stated.as_slice() else {
        return Err(Fault::malformed("a request needs exactly one Host header"));
    };
    let host = stated.to_str().ok().and_then(Host::parse);
    let host = host.ok_or_else(|| Fault::malformed("the Host header cannot be parsed"))?;
    ours(&host, local)?;
    // With an absolute target the host appears twice, and the one in the target counts.
    if let Some(authority) = uri.authority() {
        let target = Host::parse(authority.as_str());
        let target = target.ok_or_else(|| Fault::malformed("the request target cannot be parsed"))?;
        ours(&target, local)?;
        if !target.same(&host) {
            return Err(Fault::malformed("the request target and the Host header differ"));
        }
    }
    Ok(host)
}

fn ours(host: &Host, local: IpAddr) -> Result<(), Fault> {
    if host.is_ours(local) {
        return Ok(());
    }
    Err(Fault::forbidden("this server does not answer to that host name")
        .detail("cause", "the Host header is neither localhost nor an address of this machine")
        .hint("use the address that `ocorl watch` printed"))
}

/// Checks the method: GET and HEAD everywhere, POST only on routes that write.
fn method(method: &Method, path: &str) -> Result<Option<&'static Route>, Fault> {
    let route = routes::find(path);
    let known = [Method::GET, Method::HEAD, Method::POST].contains(method);
    let writes = *method == Method::POST;
    match route {
        Some(route) if known && route.writes == writes => Ok(Some(route)),
        // An unknown address gives 404, whoever asks.
        None if known && !writes => Ok(None),
        _ => Err(Fault::new(StatusCode::METHOD_NOT_ALLOWED, "this method is not allowed here")),
    }
}

fn token(shared: &Shared, headers: &HeaderMap) -> Result<(), Fault> {
    let given: Vec<&HeaderValue> = headers.get_all(TOKEN_HEADER).iter().collect();
    if let [given] = given.as_slice()
        && shared.token.is(given.as_bytes())
    {
        return Ok(());
    }
    let cause = if given.is_empty() { "the request has no token" } else { "the token is wrong" };
    Err(Fault::forbidden("writing needs the token")
        .detail("cause", cause)
        .detail("note", "nothing was stored")
        .hint("open the complete address that `ocorl watch` printed"))
}

/// Checks the Origin header: a page that sends a request must be served from here.
fn origin(headers: &HeaderMap, host: &Host) -> Result<(), Fault> {
    let foreign = || {
        Fault::forbidden("requests from other pages are refused")
            .detail("cause", "the Origin header does not name this server")
    };
    for origin in headers.get_all(header::ORIGIN) {
        let same = origin.to_str().ok().and_then(Host::of_origin).is_some_and(|origin| origin.same(host));
        if !same {
            return Err(foreign());
        }
    }
    Ok(())
}

/// Checks the Content-Type: only types for which a browser sends a preflight request first, so that no form of another page is
/// accepted.
fn kind(headers: &HeaderMap, route: &Route) -> Result<(), Fault> {
    let stated = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let plain = stated.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if route.kinds.contains(&plain.as_str()) {
        return Ok(());
    }
    Err(Fault::forbidden(format!("the Content-Type must be {}", route.kinds.join(" or ")))
        .detail("note", "nothing was stored"))
}
