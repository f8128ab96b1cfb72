//! Pools of scratch memory, which avoid repeated allocation.

use std::sync::{Mutex, PoisonError};

/// Stack of reusable vectors: after the first pass through some code, later passes allocate nothing.
#[derive(Clone, Debug, Default)]
pub struct Pool(Vec<Vec<f64>>);

impl Pool {
    /// Takes a vector of `len` unspecified entries. Return vectors in the opposite order.
    pub fn take(&mut self, len: usize) -> Vec<f64> {
        let mut vector = self.0.pop().unwrap_or_default();
        vector.resize(len, 0.0);
        vector
    }

    /// Returns a vector that was [taken](Self::take).
    pub fn give(&mut self, vector: Vec<f64>) {
        self.0.push(vector);
    }
}

/// Scratch memory of an object that several threads use at once: one value of type `T` for each of them.
///
/// The pool is locked while a value is taken out or put back, never while it is used, so threads do not block each
/// other's work. The value that a thread receives depends on timing: results must not depend on its contents.
#[derive(Debug)]
pub struct ScratchPool<T>(Mutex<Vec<T>>);

impl<T> Default for ScratchPool<T> {
    fn default() -> Self {
        ScratchPool(Mutex::new(Vec::new()))
    }
}

impl<T> ScratchPool<T> {
    /// Creates a pool that contains `first`.
    pub fn with_first(first: T) -> Self {
        ScratchPool(Mutex::new(vec![first]))
    }

    /// Runs `act` with a value that no other thread uses meanwhile; `make` creates one if none is free.
    ///
    /// A value is not put back if `act` panics.
    pub fn with<R>(&self, make: impl FnOnce() -> T, act: impl FnOnce(&mut T) -> R) -> R {
        // No code panics while the lock is held; a poisoned lock still guards a valid list.
        let list = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let free = list().pop();
        let mut value = free.unwrap_or_else(make);
        let result = act(&mut value);
        list().push(value);
        result
    }

    /// Returns the number of values that are not in use.
    pub fn free(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_used_again_and_never_shared() {
        let pool = ScratchPool::default();
        let mut made = 0;
        for _ in 0..3 {
            pool.with(
                || {
                    made += 1;
                    0
                },
                |count| *count += 1,
            );
        }
        assert_eq!(made, 1, "one user at a time needs one value");
        let inner = pool.with(|| 0, |outer| pool.with(|| 10, |inner| (*outer, *inner)));
        assert_eq!(inner, (3, 10), "a value in use is not given to another user");
        assert_eq!(pool.free(), 2);
    }
}
