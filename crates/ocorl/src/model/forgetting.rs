//! Data that go: a sliding window, or less trust in what is old.

use super::ModelError;
use super::gaussian_process::GaussianProcess;

impl GaussianProcess {
    /// Forgets the measurements with these numbers, without learning anything anew. The rest keep their order.
    pub fn forget(&mut self, indices: &[usize]) -> Result<(), ModelError> {
        let mut drop = vec![false; self.data.len()];
        for &i in indices.iter().filter(|&&i| i < self.data.len()) {
            drop[i] = true;
        }
        let kept: Vec<usize> = (0..self.data.len()).filter(|&i| !drop[i]).collect();
        let data = self.data.select(kept.iter().copied());
        let forgotten: Vec<f64> = kept.iter().map(|&i| self.forgotten[i]).collect();
        let mut left = vec![false; self.state.inputs.len()];
        for &i in &kept {
            left[self.state.groups[i]] = true;
        }
        let gone: Vec<usize> = (0..left.len()).filter(|&g| !left[g]).collect();
        // A place that keeps some of its copies changes its noise: then everything is conditioned anew.
        let partly = (0..self.data.len()).any(|i| drop[i] && left[self.state.groups[i]]);
        let mut state = self.state.clone();
        state.regroup(&data);
        let targets = self.targets(&state, &data, &forgotten)?;
        let mut fast = !partly && !data.is_empty() && self.state.inputs.len() <= self.settings.exact_limit;
        for (output, targets) in state.outputs.iter_mut().zip(&targets) {
            fast = fast && output.conditioned.remove(&gone, targets);
            output.targets = targets.clone();
        }
        self.state = if fast { state } else { self.condition(&data, &forgotten, state, &self.hyper())? };
        (self.data, self.forgotten) = (data, forgotten);
        self.refresh_confidence();
        Ok(())
    }

    /// A sliding window: forgets all but the latest `count` measurements.
    pub fn keep_latest(&mut self, count: usize) -> Result<(), ModelError> {
        let gone = self.data.len().saturating_sub(count);
        self.forget(&(0..gone).collect::<Vec<_>>())
    }

    /// Trusts the measurements with these numbers less: their noise variances grow by `factor` ≥ 1.
    pub fn downweight(&mut self, indices: &[usize], factor: f64) -> Result<(), ModelError> {
        if !(factor >= 1.0 && factor.is_finite()) {
            let need = "a factor on noise variances must be at least 1 and finite";
            return Err(ModelError::Setting { what: "down-weighting", value: factor.to_string(), need });
        }
        let mut forgotten = self.forgotten.clone();
        for &i in indices.iter().filter(|&&i| i < self.data.len()) {
            // Never infinite: 0 · ∞ is no variance.
            forgotten[i] = (forgotten[i] * factor).min(f64::MAX);
        }
        let mut state = self.state.clone();
        let targets = self.targets(&state, &self.data, &forgotten)?;
        let mut fast = true;
        for (output, targets) in state.outputs.iter_mut().zip(&targets) {
            fast = fast && output.conditioned.raise_noise(targets, output.hyper.noise.exp());
            output.targets = targets.clone();
        }
        self.state = if fast { state } else { self.condition(&self.data, &forgotten, state, &self.hyper())? };
        self.forgotten = forgotten;
        self.refresh_confidence();
        Ok(())
    }
}
