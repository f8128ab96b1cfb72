//! A fully connected network with tanh units, its gradients with respect to its parameters and to its inputs.
//!
//! ```text
//! h₁ = tanh(W₁ e + b₁),  h_l = tanh(W_l h_{l−1} + b_l),  g = V h_L + A e + c
//! ```
//!
//! e is the standardised input. The linear part A e bypasses the hidden layers, so that kinematic relations such as θ̇ = ω are
//! represented exactly for all inputs. All parameters are stored in one vector: (W₁, b₁), …, (W_L, b_L), ((V, A), c).

use super::lanes::{Gradient, Product, Transposed, tanh};
use crate::random::Rng;

/// The sizes of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) inputs: usize,
    /// Number of units of each hidden layer.
    pub(super) hidden: usize,
    /// L: number of hidden layers, at least one.
    pub(super) layers: usize,
    pub(super) outputs: usize,
}

/// The position of one layer's parameters: weights of `rows` × `columns`, then `rows` biases.
#[derive(Clone, Copy)]
struct Layer {
    first: usize,
    rows: usize,
    columns: usize,
}

impl Layer {
    fn weights(self, parameters: &[f64]) -> &[f64] {
        &parameters[self.first..self.first + self.rows * self.columns]
    }

    fn bias(self, parameters: &[f64]) -> &[f64] {
        &parameters[self.first + self.rows * self.columns..][..self.rows]
    }

    fn split(self, parameters: &mut [f64]) -> (&mut [f64], &mut [f64]) {
        let weights = self.rows * self.columns;
        parameters[self.first..self.first + weights + self.rows].split_at_mut(weights)
    }
}

impl Shape {
    /// Hidden layer `l`, counted from 0.
    fn layer(&self, l: usize) -> Layer {
        let h = self.hidden;
        if l == 0 {
            return Layer { first: 0, rows: h, columns: self.inputs };
        }
        Layer { first: h * (self.inputs + 1) + (l - 1) * h * (h + 1), rows: h, columns: h }
    }

    fn output(&self) -> Layer {
        let last = self.layer(self.layers - 1);
        let first = last.first + last.rows * (last.columns + 1);
        Layer { first, rows: self.outputs, columns: self.features() }
    }

    /// Number of inputs of the output layer: h_L and e.
    pub(super) fn features(&self) -> usize {
        self.hidden + self.inputs
    }

    /// Number of parameters.
    pub(super) fn parameters(&self) -> usize {
        let output = self.output();
        output.first + output.rows * (output.columns + 1)
    }

    /// The parameters (V, A) and c of the output layer.
    pub(super) fn output_layer<'a>(&self, parameters: &'a mut [f64]) -> (&'a mut [f64], &'a mut [f64]) {
        self.output().split(parameters)
    }

    /// Count of the numbers that a forward pass over `count` points writes: all h_l, then e.
    pub(super) fn memory(&self, count: usize) -> usize {
        ((self.layers - 1) * self.hidden + self.features()) * count
    }

    /// Random parameters: weights with variance `gain²`/columns, biases with variance 1, an output layer of zeros.
    pub(super) fn random(&self, gain: f64, rng: &mut Rng) -> Vec<f64> {
        let mut parameters = vec![0.0; self.parameters()];
        for l in 0..self.layers {
            let layer = self.layer(l);
            let (weights, bias) = layer.split(&mut parameters);
            let std = gain / (layer.columns as f64).sqrt();
            for w in weights.iter_mut() {
                *w = std * rng.normal();
            }
            for b in bias.iter_mut() {
                *b = rng.normal();
            }
        }
        parameters
    }

    /// Computes all hidden units at `count` points whose inputs are the rows of `e`. The last rows of `memory` are the inputs of
    /// the output layer.
    pub(super) fn forward(&self, parameters: &[f64], e: &[f64], count: usize, memory: &mut [f64]) {
        let size = self.hidden * count;
        for l in 0..self.layers {
            let (before, rest) = memory.split_at_mut(l * size);
            let (layer, out) = (self.layer(l), &mut rest[..size]);
            let x = if l == 0 { e } else { &before[(l - 1) * size..] };
            let (weights, bias) = (layer.weights(parameters), layer.bias(parameters));
            Product { weights, stride: layer.columns, columns: layer.columns, bias, x, count, out }.run();
            tanh(out);
        }
        memory[self.layers * size..].copy_from_slice(e);
    }

    /// The rows of `memory` that are the inputs of the output layer.
    pub(super) fn seen<'a>(&self, memory: &'a [f64], count: usize) -> &'a [f64] {
        &memory[(self.layers - 1) * self.hidden * count..]
    }

    /// Computes g after [`forward`](Self::forward).
    pub(super) fn values(&self, parameters: &[f64], memory: &[f64], count: usize, out: &mut [f64]) {
        let (layer, x) = (self.output(), self.seen(memory, count));
        let (weights, bias) = (layer.weights(parameters), layer.bias(parameters));
        Product { weights, stride: layer.columns, columns: layer.columns, bias, x, count, out }.run();
    }

    /// Computes ∂g_j/∂e at all points after [`forward`](Self::forward), one row for each input.
    ///
    /// ```text
    /// δ_L = V_jᵀ ⊙ (1 − h_L²),  δ_{l−1} = (W_lᵀ δ_l) ⊙ (1 − h_{l−1}²),  ∂g_j/∂e = W₁ᵀ δ₁ + A_j
    /// ```
    ///
    /// `delta` is scratch memory for two layers.
    pub(super) fn input_gradient(
        &self,
        parameters: &[f64],
        memory: &[f64],
        count: usize,
        j: usize,
        delta: &mut [f64],
        out: &mut [f64],
    ) {
        let (size, output) = (self.hidden * count, self.output());
        let row = &output.weights(parameters)[j * output.columns..(j + 1) * output.columns];
        let (mut delta, mut other) = delta[..2 * size].split_at_mut(size);
        for (delta, v) in delta.chunks_exact_mut(count).zip(row) {
            delta.fill(*v);
        }
        for l in (0..self.layers).rev() {
            times_slope(&memory[l * size..(l + 1) * size], delta);
            let layer = self.layer(l);
            let (weights, columns) = (layer.weights(parameters), layer.columns);
            let out = if l == 0 { &mut *out } else { &mut *other };
            Transposed { weights, stride: columns, columns, delta: &*delta, count, out }.run();
            std::mem::swap(&mut delta, &mut other);
        }
        for (out, a) in out.chunks_exact_mut(count).zip(&row[self.hidden..]) {
            for out in out.iter_mut() {
                *out += a;
            }
        }
    }

    /// Computes the gradient of Σ δᵀ g with respect to the parameters after [`forward`](Self::forward); δ is given at every point
    /// and output.
    pub(super) fn parameter_gradient(
        &self,
        parameters: &[f64],
        memory: &[f64],
        count: usize,
        errors: &[f64],
        delta: &mut [f64],
        out: &mut [f64],
    ) {
        let (size, output) = (self.hidden * count, self.output());
        let (weights, bias) = output.split(out);
        Gradient { delta: errors, x: self.seen(memory, count), count, weights, bias }.run();
        let (mut delta, mut other) = delta[..2 * size].split_at_mut(size);
        let (weights, stride) = (output.weights(parameters), output.columns);
        Transposed { weights, stride, columns: self.hidden, delta: errors, count, out: &mut *delta }.run();
        for l in (0..self.layers).rev() {
            times_slope(&memory[l * size..(l + 1) * size], delta);
            let layer = self.layer(l);
            let range = if l == 0 { self.layers * size..memory.len() } else { (l - 1) * size..l * size };
            let (x, (weights, bias)) = (&memory[range], layer.split(out));
            Gradient { delta: &*delta, x, count, weights, bias }.run();
            if l > 0 {
                let (weights, columns) = (layer.weights(parameters), layer.columns);
                Transposed { weights, stride: columns, columns, delta: &*delta, count, out: &mut *other }
                    .run();
                std::mem::swap(&mut delta, &mut other);
            }
        }
    }
}

