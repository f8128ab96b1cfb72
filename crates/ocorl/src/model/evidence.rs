//! The evidence of the data under a Gaussian process, for the comparison of hypotheses about the data.
//!
//! Two models of different data, or with different noise, can be compared only in physical units. With n rows of standard deviation s,
//!
//! ```text
//! ln p(y) = ln p((y − m − shift)/s) − n ln s
//! ```
//!
//! Deliberately left out: the hyper-priors, which hardly differ between hypotheses about few rows.

use super::gaussian_process::GaussianProcess;
use super::likelihood::Likelihood;
use super::settings::Noise;
use super::state::Output;

impl GaussianProcess {
    /// The log marginal likelihood of the data of each output, in physical units. `None` without data, with inducing points, with the
    /// authors' noise convention, or if a covariance matrix cannot be factorised. O(n³/3) for each output.
    pub fn log_evidence(&self) -> Option<Vec<f64>> {
        let (state, n) = (&self.state, self.data.len());
        let exact = state.inputs.len() <= self.settings.exact_limit;
        if n == 0 || !exact || self.settings.noise == Noise::Reference {
            return None;
        }
        let each = state.outputs.iter().enumerate().map(|(j, output)| {
            let Output { hyper, targets, .. } = output;
            let mut likelihood = Likelihood::new(&*self.settings.kernel, &state.inputs, targets);
            let value = likelihood.evaluate(&hyper.kernel, hyper.noise, &mut [])?;
            Some(value + targets.log_constant() - n as f64 * self.output_scale(j).1.ln())
        });
        each.collect()
    }

    /// A copy that learns a factor on the stated noise variances in its next training.
    #[must_use]
    pub fn with_learned_noise(&self) -> Self {
        let mut copy = self.clone();
        copy.settings.noise = Noise::Learned;
        copy
    }

    /// The factor on the stated standard deviation of the noise of an output: 1 unless it is learned.
    pub fn noise_factor(&self, output: usize) -> f64 {
        (0.5 * self.state.outputs[output].hyper.noise).exp()
    }
}
