//! Who may ask what. In this order: the name by which we are called, the method, the token of what writes, the origin of who asks. Every
//! answer, also a refusal, tells the browser to load nothing from elsewhere and to run nothing that is not a file of ours.

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

/// The address at which a request came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Local(pub(crate) IpAddr);

/// What the page may do: load files of ours, draw, ask us.
const POLICY: &str = "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// Lines of every answer; a handler may have set another of them.
const LINES: [(HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Lets a request through or refuses it.
pub(crate) async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let mut response = match admitted(&shared, &request) {
        Ok(()) => next.run(request).await,
        Err(fault) => fault.into_response(),
    };
    for (name, value) in &LINES {
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

/// The name by which we are called: exactly one, and one that is ours.
fn called(headers: &HeaderMap, uri: &Uri, local: IpAddr) -> Result<Host, Fault> {
    let stated: Vec<&HeaderValue> = headers.get_all(header::HOST).iter().collect();
    let [stated] = stated.as_slice() else {
        return Err(Fault::malformed("a request needs exactly one Host"));
    };
    let host = stated.to_str().ok().and_then(Host::parse);
    let host = host.ok_or_else(|| Fault::malformed("the Host of the request cannot be read"))?;
    ours(&host, local)?;
    // In an absolute target the name stands twice, and the target's counts.
    if let Some(authority) = uri.authority() {
        let target = Host::parse(authority.as_str());
        let target = target.ok_or_else(|| Fault::malformed("the target of the request cannot be read"))?;
        ours(&target, local)?;
        if !target.same(&host) {
            return Err(Fault::malformed("the target of the request and its Host are not the same"));
        }
    }
    Ok(host)
}

fn ours(host: &Host, local: IpAddr) -> Result<(), Fault> {
    if host.is_ours(local) {
        return Ok(());
    }
    Err(Fault::forbidden("this server does not answer to that name")
        .detail("cause", "the Host of the request is neither localhost nor the address of this machine")
        .hint("use the address that `ocorl watch` printed"))
}

/// Reading everywhere, writing only where something can be written.
fn method(method: &Method, path: &str) -> Result<Option<&'static Route>, Fault> {
    let route = routes::find(path);
    let known = [Method::GET, Method::HEAD, Method::POST].contains(method);
    let writes = *method == Method::POST;
    match route {
        Some(route) if known && route.writes == writes => Ok(Some(route)),
        // What is not there is not there, whoever asks.
        None if known && !writes => Ok(None),
        _ => Err(Fault::new(StatusCode::METHOD_NOT_ALLOWED, "that cannot be done here")),
    }
}

fn token(shared: &Shared, headers: &HeaderMap) -> Result<(), Fault> {
    let given: Vec<&HeaderValue> = headers.get_all(TOKEN_HEADER).iter().collect();
    if let [given] = given.as_slice()
        && shared.token.is(given.as_bytes())
    {
        return Ok(());
    }
    let cause = if given.is_empty() { "it came without a token" } else { "its token is another one" };
    Err(Fault::forbidden("only who has the token may write")
        .detail("cause", cause)
        .detail("note", "nothing was stored")
        .hint("open the address that `ocorl watch` printed, all of it"))
}

/// A page that asks must be ours.
fn origin(headers: &HeaderMap, host: &Host) -> Result<(), Fault> {
    let foreign = || {
        Fault::forbidden("another page may not ask this")
            .detail("cause", "the Origin of the request is not this server")
    };
    for origin in headers.get_all(header::ORIGIN) {
        let same = origin.to_str().ok().and_then(Host::of_origin).is_some_and(|origin| origin.same(host));
        if !same {
            return Err(foreign());
        }
    }
    Ok(())
}

/// What can be sent by a form of any page is not accepted: only kinds that a browser asks about first.
fn kind(headers: &HeaderMap, route: &Route) -> Result<(), Fault> {
    let stated = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let plain = stated.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if route.kinds.contains(&plain.as_str()) {
        return Ok(());
    }
    Err(Fault::forbidden(format!("the Content-Type must be {}", route.kinds.join(" or ")))
        .detail("note", "nothing was stored"))
}
