//! Termination signals.

use crate::errors::Failure;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Termination signals. The first one asks the command to stop; the second one ends the program at once.
pub(crate) struct Signals {
    pub(crate) cancel: Arc<AtomicBool>,
    number: Arc<AtomicUsize>,
}

impl Signals {
    pub(crate) fn catch() -> Result<Self, Failure> {
        let (cancel, number) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let catch = |signal: i32| {
            // In this order: the second signal finds the flag that the first one has set.
            flag::register_conditional_shutdown(signal, 128 + signal, cancel.clone())?;
            flag::register_usize(signal, number.clone(), usize::try_from(signal).unwrap_or(0))?;
            flag::register(signal, cancel.clone())
        };
        for signal in [SIGINT, SIGTERM] {
            catch(signal).map_err(|error| Failure::badly(format!("cannot listen for Ctrl-C: {error}")))?;
        }
        Ok(Signals { cancel, number })
    }

    /// The signal that was received, if any.
    pub(crate) fn caught(&self) -> Option<usize> {
        self.cancel.load(Ordering::Relaxed).then(|| self.number.load(Ordering::Relaxed))
    }
}
