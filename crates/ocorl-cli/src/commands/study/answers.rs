//! What becomes of a study's errors, in words and exit codes.

use crate::errors::Failure;
use ocorl_study::mistake::Mistake;
use ocorl_study::store::StoreError;
use ocorl_study::study::StudyError;

impl From<StudyError> for Failure {
    fn from(error: StudyError) -> Self {
        match error {
            StudyError::Store(error) => error.into(),
            StudyError::Refused(mistake) => mistake.into(),
            StudyError::Learn(error) => error.into(),
            other => Failure::badly(other.to_string()),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        let unchanged = "nothing was changed on disk";
        match error {
            StoreError::Missing { what, folder } => Mistake::new(message)
                .hint(format!("begin one: ocorl {what} new {} --system NAME", folder.display()))
                .into(),
            StoreError::Exists { folder, .. } => Mistake::new(message)
                .detail("note", unchanged)
                .hint(format!("go on with it: ocorl study status {}", folder.display()))
                .into(),
            StoreError::Damaged { what, file, record, good } => {
                let folder = file.parent().unwrap_or(&file).display().to_string();
                Failure::damaged(message)
                    .detail("file", file.display().to_string())
                    .detail("record", record)
                    .detail("good", if good > 0 { format!("records 1-{good}") } else { "none".into() })
                    .detail("note", unchanged)
                    .hint(format!(
                        "save what is good: ocorl {what} check {folder} --salvage {folder}-rescued"
                    ))
            }
            StoreError::Newer { .. } => Failure::damaged(message)
                .detail("note", unchanged)
                .hint("open it with the version that made it, or a later one"),
            StoreError::InUse { folder, .. } => Failure::in_use(message)
                .detail("note", unchanged)
                .hint(format!("close it there, or look only: ocorl study status {}", folder.display())),
            StoreError::Disk { .. } => Failure::on_disk(message)
                .detail("note", "what was kept before is safe")
                .hint("make room or get permission, then say it again: nothing was half-written"),
            StoreError::Poisoned(_) => Failure::on_disk(message).hint("open the study again"),
            _ => Failure::badly(message),
        }
    }
}
