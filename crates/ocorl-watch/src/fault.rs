//! What went wrong, as the page and scripts are told: a status and a small document.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ocorl_study::mistake::Mistake;
use ocorl_study::store::StoreError;
use ocorl_study::study::StudyError;
use serde::Serialize;

/// Why there is no answer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Fault {
    #[serde(skip)]
    pub(crate) status: StatusCode,
    /// What failed, in one line.
    pub(crate) error: String,
    /// Labelled lines below it.
    pub(crate) details: Vec<(String, String)>,
    /// What to do now.
    pub(crate) hint: Option<String>,
    /// Mistakes at their lines, of a file that was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rows: Option<Vec<BadRow>>,
    /// Seconds after which to try again.
    #[serde(skip)]
    pub(crate) retry: Option<u32>,
}

/// A mistake at its line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct BadRow {
    /// From 1.
    pub(crate) line: usize,
    /// Number of the cell, from 1, if one is to blame.
    pub(crate) column: Option<usize>,
    /// What is wrong.
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

    /// Not now.
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

impl From<Mistake> for Fault {
    fn from(mistake: Mistake) -> Self {
        let Mistake { message, details, hint } = mistake;
        let details = details.into_iter().map(|(label, text)| (label.into(), text)).collect();
        Fault { details, hint, ..Fault::new(StatusCode::UNPROCESSABLE_ENTITY, message) }
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
                    .hint("save what is good: ocorl study check STUDY --salvage OUT")
            }
            StoreError::Newer { .. } => Fault::new(StatusCode::SERVICE_UNAVAILABLE, message)
                .detail("note", unchanged)
                .hint("open it with the version that made it, or a later one"),
            StoreError::InUse { .. } => Fault::later(message, 2)
                .detail("note", unchanged)
                .hint("wait until it has ended, then say it again"),
            _ => Fault::new(StatusCode::SERVICE_UNAVAILABLE, message)
                .detail("note", "what was kept before is safe")
                .hint("make room or get permission, then say it again: nothing was half-written"),
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

/// Name of a file, without where it is.
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
