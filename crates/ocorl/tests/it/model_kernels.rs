//! Every kernel against its definition: values, derivatives, random features, parameters.

use ocorl::linalg::{Cholesky, Points, Rows};
use ocorl::model::Pool;
use ocorl::model::kernels::{
    Constant, Covariance, CrossInputs, Kernel, Linear, Matern32, Matern52, Periodic, Product, Rbf, Reference,
    Scale, Sum,
};
use ocorl::random::{Rng, Stream};
use std::f64::consts::PI;

const DIM: usize = 3;

/// Numbers of data points at and around the edges of the blocks of eight in which they are worked on.
const COUNTS: [usize; 7] = [1, 2, 7, 8, 9, 16, 31];

/// k(x, z) with parameters θ (not logarithms), from the definition.
type Definition = Box<dyn Fn(&[f64], &[f64], &[f64]) -> f64>;

struct Case {
    kernel: Box<dyn Kernel>,
    parameters: usize,
    definition: Definition,
}

impl Case {
    fn new(
        kernel: impl Kernel + 'static,
        parameters: usize,
        definition: impl Fn(&[f64], &[f64], &[f64]) -> f64 + 'static,
    ) -> Self {
        Case { kernel: Box::new(kernel), parameters, definition: Box::new(definition) }
    }

    fn bind(&self, theta: &[f64]) -> Box<dyn Covariance> {
        self.kernel.bind(theta, DIM)
    }

    /// k from the definition, the parameters given as logarithms.
    fn value(&self, theta: &[f64], x: &[f64], z: &[f64]) -> f64 {
        let parameters: Vec<f64> = theta.iter().map(|t| t.exp()).collect();
        (self.definition)(&parameters, x, z)
    }

    /// Logarithms of parameters of ordinary size.
    fn draw(&self, rng: &mut Rng) -> Vec<f64> {
        (0..self.parameters).map(|_| rng.uniform(-0.5, 0.8)).collect()
    }
}

/// s = Σ (x_d − z_d)²/ℓ_d²
fn distance(lengthscales: &[f64], x: &[f64], z: &[f64]) -> f64 {
    (0..DIM).map(|d| ((x[d] - z[d]) / lengthscales[d]).powi(2)).sum()
}

fn rbf() -> Case {
    Case::new(Rbf, 3, |p, x, z| (-0.5 * distance(p, x, z)).exp())
}

fn reference() -> Case {
    Case::new(Reference, 3, |p, x, z| (-distance(p, x, z)).exp())
}

fn matern32() -> Case {
    Case::new(Matern32, 3, |p, x, z| {
        let a = (3.0 * distance(p, x, z)).sqrt();
        (1.0 + a) * (-a).exp()
    })
}

fn matern52() -> Case {
    Case::new(Matern52, 3, |p, x, z| {
        let a = (5.0 * distance(p, x, z)).sqrt();
        (1.0 + a + a * a / 3.0) * (-a).exp()
    })
}

fn linear() -> Case {
    Case::new(Linear, 3, |p, x, z| (0..DIM).map(|d| x[d] * z[d] / p[d].powi(2)).sum())
}

fn constant() -> Case {
    Case::new(Constant, 1, |p, _, _| p[0])
}

fn periodic() -> Case {
    Case::new(Periodic, 6, |p, x, z| {
        let term = |d: usize| ((PI * (x[d] - z[d]) / p[DIM + d]).sin() / p[d]).powi(2);
        (-2.0 * (0..DIM).map(term).sum::<f64>()).exp()
    })
}

fn sum(a: Case, b: Case) -> Case {
    let (split, both) = (a.parameters, a.parameters + b.parameters);
    Case::new(Sum(a.kernel, b.kernel), both, move |p, x, z| {
        (a.definition)(&p[..split], x, z) + (b.definition)(&p[split..], x, z)
    })
}

fn product(a: Case, b: Case) -> Case {
    let (split, both) = (a.parameters, a.parameters + b.parameters);
    Case::new(Product(a.kernel, b.kernel), both, move |p, x, z| {
        (a.definition)(&p[..split], x, z) * (b.definition)(&p[split..], x, z)
    })
}

