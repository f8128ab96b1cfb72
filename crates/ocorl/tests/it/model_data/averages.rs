//! Averages of f along paths against what they are by definition.

use super::*;
use ocorl::measurements::Average;

const NOISE: f64 = 0.05;

/// Rows of one to four nodes with uneven weights, noise correlated with the row before; `f` at the nodes.
fn averages(count: usize, f: impl Fn(&[f64]) -> f64) -> Measurements {
    let (mut rng, mut data) = (Stream::root(11).rng(), Measurements::new(PLANE));
    for i in 0..count {
        let nodes: Vec<f64> = (0..2 * (1 + i % 4)).map(|_| rng.uniform(-2.0, 2.0)).collect();
        let weights: Vec<f64> = (0..nodes.len() / 2).map(|_| rng.uniform(0.2, 1.0)).collect();
        let sum: f64 = weights.iter().sum();
        let weights: Vec<f64> = weights.iter().map(|w| w / sum).collect();
        let y: f64 = nodes.chunks_exact(2).zip(&weights).map(|(z, w)| w * f(z)).sum();
        let average = Average {
            nodes: Points::new(&nodes, 2),
            weights: &weights,
            correlation: if i == 0 { &[] } else { &[-0.4] },
        };
        data.push_average(i as f64, average, &[y], &[NOISE * (1.0 + 0.1 * i as f64)]).unwrap();
    }
    data
}

fn model(data: &Measurements, settings: Settings) -> GaussianProcess {
    let mut model = GaussianProcess::new(PLANE, &[], settings).unwrap();
    model.update(data).unwrap();
    let hyper = Hyperparameters { kernel: vec![0.3; model.parameters().len()], noise: 0.2 };
    model.set_hyperparameters(&[hyper]).unwrap();
    model
}

/// The twin: s² exp(−½ |(z − z′)/(ℓ spread)|²) in plain loops, everything dense, in physical units.
struct Twin {
    nodes: Vec<Vec<f64>>,
    w: Vec<Vec<f64>>,
    spread: Vec<f64>,
    gram: Vec<Vec<f64>>,
    y: Vec<f64>,
    shift: f64,
    scale: f64,
}

fn deviation(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt())
}

impl Twin {
    fn new(data: &Measurements) -> Self {
        let all = data.nodes();
        let nodes: Vec<Vec<f64>> = (0..all.len()).map(|q| all.at(q).to_vec()).collect();
        let spread = (0..2).map(|d| deviation(&nodes.iter().map(|z| z[d]).collect::<Vec<_>>()).1).collect();
        let y: Vec<f64> = data.derivatives().iter().map(|y| y[0]).collect();
        let (shift, scale) = deviation(&y);
        let (mut w, mut begin) = (Vec::new(), 0);
        for i in 0..data.len() {
            let mut row = vec![0.0; nodes.len()];
            for (k, weight) in data.average(i).weights.iter().enumerate() {
                row[begin + k] = *weight;
            }
            begin += data.average(i).weights.len();
            w.push(row);
        }
        let mut twin = Twin { nodes, w, spread, gram: Vec::new(), y, shift, scale };
        let n = data.len();
        let mut gram = vec![vec![0.0; n]; n];
        for i in 0..n {
            for j in 0..n {
                for (q, wq) in twin.w[i].iter().enumerate().filter(|(_, w)| **w != 0.0) {
                    for (r, wr) in twin.w[j].iter().enumerate().filter(|(_, w)| **w != 0.0) {
                        gram[i][j] += wq * wr * twin.kernel(&twin.nodes[q], &twin.nodes[r]);
                    }
                }
                let noise = |i: usize| data.noise_std().at(i)[0] * 0.1_f64.exp();
                gram[i][j] += match i.abs_diff(j) {
                    0 => noise(i) * noise(i),
                    1 => -0.4 * noise(i) * noise(j),
                    _ => 0.0,
                };
            }
        }
        twin.gram = gram;
        twin
    }

    fn kernel(&self, a: &[f64], b: &[f64]) -> f64 {
        let r: f64 = (0..2).map(|d| ((a[d] - b[d]) / (0.3_f64.exp() * self.spread[d])).powi(2)).sum();
        0.3_f64.exp() * self.scale * self.scale * (-0.5 * r).exp()
    }

    /// (W K Wᵀ + N)⁻¹ b by Gauss's elimination.
    fn solve(&self, b: &[f64]) -> Vec<f64> {
        let (mut a, mut b, n) = (self.gram.clone(), b.to_vec(), b.len());
        for k in 0..n {
            for i in k + 1..n {
                let factor = a[i][k] / a[k][k];
                for j in k..n {
                    a[i][j] -= factor * a[k][j];
                }
                b[i] -= factor * b[k];
            }
        }
        for k in (0..n).rev() {
            b[k] = (b[k] - (k + 1..n).map(|j| a[k][j] * b[j]).sum::<f64>()) / a[k][k];
        }
        b
    }

