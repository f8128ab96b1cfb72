//! The files of the page, compiled into the program.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use ocorl_view::Theme;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{LazyLock, OnceLock};

/// Names and contents of the files.
static FILES: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// The colours of plots, from the renderer that draws them.
static COLORS: LazyLock<String> = LazyLock::new(|| {
    let (light, dark) = (Theme::LIGHT.variables(), Theme::DARK.variables());
    format!(
        ":root{{{light}}}\n@media (prefers-color-scheme:dark){{:root:not([data-theme=\"light\"]){{{dark}}}}}\n\
         :root[data-theme=\"dark\"]{{{dark}}}\n"
    )
});

/// Names and contents of all files.
fn all() -> impl Iterator<Item = (&'static str, &'static [u8])> {
    FILES.iter().copied().chain(std::iter::once(("plots.css", COLORS.as_bytes())))
}

/// Names of all files, as they appear behind `/assets/`.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().map(|(name, _)| name)
}

struct File {
    contents: &'static [u8],
    kind: &'static str,
    tag: HeaderValue,
}

fn files() -> &'static BTreeMap<&'static str, File> {
    static ALL: OnceLock<BTreeMap<&'static str, File>> = OnceLock::new();
    ALL.get_or_init(|| {
        let file = |(name, contents): (&'static str, &'static [u8])| {
            let mut tag = String::from("\"");
            for byte in &Sha256::digest(contents)[..8] {
                let _ = write!(tag, "{byte:02x}");
            }
            tag.push('"');
            let tag = HeaderValue::from_str(&tag).unwrap_or(HeaderValue::from_static("\"\""));
            (name, File { contents, kind: kind(name), tag })
        };
        all().map(file).collect()
    })
}

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        _ => "text/plain; charset=utf-8",
    }
}

/// The file called `name`, if it exists; status 304 if the client's cached copy is current.
pub(crate) fn answer(name: &str, asked: &HeaderMap) -> Option<Response> {
    let file = files().get(name)?;
    let known = asked.get(header::IF_NONE_MATCH).is_some_and(|tag| tag == file.tag);
    let mut response = Response::new(if known { Body::empty() } else { Body::from(file.contents) });
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.kind));
    headers.insert(header::ETAG, file.tag.clone());
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Some(response)
}
