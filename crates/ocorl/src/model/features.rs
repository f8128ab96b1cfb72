//! Features: the functions from which samples of a Gaussian process are composed.

/// A feature: the product of an amplitude, linear functions and cosines of the point z,
///
/// ```text
/// φ(z) = a · Π g_r·z · Π cos(ω_s·z + b_s)
/// ```
///
/// The set of features is closed under products, which suffices for random features of sums and products of kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct Feature {
    amplitude: f64,
    linear: Vec<Vec<f64>>,
    waves: Vec<(Vec<f64>, f64)>,
}

impl Feature {
    /// The constant feature φ(z) = `amplitude`.
    pub fn constant(amplitude: f64) -> Self {
        Feature { amplitude, linear: Vec::new(), waves: Vec::new() }
    }

    /// The linear feature φ(z) = g·z.
    pub fn linear(g: Vec<f64>) -> Self {
        Feature { linear: vec![g], ..Feature::constant(1.0) }
    }

    /// The random Fourier feature φ(z) = √2 cos(ω·z + b). With b uniform on [0, 2π), E[φ(x) φ(z)] = E cos(ω·(x − z)).
    pub fn wave(frequency: Vec<f64>, phase: f64) -> Self {
        Feature { waves: vec![(frequency, phase)], ..Feature::constant(std::f64::consts::SQRT_2) }
    }

    /// Multiplies the feature by `factor`.
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> Self {
        self.amplitude *= factor;
        self
    }

    /// Multiplies two features.
    #[must_use]
    pub fn times(mut self, other: Feature) -> Self {
        self.amplitude *= other.amplitude;
        self.linear.extend(other.linear);
        self.waves.extend(other.waves);
        self
    }

    /// Evaluates φ(z).
    pub fn value(&self, z: &[f64]) -> f64 {
        let linear: f64 = self.linear.iter().map(|g| dot(g, z)).product();
        let waves: f64 = self.waves.iter().map(|(w, b)| (dot(w, z) + b).cos()).product();
        self.amplitude * linear * waves
    }

    /// Adds `weight` · ∇φ(z) to `out` and returns φ(z).
    pub fn gradient(&self, z: &[f64], weight: f64, out: &mut [f64]) -> f64 {
        // Product rule: each factor in turn is replaced by its derivative, the others keep their values. There are one or two
        // factors.
        let others = |skip: usize| -> f64 {
            let linear = self.linear.iter().enumerate().filter(|(i, _)| *i != skip).map(|(_, g)| dot(g, z));
            let waves = self.waves.iter().enumerate().filter(|(i, _)| i + self.linear.len() != skip);
            self.amplitude
                * linear.product::<f64>()
                * waves.map(|(_, (w, b))| (dot(w, z) + b).cos()).product::<f64>()
        };
        for (i, g) in self.linear.iter().enumerate() {
            add(weight * others(i), g, out);
        }
        for (i, (w, b)) in self.waves.iter().enumerate() {
            let slope = -(dot(w, z) + b).sin();
            add(weight * slope * others(i + self.linear.len()), w, out);
        }
        self.value(z)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(factor: f64, a: &[f64], out: &mut [f64]) {
    for (out, a) in out.iter_mut().zip(a) {
        *out += factor * a;
    }
}
