//! The table of all addresses. The router is built from it, the access control uses it, and a test visits every entry.

use crate::{Shared, guard, reading, running, stream, writing};
use axum::Router;
use axum::routing::{MethodRouter, get, post};
use std::sync::Arc;

/// One address.
#[derive(Clone, Copy)]
pub struct Route {
    /// Path pattern: `{name}` matches one segment, `{*name}` all that follow.
    pub pattern: &'static str,
    /// Whether the route writes: it then takes POST with the token, otherwise GET or HEAD.
    pub writes: bool,
    /// Accepted content types of a route that writes.
    pub kinds: &'static [&'static str],
    handler: fn() -> MethodRouter<Arc<Shared>>,
}

const fn read(pattern: &'static str, handler: fn() -> MethodRouter<Arc<Shared>>) -> Route {
    Route { pattern, writes: false, kinds: &[], handler }
}

const fn write(
    pattern: &'static str,
    kinds: &'static [&'static str],
    handler: fn() -> MethodRouter<Arc<Shared>>,
) -> Route {
    Route { pattern, writes: true, kinds, handler }
}

/// All routes.
pub const ROUTES: [Route; 23] = [
    read("/", || get(reading::page)),
    read("/assets/{*name}", || get(reading::asset)),
    read("/api/studies", || get(reading::studies)),
    read("/api/events", || get(stream::events)),
    read("/api/compare", || get(reading::compare)),
    read("/api/sweep/{id}", || get(reading::sweep)),
    read("/api/study/{id}", || get(reading::study)),
    read("/api/study/{id}/episode/{number}", || get(reading::episode)),
    read("/api/study/{id}/live", || get(reading::live)),
    read("/api/study/{id}/figure/{name}", || get(reading::figure)),
    read("/api/study/{id}/plan.json", || get(reading::plan)),
    read("/api/study/{id}/report.html", || get(reading::report)),
    write("/api/study/{id}/measured", &["text/csv", "application/json"], || post(writing::measured)),
    write("/api/study/{id}/fail", &["application/json"], || post(writing::fail)),
    write("/api/study/{id}/discard", &["application/json"], || post(writing::discard)),
    write("/api/study/{id}/ask", &["application/json"], || post(writing::ask)),
    write("/api/study/{id}/complete", &["application/json"], || post(writing::complete)),
    write("/api/study/{id}/check", &["text/csv", "application/json"], || post(writing::check)),
    write("/api/study/{id}/select", &["application/json"], || post(writing::select)),
    write("/api/study/{id}/run", &["application/json"], || post(running::go_on)),
    write("/api/study/{id}/stop", &["application/json"], || post(running::stop)),
    write("/api/new", &["application/json"], || post(running::create)),
    write("/api/study/{id}/note", &["application/json"], || post(writing::note)),
];

/// The route of a path, if there is one.
pub(crate) fn find(path: &str) -> Option<&'static Route> {
    ROUTES.iter().find(|route| fits(route.pattern, path))
}

fn fits(pattern: &str, path: &str) -> bool {
    let (mut wanted, mut parts) = (pattern.split('/'), path.split('/'));
    loop {
        match (wanted.next(), parts.next()) {
            (None, None) => return true,
            (Some(wanted), Some(part)) if wanted.starts_with("{*") => return !part.is_empty(),
            (Some(wanted), Some(part)) if wanted.starts_with('{') => {
                if part.is_empty() {
                    return false;
                }
            }
            (Some(wanted), Some(part)) if wanted == part => {}
            _ => return false,
        }
    }
}

/// The router, with the access control around all routes.
pub(crate) fn router(shared: &Arc<Shared>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        router = router.route(route.pattern, (route.handler)());
    }
    router
        .fallback(reading::nothing)
        .layer(axum::middleware::from_fn_with_state(shared.clone(), guard::guard))
        .with_state(shared.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eleven_addresses_write_and_patterns_fit_what_they_say() {
        assert_eq!(ROUTES.iter().filter(|route| route.writes).count(), 11);
        for (path, pattern) in [
            ("/", Some("/")),
            ("/assets/vendor/x.js", Some("/assets/{*name}")),
            ("/api/study/a/episode/3", Some("/api/study/{id}/episode/{number}")),
            ("/api/study/", None),
            ("/api/study/a/", None),
            ("/assets/", None),
            ("", None),
            ("//", None),
        ] {
            assert_eq!(find(path).map(|route| route.pattern), pattern, "{path}");
        }
    }
}