    /// W k(z).
    fn against(&self, z: &[f64]) -> Vec<f64> {
        let k: Vec<f64> = self.nodes.iter().map(|node| self.kernel(node, z)).collect();
        self.w.iter().map(|row| row.iter().zip(&k).map(|(w, k)| w * k).sum()).collect()
    }

    fn mean(&self, z: &[f64]) -> f64 {
        let y: Vec<f64> = self.y.iter().map(|y| y - self.shift).collect();
        self.shift + dot(&self.against(z), &self.solve(&y))
    }

    fn covariance(&self, a: &[f64], b: &[f64]) -> f64 {
        self.kernel(a, b) - dot(&self.against(a), &self.solve(&self.against(b)))
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn queries() -> Vec<f64> {
    let mut rng = Stream::root(3).rng();
    (0..14).map(|_| rng.uniform(-2.5, 2.5)).collect()
}

#[test]
fn posterior_and_covariance_are_those_of_the_dense_twin() {
    let data = averages(17, |z| z[0].sin() + 0.5 * z[1]);
    let (model, twin, points) = (model(&data, Settings::default()), Twin::new(&data), queries());
    let z = Points::new(&points, 2);
    let at = ask(&model, &points);
    let (mut matrix, mut joint, mut column) =
        (Blocks::default(), model.covariance_columns(z), vec![0.0; z.len()]);
    model.covariance(z, &mut matrix);
    for i in 0..z.len() {
        let (mean, variance) = (twin.mean(z.at(i)), twin.covariance(z.at(i), z.at(i)));
        assert!((at.mean.value.at(i)[0] - mean).abs() < 1e-9, "{} and {mean}", at.mean.value.at(i)[0]);
        assert!((at.std.value.at(i)[0].powi(2) - variance).abs() < 1e-9);
        joint.column(0, i, &mut column);
        for k in 0..z.len() {
            let expected = twin.covariance(z.at(i), z.at(k));
            assert!((matrix.at(0)[i * z.len() + k] - expected).abs() < 1e-9);
            assert!((column[k] - expected).abs() < 1e-9);
        }
    }
}

#[test]
fn jacobians_are_slopes() {
    let model = model(&averages(17, |z| z[0] * z[1]), Settings::default());
    let points = queries();
    let (at, h) = (ask(&model, &points), 1e-5);
    for d in 0..2 {
        let moved = |sign: f64| -> Vec<f64> {
            points.iter().enumerate().map(|(k, v)| if k % 2 == d { v + sign * h } else { *v }).collect()
        };
        let (up, down) = (ask(&model, &moved(1.0)), ask(&model, &moved(-1.0)));
        for i in 0..points.len() / 2 {
            for (of, high, low) in [(&at.mean, &up.mean, &down.mean), (&at.std, &up.std, &down.std)] {
                let slope = (high.value.at(i)[0] - low.value.at(i)[0]) / (2.0 * h);
                assert!((of.jacobian.at(i)[d] - slope).abs() < 1e-6, "{} and {slope}", of.jacobian.at(i)[d]);
            }
        }
    }
}

#[test]
fn the_gradient_of_the_likelihood_is_its_slope() {
    let sum = Sum(Box::new(Scale(Box::new(Rbf))), Box::new(Linear));
    for settings in [Settings::default(), with_kernel(Matern52), with_kernel(sum)] {
        let mut model = model(&averages(21, |z| z[0].cos() - z[1]), settings);
        let start = hyper(&model);
        let (_, gradient) = model.log_likelihood(0).unwrap();
        let h = 1e-5;
        for p in 0..gradient.len() {
            let mut value = |sign: f64| {
                let mut moved = start.clone();
                match moved[0].kernel.get_mut(p) {
                    Some(parameter) => *parameter += sign * h,
                    None => moved[0].noise += sign * h,
                }
                model.set_hyperparameters(&moved).unwrap();
                model.log_likelihood(0).unwrap().0
            };
            let slope = (value(1.0) - value(-1.0)) / (2.0 * h);
            assert!(
                (gradient[p] - slope).abs() < 1e-6 * (1.0 + slope.abs()),
                "{p}: {} and {slope}",
                gradient[p]
            );
        }
    }
}

#[test]
fn averages_of_one_node_are_points() {
    let points = measurements(40, |i, _| 0.02 + 0.01 * (i % 3) as f64);
    let mut single = Measurements::new(DIMS);
    for i in 0..points.len() {
        let average =
            Average { nodes: Points::single(points.points().at(i)), weights: &[1.0], correlation: &[] };
        let (y, noise) = (points.derivatives().at(i), points.noise_std().at(i));
        single.push_average(points.times()[i], average, y, noise).unwrap();
    }
    let (mut one, mut other) = (cart_pole(Settings::default()), cart_pole(Settings::default()));
    one.update(&points).unwrap();
    other.update(&single).unwrap();
    let (a, b) = (one.train(Stream::root(1)).unwrap(), other.train(Stream::root(1)).unwrap());
    assert!((a.fits[0].log_likelihood - b.fits[0].log_likelihood).abs() < 1e-6);
    // The same parameters, and then the same to rounding.
    let learned = hyper(&one);
    other.set_hyperparameters(&learned).unwrap();
    let queries = test_points(20);
    let (a, b) = (ask(&one, &queries), ask(&other, &queries));
    for (a, b) in [(&a.mean, &b.mean), (&a.std, &b.std)] {
        for (a, b) in a.value.as_slice().iter().zip(b.value.as_slice()) {
            assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()) * 1e2, "{a} and {b}");
        }
    }
    for (a, b) in one.information_gain().iter().zip(other.information_gain()) {
        assert!((a - b).abs() < 1e-9);
    }
}

