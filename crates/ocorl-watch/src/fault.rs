//! Errors of a request: an HTTP status and a small JSON document for the page and for scripts.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ocorl_study::store::StoreError;
use ocorl_study::study::StudyError;
use ocorl_study::user_error::{Hint, UserError};
use serde::Serialize;

/// Why a request failed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Fault {
    #[serde(skip)]
    pub(crate) status: StatusCode,
    /// What failed, in one line.
    pub(crate) error: String,
    /// Labelled details.
    pub(crate) details: Vec<(String, String)>,
    /// What the user can do.
    pub(crate) hint: Option<String>,
    /// Errors at lines of an uploaded file that was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rows: Option<Vec<BadRow>>,
    /// Seconds after which the client should retry.
    #[serde(skip)]
    pub(crate) retry: Option<u32>,
}

/// An error at a line of an uploaded file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct BadRow {
    /// Line number, from 1.
    pub(crate) line: usize,
    /// Number of the faulty cell, from 1, if it is known.
    pub(crate) column: Option<usize>,
    /// Description of the error.
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Fault { status, error: error.into(), details: Vec::new(), hint: None, rows: None, retry: None }
    }

    pub(crate) fn malformed(error: impl Into<String>) -> Self {
        Fault::new(StatusCode::BAD_REQUEST, error)
    }

    pub(crate) fn forbidden(error: impl Into<String>) -> Self {
        Fault::new(StatusCode::FORBIDDEN, error)
    }

    pub(crate) fn missing(error: impl Into<String>) -> Self {
        Fault::new(StatusCode::NOT_FOUND, error)
    }

    /// Temporarily unavailable; the client should retry after `seconds`.
    pub(crate) fn later(error: impl Into<String>, seconds: u32) -> Self {
        Fault { retry: Some(seconds), ..Fault::new(StatusCode::SERVICE_UNAVAILABLE, error) }
    }

    pub(crate) fn detail(mut self, label: &str, text: impl Into<String>) -> Self {
        self.details.push((label.into(), text.into()));
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<UserError> for Fault {
    fn from(mistake: UserError) -> Self {
        let UserError { message, details, hint } = mistake;
        let details = details.into_iter().map(|(label, text)| (label.into(), text)).collect();
        Fault {
            details,
            hint: hint.as_ref().map(on_page),
            ..Fault::new(StatusCode::UNPROCESSABLE_ENTITY, message)
        }
    }
}

/// A hint for somebody at the page, which shows a study and takes measurements; the rest is done by the program that serves it.
fn on_page(hint: &Hint) -> String {
    match hint {
        Hint::Correct => "to replace what was told: ocorl study tell STUDY FILE --correct".into(),
        Hint::MarkFailed { .. } => "an episode that gave nothing: ocorl study fail STUDY".into(),
        Hint::AskOrImport { .. } => "ask for one: ocorl study ask STUDY".into(),
        _ => hint.to_string(),
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        let unchanged = "nothing was changed on disk";
        match error {
            StoreError::Missing { .. } => Fault::missing(message),
            StoreError::Damaged { file, record, good, .. } => {
                Fault::new(StatusCode::SERVICE_UNAVAILABLE, message)
                    .detail("file", name(&file))
                    .detail("record", record)
                    .detail("good", if good > 0 { format!("records 1-{good}") } else { "none".into() })
                    .detail("note", unchanged)
                    .hint("save the intact records: ocorl study check STUDY --salvage OUT")
            }
            StoreError::Newer { .. } => Fault::new(StatusCode::SERVICE_UNAVAILABLE, message)
                .detail("note", unchanged)
                .hint("open it with the version that created it, or a later one"),
            StoreError::InUse { .. } => Fault::later(message, 2)
                .detail("note", unchanged)
                .hint("wait until that process has ended, then repeat the request"),
            _ => Fault::new(StatusCode::SERVICE_UNAVAILABLE, message)
                .detail("note", "everything stored before is safe")
                .hint("free disk space or get write permission, then repeat the request; nothing was partly written"),
        }
    }
}

impl From<StudyError> for Fault {
    fn from(error: StudyError) -> Self {
        match error {
            StudyError::Store(error) => error.into(),
            StudyError::Refused(mistake) => mistake.into(),
            other => Fault::new(StatusCode::UNPROCESSABLE_ENTITY, other.to_string()),
        }
    }
}

/// Name of a file without its folder, which is not disclosed.
fn name(file: &std::path::Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let text = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = self.retry {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
