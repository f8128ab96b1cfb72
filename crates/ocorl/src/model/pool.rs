//! Scratch memory that is given back.

/// Vectors to borrow and give back: after the first pass through some code, nothing is allocated by the next ones.
#[derive(Clone, Debug, Default)]
pub struct Pool(Vec<Vec<f64>>);

impl Pool {
    /// A vector of `len` unspecified numbers. Give vectors back in the opposite order.
    pub fn take(&mut self, len: usize) -> Vec<f64> {
        let mut vector = self.0.pop().unwrap_or_default();
        vector.resize(len, 0.0);
        vector
    }

    /// Returns what was [taken](Self::take).
    pub fn give(&mut self, vector: Vec<f64>) {
        self.0.push(vector);
    }
}