/// Computes δ ← δ ⊙ (1 − h²), the derivative of tanh from its value h.
fn times_slope(h: &[f64], delta: &mut [f64]) {
    for (delta, h) in delta.iter_mut().zip(h) {
        *delta *= 1.0 - h * h;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    const COUNT: usize = 8;

    /// Evaluates g at a batch of eight points.
    fn evaluate(shape: Shape, parameters: &[f64], e: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut memory = vec![0.0; shape.memory(COUNT)];
        shape.forward(parameters, e, COUNT, &mut memory);
        let mut out = vec![0.0; shape.outputs * COUNT];
        shape.values(parameters, &memory, COUNT, &mut out);
        (out, memory)
    }

    #[test]
    fn gradients_are_those_of_central_differences() {
        for layers in 1..=3 {
            let shape = Shape { inputs: 3, hidden: 5, layers, outputs: 2 };
            let mut rng = Stream::root(layers as u64).rng();
            let mut parameters = shape.random(1.0, &mut rng);
            for p in &mut parameters {
                *p += 0.3 * rng.normal();
            }
            let mut e: Vec<f64> = (0..3 * COUNT).map(|_| rng.normal()).collect();
            let errors: Vec<f64> = (0..2 * COUNT).map(|_| rng.normal()).collect();
            let (_, memory) = evaluate(shape, &parameters, &e);
            let (mut delta, h) = (vec![0.0; 2 * 5 * COUNT], 1e-5);
            let mut found = vec![0.0; shape.parameters()];
            shape.parameter_gradient(&parameters, &memory, COUNT, &errors, &mut delta, &mut found);
            let sum = |out: &[f64]| out.iter().zip(&errors).map(|(g, d)| g * d).sum::<f64>();
            for i in 0..found.len() {
                let at = |step: f64| {
                    let mut moved = parameters.clone();
                    moved[i] += step;
                    sum(&evaluate(shape, &moved, &e).0)
                };
                let expected = (at(h) - at(-h)) / (2.0 * h);
                assert!((found[i] - expected).abs() < 1e-8, "{i}: {} {expected}", found[i]);
            }
            for j in 0..2 {
                let mut gradient = vec![0.0; 3 * COUNT];
                shape.input_gradient(&parameters, &memory, COUNT, j, &mut delta, &mut gradient);
                for i in 0..e.len() {
                    let kept = e[i];
                    let mut at = |step: f64| {
                        e[i] = kept + step;
                        evaluate(shape, &parameters, &e).0[j * COUNT + i % COUNT]
                    };
                    let expected = (at(h) - at(-h)) / (2.0 * h);
                    e[i] = kept;
                    assert!((gradient[i] - expected).abs() < 1e-9, "{} {expected}", gradient[i]);
                }
            }
        }
    }
}