#[test]
fn points_and_averages_go_together_and_can_be_forgotten() {
    let f = |z: &[f64]| z[0].sin() + 0.5 * z[1];
    let mut data = averages(12, f);
    data.push(20.0, &[0.3], &[-0.2], &[f(&[0.3, -0.2])], &[0.01]).unwrap();
    let whole = model(&data, Settings::default());
    let at = ask(&whole, &[0.3, -0.2]);
    assert!(at.std.value.at(0)[0] < 0.02, "{}", at.std.value.at(0)[0]);
    let mut less = whole.clone();
    less.forget(&[12]).unwrap();
    assert!(ask(&less, &[0.3, -0.2]).std.value.at(0)[0] > at.std.value.at(0)[0]);
    assert!(less.information_gain()[0] < whole.information_gain()[0]);
    let mut doubted = whole.clone();
    doubted.downweight(&[12], 1e6).unwrap();
    let (a, b) = (ask(&doubted, &[0.3, -0.2]), ask(&less, &[0.3, -0.2]));
    assert!((a.std.value.at(0)[0] / b.std.value.at(0)[0] - 1.0).abs() < 0.05);
}

#[test]
fn a_linear_f_is_found_from_averages_and_copies_are_averaged() {
    // With a linear kernel the average of f is f of the average: the posterior is that of the points in the middle.
    let f = |z: &[f64]| 2.0 * z[0] - z[1];
    let data = averages(15, f);
    let mut middles = Measurements::new(PLANE);
    for i in 0..data.len() {
        let z = data.points().at(i);
        middles.push(i as f64, &z[..1], &z[1..], data.derivatives().at(i), &[0.01]).unwrap();
    }
    let settings = || Settings { mean: Mean::Linear, ..Settings::default() };
    let mut averaged = GaussianProcess::new(PLANE, &[], settings()).unwrap();
    averaged.update(&data).unwrap();
    let at = ask(&averaged, &[0.7, -1.1, -1.5, 0.2]);
    for (i, z) in [[0.7, -1.1], [-1.5, 0.2]].iter().enumerate() {
        assert!((at.mean.value.at(i)[0] - f(z)).abs() < 1e-5, "{}", at.mean.value.at(i)[0]);
    }
    let mut pointwise = GaussianProcess::new(PLANE, &[], settings()).unwrap();
    pointwise.update(&middles).unwrap();
    let there = ask(&pointwise, &[0.7, -1.1]);
    assert!((there.mean.value.at(0)[0] - at.mean.value.at(0)[0]).abs() < 1e-5);
}

#[test]
fn draws_of_averaged_data_have_their_mean_and_deviation() {
    let model = model(&averages(17, |z| z[0].sin()), Settings::default());
    let z = [0.4, 0.6];
    let at = ask(&model, &z);
    let mut rng = Stream::root(9).rng();
    let mut values = Vec::new();
    for _ in 0..400 {
        let mut out = [0.0];
        model.sample(&mut rng).derivative(Points::single(&z), &mut out);
        values.push(out[0]);
    }
    let ((mean, spread), sigma) = (deviation(&values), at.std.value.at(0)[0]);
    // 400 draws: the mean to a twentieth of σ, σ to a twenty-eighth; the features add a little.
    assert!((mean - at.mean.value.at(0)[0]).abs() < 0.25 * sigma, "{mean} and {}", at.mean.value.at(0)[0]);
    assert!((spread / sigma - 1.0).abs() < 0.2, "{spread} and {sigma}");
}

#[test]
fn inducing_points_come_near_the_exact_model() {
    let data = averages(60, |z| z[0].sin() + 0.3 * z[1]);
    let exact = model(&data, Settings::default());
    let few = model(&data, Settings { exact_limit: 30, inducing_points: 120, ..Settings::default() });
    let points = queries();
    let (a, b) = (ask(&exact, &points), ask(&few, &points));
    for i in 0..points.len() / 2 {
        // Correlations of the noise are left out there.
        let off = (a.mean.value.at(i)[0] - b.mean.value.at(i)[0]).abs();
        assert!(off < 2.0 * a.std.value.at(i)[0] + 0.02, "{off}");
    }
}