fn scale(a: Case) -> Case {
    Case::new(Scale(a.kernel), 1 + a.parameters, move |p, x, z| p[0] * (a.definition)(&p[1..], x, z))
}

fn cases() -> Vec<Case> {
    vec![
        rbf(),
        reference(),
        matern32(),
        matern52(),
        linear(),
        constant(),
        periodic(),
        scale(rbf()),
        scale(scale(linear())),
        sum(constant(), linear()),
        sum(scale(matern52()), periodic()),
        product(linear(), linear()),
        product(rbf(), periodic()),
        product(scale(matern32()), sum(constant(), linear())),
        sum(scale(product(rbf(), linear())), scale(sum(matern52(), constant()))),
    ]
}

fn points(count: usize, rng: &mut Rng) -> Vec<f64> {
    (0..count * DIM).map(|_| rng.normal()).collect()
}

/// For each kernel and each count: a test with random parameters, data and point.
fn each(purpose: &str, mut test: impl FnMut(&Case, &[f64], &[f64], &[f64], &mut Rng)) {
    for (k, case) in cases().iter().enumerate() {
        for count in COUNTS {
            let mut rng = Stream::root(0).child(purpose).index(k).index(count).rng();
            let (theta, x, z) = (case.draw(&mut rng), points(count, &mut rng), points(1, &mut rng));
            test(case, &theta, &x, &z, &mut rng);
        }
    }
}

fn values(covariance: &dyn Covariance, x: &[f64], z: &[f64], pool: &mut Pool) -> Vec<f64> {
    let rows = Rows::from_points(Points::new(x, DIM));
    let mut out = vec![f64::NAN; rows.len()];
    covariance.values(CrossInputs { x: rows.view(), z }, &mut out, pool);
    out
}

/// Scratch memory in which others have left NaN: nobody may rely on it.
fn spoiled() -> Pool {
    let mut pool = Pool::default();
    (0..16).for_each(|_| pool.give(vec![f64::NAN; 100]));
    pool
}

fn assert_close(what: &str, case: &Case, found: f64, expected: f64, tolerance: f64) {
    let difference = (found - expected).abs();
    assert!(difference <= tolerance, "{:?}: {what} is {found}, expected {expected}", case.kernel);
}

#[test]
fn values_are_those_of_the_definition() {
    each("values", |case, theta, x, z, _| {
        let covariance = case.bind(theta);
        let found = values(&*covariance, x, z, &mut spoiled());
        for (point, found) in x.chunks_exact(DIM).zip(&found) {
            let expected = case.value(theta, point, z);
            assert_close("k(x, z)", case, *found, expected, 1e-14 * (1.0 + 10.0 * expected.abs()));
            let back = values(&*covariance, z, point, &mut spoiled())[0];
            assert_close("k(z, x)", case, back, *found, 1e-14 * (1.0 + found.abs()));
        }
        let diagonal = covariance.diagonal(z);
        assert_close("k(z, z)", case, diagonal, case.value(theta, z, z), 1e-14 * (1.0 + 10.0 * diagonal));
        let own = values(&*covariance, z, z, &mut spoiled())[0];
        assert_close("k(z, z) as a value", case, own, diagonal, 1e-14 * (1.0 + diagonal));
    });
}

#[test]
fn matrices_are_positive_semidefinite() {
    const JITTER: f64 = 1e-10;
    each("matrices", |case, theta, x, _, _| {
        let (covariance, n) = (case.bind(theta), x.len() / DIM);
        let column = |z: &[f64]| values(&*covariance, x, z, &mut Pool::default());
        let mut matrix: Vec<f64> = x.chunks_exact(DIM).flat_map(column).collect();
        let size = (0..n).map(|i| matrix[i * n + i]).fold(0.0, f64::max);
        (0..n).for_each(|i| matrix[i * n + i] += JITTER * size);
        assert!(Cholesky::new(&matrix, n).is_ok(), "{:?} with {n} points", case.kernel);
    });
}

