//! Removal and down-weighting of old measurements.

use super::ModelError;
use super::gaussian_process::GaussianProcess;

impl GaussianProcess {
    /// Removes the measurements with these indices and keeps the hyper-parameters. The other measurements keep their order.
    pub fn forget(&mut self, indices: &[usize]) -> Result<(), ModelError> {
        let mut drop = vec![false; self.data.len()];
        for &i in indices.iter().filter(|&&i| i < self.data.len()) {
            drop[i] = true;
        }
        let kept: Vec<usize> = (0..self.data.len()).filter(|&i| !drop[i]).collect();
        let data = self.data.select(kept.iter().copied());
        let noise_inflation: Vec<f64> = kept.iter().map(|&i| self.noise_inflation[i]).collect();
        let mut occupied = vec![false; self.state.inputs.len()];
        for &i in &kept {
            occupied[self.state.groups[i]] = true;
        }
        let gone: Vec<usize> = (0..occupied.len()).filter(|&g| !occupied[g]).collect();
        // An input that loses only some of its merged copies changes its noise, so the model is conditioned from scratch.
        let partly = (0..self.data.len()).any(|i| drop[i] && occupied[self.state.groups[i]]);
        let mut state = self.state.clone();
        state.regroup(&data);
        let targets = state.targets(&self.settings, &data, &noise_inflation)?;
        let mut fast = !partly && !data.is_empty() && self.state.inputs.len() <= self.settings.exact_limit;
        for (output, targets) in state.outputs.iter_mut().zip(&targets) {
            fast = fast && output.conditioned.remove(&gone, targets);
            output.targets = targets.clone();
            output.compressed = None;
        }
        self.state = if fast {
            state
        } else {
            state.conditioned(&self.settings, &data, &noise_inflation, &self.hyper())?
        };
        (self.data, self.noise_inflation) = (data, noise_inflation);
        self.refresh_confidence();
        Ok(())
    }

    /// Keeps the latest `count` measurements and removes all others (a sliding window).
    pub fn keep_latest(&mut self, count: usize) -> Result<(), ModelError> {
        let gone = self.data.len().saturating_sub(count);
        self.forget(&(0..gone).collect::<Vec<_>>())
    }

    /// Reduces the influence of the measurements with these indices: their noise variances are multiplied by `factor` ≥ 1.
    pub fn downweight(&mut self, indices: &[usize], factor: f64) -> Result<(), ModelError> {
        if !(factor >= 1.0 && factor.is_finite()) {
            let need = "a factor on noise variances must be at least 1 and finite";
            return Err(ModelError::Setting { what: "down-weighting", value: factor.to_string(), need });
        }
        let mut noise_inflation = self.noise_inflation.clone();
        for &i in indices.iter().filter(|&&i| i < self.data.len()) {
            // Kept finite, because 0 · ∞ is not a variance.
            noise_inflation[i] = (noise_inflation[i] * factor).min(f64::MAX);
        }
        let mut state = self.state.clone();
        let targets = state.targets(&self.settings, &self.data, &noise_inflation)?;
        let mut fast = true;
        for (output, targets) in state.outputs.iter_mut().zip(&targets) {
            fast = fast && output.conditioned.raise_noise(targets, output.hyper.noise.exp());
            output.targets = targets.clone();
            output.compressed = None;
        }
        self.state = if fast {
            state
        } else {
            state.conditioned(&self.settings, &self.data, &noise_inflation, &self.hyper())?
        };
        self.noise_inflation = noise_inflation;
        self.refresh_confidence();
        Ok(())
    }
}
