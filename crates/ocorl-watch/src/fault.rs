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
        Hint::Correct => "to replace the recorded measurements: ocorl study tell STUDY FILE --correct".into(),
        Hint::MarkFailed { .. } => "an episode that gave nothing: ocorl study fail STUDY".into(),
        Hint::AskOrImport { .. } => "ask for one: ocorl study ask STUDY".into(),
        _ => hint.to_string(),
    }
}

/// Messages name the study and never its folder, which is not disclosed.
impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        let unchanged = "nothing was changed on disk";
        let unavailable = |message: String| Fault::new(StatusCode::SERVICE_UNAVAILABLE, message);
        match error {
            StoreError::Missing { what, .. } => Fault::missing(format!("this {what} no longer exists")),
            StoreError::Damaged { what, file, record, good } => unavailable(format!("this {what} is damaged"))
                .detail("file", name(&file))
                .detail("record", record)
                .detail("good", if good > 0 { format!("records 1-{good}") } else { "none".into() })
                .detail("note", unchanged)
                .hint("save the intact records: ocorl study check STUDY --salvage OUT"),
            StoreError::Newer { file, theirs, ours } => unavailable(format!(
                "'{}' was made by a later version of ocorl (its schema version is {theirs}, this program supports {ours})",
                name(&file)
            ))
            .detail("note", unchanged)
            .hint("open it with the version that created it, or a later one"),
            StoreError::InUse { holder, .. } => {
                let who = holder.map_or("another process".into(), |holder| {
                    format!("process {} on '{}' since {}", holder.pid, holder.host, holder.since)
                });
                Fault::later(format!("this study is in use by {who}"), 2)
                    .detail("note", unchanged)
                    .hint("wait until that process has ended, then repeat the request")
            }
            StoreError::Disk { path, cause, fault } => {
                // The cause may repeat the path.
                let cause = cause.replace(&path.display().to_string(), &name(&path));
                unavailable(format!("cannot use '{}': {cause}", name(&path)))
                    .detail("note", "everything stored before is safe")
                    .hint(fault.advice())
            }
            StoreError::Poisoned(_) => unavailable("an earlier write to this study failed".into())
                .detail("note", "everything stored before is safe")
                .hint("repeat the request"),
            StoreError::Exists { what, .. } => unavailable(format!("there is a {what} already")),
            other @ (StoreError::Encode { .. } | StoreError::NotReadBack { .. }) => {
                Fault::new(StatusCode::INTERNAL_SERVER_ERROR, other.to_string()).detail("note", unchanged)
            }
            _ => unavailable("the study cannot be used".into()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use ocorl_study::store::DiskFault;
    use std::path::PathBuf;

    #[test]
    fn no_answer_discloses_the_folder() {
        let folder = PathBuf::from("/home/somebody/secret");
        let file = folder.join("study.db");
        let errors = [
            StoreError::Missing { what: "study", folder: folder.clone() },
            StoreError::Exists { what: "study", folder: folder.clone() },
            StoreError::Damaged {
                what: "study",
                file: file.clone(),
                record: "3: it is missing".into(),
                good: 2,
            },
            StoreError::Newer { file: file.clone(), theirs: 2, ours: 1 },
            StoreError::InUse { folder, holder: None },
            StoreError::Disk {
                path: file.clone(),
                cause: format!("unable to open database file: {}", file.display()),
                fault: DiskFault::Permission,
            },
            StoreError::Poisoned(file),
        ];
        for error in errors {
            let said = serde_json::to_string(&Fault::from(error)).unwrap();
            assert!(!said.contains("secret") && !said.contains("/home"), "{said}");
        }
    }

    #[test]
    fn the_hint_fits_the_error() {
        let disk = |fault: DiskFault| {
            Fault::from(StoreError::Disk { path: "study.db".into(), cause: "it failed".into(), fault })
                .hint
                .unwrap()
        };
        assert!(disk(DiskFault::Full).contains("free disk space"));
        assert!(disk(DiskFault::Permission).contains("permission"));
        for other in [DiskFault::Path, DiskFault::Busy, DiskFault::Other] {
            let said = disk(other);
            assert!(!said.contains("disk space") && !said.contains("permission"), "{said}");
        }
    }
}