/// Central differences of fourth order, with h = 1e-3: what is neglected is 3e-14 of the fifth derivative.
fn slope(at: &[f64], d: usize, f: impl Fn(&[f64]) -> f64) -> f64 {
    const H: f64 = 1e-3;
    let moved = |steps: f64| {
        let mut there = at.to_vec();
        there[d] += steps * H;
        f(&there)
    };
    (moved(-2.0) - 8.0 * moved(-1.0) + 8.0 * moved(1.0) - moved(2.0)) / (12.0 * H)
}

/// What is asked of a derivative, for weights of size one and a sum of n terms. (A periodic kernel of short
/// period has fifth derivatives of 1e5.)
fn tolerance(count: usize, size: f64) -> f64 {
    1e-7 * (count as f64 + size)
}

#[test]
fn input_gradients_are_slopes_of_the_definition() {
    each("inputs", |case, theta, x, z, rng| {
        let (covariance, count, mut pool) = (case.bind(theta), x.len() / DIM, spoiled());
        let weights: Vec<f64> = (0..count).map(|_| rng.normal()).collect();
        let rows = Rows::from_points(Points::new(x, DIM));
        let k = values(&*covariance, x, z, &mut pool);
        // Gradients are added to what is there.
        let mut found = vec![0.5; DIM];
        let pair = CrossInputs { x: rows.view(), z };
        covariance.input_gradient(pair, &k, &weights, &mut found, &mut pool);
        for d in 0..DIM {
            let total =
                |z: &[f64]| x.chunks_exact(DIM).zip(&weights).map(|(x, w)| w * case.value(theta, x, z)).sum();
            let expected = 0.5 + slope(z, d, total);
            assert_close("Σ w ∂k/∂z", case, found[d], expected, tolerance(count, expected.abs()));
        }
        let mut found = vec![0.5; DIM];
        covariance.diagonal_gradient(z, -1.7, &mut found);
        for d in 0..DIM {
            let expected = 0.5 - 1.7 * slope(z, d, |z| case.value(theta, z, z));
            assert_close("∂k(z, z)/∂z", case, found[d], expected, tolerance(1, expected.abs()));
        }
    });
}

#[test]
fn parameter_gradients_are_slopes_of_the_definition() {
    each("parameters", |case, theta, x, z, rng| {
        let (covariance, count, mut pool) = (case.bind(theta), x.len() / DIM, spoiled());
        let weights: Vec<f64> = (0..count).map(|_| rng.normal()).collect();
        let rows = Rows::from_points(Points::new(x, DIM));
        let k = values(&*covariance, x, z, &mut pool);
        let mut found = vec![0.5; case.parameters];
        let pair = CrossInputs { x: rows.view(), z };
        covariance.parameter_gradient(pair, &k, &weights, &mut found, &mut pool);
        for p in 0..case.parameters {
            let total = |theta: &[f64]| {
                x.chunks_exact(DIM).zip(&weights).map(|(x, w)| w * case.value(theta, x, z)).sum()
            };
            let expected = 0.5 + slope(theta, p, total);
            assert_close("Σ w ∂k/∂θ", case, found[p], expected, tolerance(count, expected.abs()));
        }
    });
}

#[test]
fn gradients_at_a_data_point_are_finite_and_right() {
    // Distance zero: where a square root has no slope.
    for case in cases() {
        let mut rng = Stream::root(1).rng();
        let (theta, z) = (case.draw(&mut rng), points(1, &mut rng));
        let (covariance, rows) = (case.bind(&theta), Rows::from_points(Points::single(&z)));
        let (mut inputs, mut parameters) = (vec![0.0; DIM], vec![0.0; case.parameters]);
        let (k, pair) = ([covariance.diagonal(&z)], CrossInputs { x: rows.view(), z: &z });
        covariance.input_gradient(pair, &k, &[1.0], &mut inputs, &mut Pool::default());
        covariance.parameter_gradient(pair, &k, &[1.0], &mut parameters, &mut Pool::default());
        // The only kernel here with a kink in its third derivative is Matérn's with ν = 3/2: O(h²).
        for d in 0..DIM {
            let expected = slope(&z, d, |moved| case.value(&theta, &z, moved));
            assert_close("∂k/∂z at x = z", &case, inputs[d], expected, 1e-5 * (1.0 + expected.abs()));
        }
        for p in 0..case.parameters {
            let expected = slope(&theta, p, |theta| case.value(theta, &z, &z));
            assert_close("∂k/∂θ at x = z", &case, parameters[p], expected, 1e-8 * (1.0 + expected.abs()));
        }
    }
}

