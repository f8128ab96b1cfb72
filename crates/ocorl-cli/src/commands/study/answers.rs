//! Error messages, hints and exit codes for the errors of a study.

use crate::errors::Failure;
use ocorl_study::store::StoreError;
use ocorl_study::study::StudyError;
use ocorl_study::user_error::UserError;

impl From<StudyError> for Failure {
    fn from(error: StudyError) -> Self {
        match error {
            StudyError::Store(error) => error.into(),
            StudyError::Refused(error) => error.into(),
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
            StoreError::Missing { what, folder } => UserError::new(message)
                .hint(format!("create one: ocorl {what} new {} --system NAME", folder.display()))
                .into(),
            StoreError::Exists { folder, .. } => UserError::new(message)
                .detail("note", unchanged)
                .hint(format!("continue it: ocorl study status {}", folder.display()))
                .into(),
            StoreError::Damaged { what, file, record, good } => {
                let folder = file.parent().unwrap_or(&file).display().to_string();
                Failure::damaged(message)
                    .detail("file", file.display().to_string())
                    .detail("record", record)
                    .detail("good", if good > 0 { format!("records 1-{good}") } else { "none".into() })
                    .detail("note", unchanged)
                    .hint(if good > 0 {
                        format!(
                            "save the intact records: ocorl {what} check {folder} --salvage {folder}-rescued"
                        )
                    } else {
                        "restore a copy of the folder: no record of this one can be saved".into()
                    })
            }
            StoreError::Newer { .. } => Failure::damaged(message)
                .detail("note", unchanged)
                .hint("open it with the version that created it, or a later one"),
            StoreError::InUse { folder, .. } => Failure::in_use(message)
                .detail("note", unchanged)
                .hint(format!("close it there, or read only: ocorl study status {}", folder.display())),
            StoreError::Disk { fault, .. } => Failure::on_disk(message)
                .detail("note", "everything stored before is safe")
                .hint(fault.advice()),
            StoreError::NotReadBack { .. } => Failure::badly(message)
                .detail("note", unchanged)
                .hint("this is a bug in ocorl: please report it with the command and its files"),
            StoreError::Poisoned(_) => Failure::on_disk(message).hint("open the study again"),
            _ => Failure::badly(message),
        }
    }
}