#[test]
fn features_multiply_to_the_kernel_on_average() {
    const FEATURES: usize = 20_000;
    for (c, case) in cases().iter().enumerate() {
        let mut rng = Stream::root(2).index(c).rng();
        let theta = case.draw(&mut rng);
        let covariance = case.bind(&theta);
        let pairs: Vec<(Vec<f64>, Vec<f64>)> =
            (0..4).map(|_| (points(1, &mut rng), points(1, &mut rng))).collect();
        let features: Vec<_> = (0..FEATURES).map(|_| covariance.feature(&mut rng)).collect();
        let set = covariance.features(FEATURES, &mut rng);
        for (x, z) in &pairs {
            let expected = case.value(&theta, x, z);
            let products = || features.iter().map(|f| f.value(x) * f.value(z));
            let mean = products().sum::<f64>() / FEATURES as f64;
            let variance = products().map(|p| (p - mean).powi(2)).sum::<f64>() / FEATURES as f64;
            let error = (variance / FEATURES as f64).sqrt();
            assert_close("E φ(x) φ(z)", case, mean, expected, 5.0 * error + 1e-12);
            // The set that draws are made of adds up to k: exactly if it is small, else within its own
            // standard errors.
            let total: f64 = set.iter().map(|f| f.value(x) * f.value(z)).sum();
            let square: f64 = set.iter().map(|f| (f.value(x) * f.value(z)).powi(2)).sum();
            let allowed = if set.len() < 100 { 1e-12 } else { 5.0 * square.sqrt() };
            assert_close("Σ φ(x) φ(z)", case, total, expected, allowed * (1.0 + expected.abs()));
        }
        // Gradients of features, on some of them.
        let z = &pairs[0].1;
        for feature in features.iter().take(20).chain(set.iter().take(20)) {
            let mut found = vec![0.25; DIM];
            assert_eq!(feature.gradient(z, 0.7, &mut found), feature.value(z));
            for d in 0..DIM {
                let expected = 0.25 + 0.7 * slope(z, d, |z| feature.value(z));
                assert_close("∂φ/∂z", case, found[d], expected, 1e-6 * (1.0 + expected.abs()));
            }
        }
    }
}

#[test]
fn parameters_are_as_many_as_needed_and_start_within_bounds() {
    for case in cases() {
        let parameters = case.kernel.parameters(DIM);
        assert_eq!(parameters.len(), case.parameters, "{:?}", case.kernel);
        assert_eq!(case.kernel.count(DIM), case.parameters);
        for p in &parameters {
            let (low, high) = p.bounds;
            let (mean, std) = p.prior;
            assert!(
                low < high && p.starts.iter().all(|start| (low..=high).contains(start)),
                "{:?}: {p:?}",
                case.kernel
            );
            assert!(low <= mean && mean <= high && std > 0.0, "{:?}: {p:?}", case.kernel);
            assert!(!p.name.is_empty() && p.coordinate.is_none_or(|c| c < DIM), "{:?}: {p:?}", case.kernel);
        }
        // At its start and at either end of its bounds a kernel is still a finite number.
        let ends: [fn(&ocorl::model::kernels::Parameter) -> f64; 4] =
            [|p| p.starts[0], |p| p.starts[1], |p| p.bounds.0, |p| p.bounds.1];
        for end in ends {
            let theta: Vec<f64> = parameters.iter().map(end).collect();
            let found = values(&*case.bind(&theta), &[0.3, -1.0, 2.0], &[0.1, 0.5, -0.7], &mut spoiled());
            let expected = case.value(&theta, &[0.3, -1.0, 2.0], &[0.1, 0.5, -0.7]);
            assert_close("k at a bound", &case, found[0], expected, 1e-12 * (1.0 + expected.abs()));
        }
    }
}
