//! Several expressions compiled to one list of steps; common subexpressions are evaluated once.
//!
//! | symbol | code |
//! |---|---|
//! | z, t | the first slots: inputs, then time |
//! | v = g(a, b) | a [`Step`]: slot v from slots a and b |
//! | ∂g/∂a, ∂g/∂b | `slopes` |
//! | ∂v/∂zᵢ | `tangent`, one pass for each i over the steps that depend on zᵢ |
//! | ∂y/∂v, ∂²y/∂v∂zᵢ | `adjoint`, `turn`: backward passes, for Hessians |
//!
//! A Jacobian costs one evaluation and, for each input, two products for every step that depends on it. A Hessian costs a forward and a
//! backward pass for each input. Slots are numbers or [`Lanes`](ocorl::real::Lanes); both give the same result for each point, bit for bit.

use super::operation::{Number, Operation};
use super::{Cause, Expression, ExpressionError, Node, Symbol};
use std::collections::HashMap;

/// One operation: computes slot `out` from slots `a` and `b`.
#[derive(Clone, Copy, Debug)]
struct Step {
    operation: Operation,
    a: usize,
    b: usize,
    out: usize,
}

/// A list of steps that computes outputs from inputs.
#[derive(Clone, Debug)]
pub struct Tape {
    inputs: usize,
    slots: usize,
    constants: Vec<(usize, f64)>,
    steps: Vec<Step>,
    outputs: Vec<usize>,
    /// For each input, the steps that depend on it, in order.
    reach: Vec<Vec<usize>>,
}

/// Working memory for the evaluation of a tape.
#[derive(Clone, Debug)]
pub(super) struct Scratch<R> {
    value: Vec<R>,
    slopes: Vec<(R, R)>,
    tangent: Vec<R>,
}

/// Additional working memory for Hessians.
#[derive(Clone, Debug)]
pub(super) struct Second {
    first: Scratch<f64>,
    curvatures: Vec<[f64; 3]>,
    adjoint: Vec<f64>,
    turn: Vec<f64>,
}

impl Tape {
    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// Number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Number of steps after common subexpressions and constants have been merged.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Whether output `j` depends on input `i`.
    pub fn depends(&self, j: usize, i: usize) -> bool {
        let mut reached = vec![false; self.slots];
        reached[i] = true;
        for step in &self.steps {
            reached[step.out] = reached[step.a] || reached[step.b];
        }
        reached[self.outputs[j]]
    }

    /// Value of the first output if it is constant.
    pub fn constant(&self) -> Option<f64> {
        let out = *self.outputs.first()?;
        self.constants.iter().find(|(slot, _)| *slot == out).map(|(_, value)| *value)
    }

    /// Evaluates all outputs at one point. Allocates; frequent evaluations go through [`Equations`](crate::Equations).
    pub fn evaluate(&self, time: f64, point: &[f64]) -> Vec<f64> {
        assert_eq!(point.len(), self.inputs, "a point has {} numbers, not {}", self.inputs, point.len());
        let mut scratch = self.scratch::<f64>();
        self.values(&mut scratch, time, |i| point[i]);
        (0..self.outputs()).map(|j| self.output(&scratch, j)).collect()
    }

    pub(super) fn scratch<R: Number>(&self) -> Scratch<R> {
        let zero = R::constant(0.0);
        let mut value = vec![zero; self.slots];
        for (slot, constant) in &self.constants {
            value[*slot] = R::constant(*constant);
        }
        Scratch { value, slopes: vec![(zero, zero); self.steps.len()], tangent: vec![zero; self.slots] }
    }

    pub(super) fn second(&self) -> Second {
        Second {
            first: self.scratch(),
            curvatures: vec![[0.0; 3]; self.steps.len()],
            adjoint: vec![0.0; self.slots],
            turn: vec![0.0; self.slots],
        }
    }

    #[inline(always)]
    fn enter<R: Number>(&self, scratch: &mut Scratch<R>, time: f64, point: impl Fn(usize) -> R) {
        for i in 0..self.inputs {
            scratch.value[i] = point(i);
        }
        scratch.value[self.inputs] = R::constant(time);
    }

    /// Evaluates every slot.
    #[inline(always)]
    pub(super) fn values<R: Number>(&self, scratch: &mut Scratch<R>, time: f64, point: impl Fn(usize) -> R) {
        self.enter(scratch, time, point);
        for step in &self.steps {
            let (a, b) = (scratch.value[step.a], scratch.value[step.b]);
            scratch.value[step.out] = step.operation.value(a, b);
        }
    }

    /// Value of output `j` after an evaluation.
    #[inline(always)]
    pub(super) fn output<R: Number>(&self, scratch: &Scratch<R>, j: usize) -> R {
        scratch.value[self.outputs[j]]
    }

    /// Evaluates every slot and the partial derivatives of every step.
    #[inline(always)]
    pub(super) fn values_and_slopes<R: Number>(
        &self,
        scratch: &mut Scratch<R>,
        time: f64,
        point: impl Fn(usize) -> R,
    ) {
        self.enter(scratch, time, point);
        for (step, slopes) in self.steps.iter().zip(&mut scratch.slopes) {
            let (a, b) = (scratch.value[step.a], scratch.value[step.b]);
            let value = step.operation.value(a, b);
            *slopes = step.operation.slopes(a, b, value);
            scratch.value[step.out] = value;
        }
    }

    /// Computes ∂/∂zᵢ of every output from the partial derivatives of the steps and calls `write(j, derivative)`.
    #[inline(always)]
    pub(super) fn derivatives<R: Number>(
        &self,
        scratch: &mut Scratch<R>,
        i: usize,
        mut write: impl FnMut(usize, R),
    ) {
        self.spread(scratch, i);
        for (j, out) in self.outputs.iter().enumerate() {
            write(j, scratch.tangent[*out]);
        }
        self.clear(scratch, i);
    }

    /// Propagates tangents for direction i; all others must be zero before.
    #[inline(always)]
    fn spread<R: Number>(&self, scratch: &mut Scratch<R>, i: usize) {
        scratch.tangent[i] = R::constant(1.0);
        for s in &self.reach[i] {
            let step = &self.steps[*s];
            let (slope_a, slope_b) = scratch.slopes[*s];
            let (a, b) = (scratch.tangent[step.a], scratch.tangent[step.b]);
            scratch.tangent[step.out] = slope_a.chain(a) + slope_b.chain(b);
        }
    }

    /// Resets the tangents of direction i to zero.
    #[inline(always)]
    fn clear<R: Number>(&self, scratch: &mut Scratch<R>, i: usize) {
        scratch.tangent[i] = R::constant(0.0);
        for s in &self.reach[i] {
            scratch.tangent[self.steps[*s].out] = R::constant(0.0);
        }
    }

    /// Value of the first output.
    pub(super) fn value(&self, scratch: &mut Second, time: f64, point: &[f64]) -> f64 {
        self.values(&mut scratch.first, time, |i| point[i]);
        self.output(&scratch.first, 0)
    }

    /// Value, gradient and Hessian of the first output with respect to the inputs.
    pub(super) fn quadratize(
        &self,
        scratch: &mut Second,
        time: f64,
        point: &[f64],
        gradient: &mut [f64],
        hessian: &mut [f64],
    ) -> f64 {
        let n = self.inputs;
        self.values_and_slopes(&mut scratch.first, time, |i| point[i]);
        let value = &scratch.first.value;
        for (step, curvatures) in self.steps.iter().zip(&mut scratch.curvatures) {
            let (a, b) = (value[step.a], value[step.b]);
            *curvatures = step.operation.curvatures(a, b, value[step.out]);
        }
        let out = self.outputs[0];
        scratch.adjoint.fill(0.0);
        scratch.adjoint[out] = 1.0;
        for (step, (slope_a, slope_b)) in self.steps.iter().zip(&scratch.first.slopes).rev() {
            let adjoint = scratch.adjoint[step.out];
            scratch.adjoint[step.a] += slope_a.chain(adjoint);
            scratch.adjoint[step.b] += slope_b.chain(adjoint);
        }
        gradient.copy_from_slice(&scratch.adjoint[..n]);
        for i in 0..n {
            self.spread(&mut scratch.first, i);
            scratch.turn.fill(0.0);
            let tangent = &scratch.first.tangent;
            for (s, step) in self.steps.iter().enumerate().rev() {
                let (a, b) = (step.a, step.b);
                let (slope_a, slope_b) = scratch.first.slopes[s];
                let [aa, ab, bb] = scratch.curvatures[s];
                let (adjoint, turn) = (scratch.adjoint[step.out], scratch.turn[step.out]);
                let bend_a = aa.chain(tangent[a]) + ab.chain(tangent[b]);
                let bend_b = ab.chain(tangent[a]) + bb.chain(tangent[b]);
                scratch.turn[a] += slope_a.chain(turn) + bend_a.chain(adjoint);
                scratch.turn[b] += slope_b.chain(turn) + bend_b.chain(adjoint);
            }
            hessian[i * n..(i + 1) * n].copy_from_slice(&scratch.turn[..n]);
            self.clear(&mut scratch.first, i);
        }
        scratch.first.value[out]
    }
}

/// Compiles expressions to one tape.
pub(super) struct Compiler<'a> {
    tape: Tape,
    parameters: &'a [f64],
    definitions: &'a [Option<Expression>],
    /// Slot of each definition that has been compiled.
    defined: Vec<Option<usize>>,
    known: HashMap<(Operation, usize, usize), usize>,
    numbers: HashMap<u64, usize>,
    values: HashMap<usize, f64>,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(inputs: usize, parameters: &'a [f64], definitions: &'a [Option<Expression>]) -> Self {
        let tape = Tape {
            inputs,
            slots: inputs + 1,
            constants: Vec::new(),
            steps: Vec::new(),
            outputs: Vec::new(),
            reach: Vec::new(),
        };
        Compiler {
            tape,
            parameters,
            definitions,
            defined: vec![None; definitions.len()],
            known: HashMap::new(),
            numbers: HashMap::new(),
            values: HashMap::new(),
        }
    }

    /// Adds an output. Definitions must not be circular.
    pub(super) fn output(&mut self, expression: &Expression) -> Result<(), ExpressionError> {
        // Definitions to compile first, on an explicit stack because chains may be long.
        let mut open: Vec<usize> = self.missing(expression);
        while let Some(&i) = open.last() {
            let Some(definition) = &self.definitions[i] else {
                return Err(ExpressionError::new(0..0, Cause::Empty));
            };
            let missing = self.missing(definition);
            if missing.is_empty() {
                if self.defined[i].is_none() {
                    self.defined[i] = Some(self.add(definition)?);
                }
                open.pop();
            } else {
                open.extend(missing);
            }
        }
        let slot = self.add(expression)?;
        self.tape.outputs.push(slot);
        Ok(())
    }

    fn missing(&self, expression: &Expression) -> Vec<usize> {
        let needed = expression.symbols().filter_map(|symbol| match symbol {
            Symbol::Definition(i) if self.defined[i].is_none() => Some(i),
            _ => None,
        });
        let mut needed: Vec<usize> = needed.collect();
        needed.sort_unstable();
        needed.dedup();
        needed
    }

    fn add(&mut self, expression: &Expression) -> Result<usize, ExpressionError> {
        let mut slots: Vec<usize> = Vec::with_capacity(expression.nodes.len());
        for node in &expression.nodes {
            let slot = match *node {
                Node::Number(value) => self.number(value),
                Node::Symbol(Symbol::Input(i)) => i,
                Node::Symbol(Symbol::Time) => self.tape.inputs,
                Node::Symbol(Symbol::Parameter(i)) => self.number(self.parameters[i]),
                Node::Symbol(Symbol::Definition(i)) => self.defined[i].unwrap_or_default(),
                Node::Unary(operation, a) => {
                    let a = slots[a];
                    self.step(operation, a, a)
                }
                Node::Binary(operation, a, b) => self.step(operation, slots[a], slots[b]),
            };
            slots.push(slot);
        }
        slots.last().copied().ok_or(ExpressionError::new(0..0, Cause::Empty))
    }

    fn slot(&mut self) -> usize {
        self.tape.slots += 1;
        self.tape.slots - 1
    }

    fn number(&mut self, value: f64) -> usize {
        if let Some(slot) = self.numbers.get(&value.to_bits()) {
            return *slot;
        }
        let slot = self.slot();
        self.tape.constants.push((slot, value));
        self.numbers.insert(value.to_bits(), slot);
        self.values.insert(slot, value);
        slot
    }

    #[expect(clippy::cast_possible_truncation, reason = "the exponent is a whole number of at most 64")]
    fn step(&mut self, operation: Operation, a: usize, b: usize) -> usize {
        let constant = |slot: usize| self.values.get(&slot).copied();
        if let (Some(a), Some(b)) = (constant(a), constant(b)) {
            return self.number(operation.value(a, b));
        }
        let (operation, a, b) = match (operation, constant(b)) {
            (Operation::Power, Some(n)) if n.fract() == 0.0 && n.abs() <= 64.0 => match n as i32 {
                0 => return self.number(1.0),
                1 => return a,
                n => (Operation::WholePower(n), a, a),
            },
            // Operands in a canonical order, so that equal steps are found; a constant comes second, so that it is preferred where both
            // values are equal.
            _ if operation.is_symmetric() && (constant(a).is_some() || (a > b && constant(b).is_none())) => {
                (operation, b, a)
            }
            _ => (operation, a, b),
        };
        if let Some(slot) = self.known.get(&(operation, a, b)) {
            return *slot;
        }
        let out = self.slot();
        self.tape.steps.push(Step { operation, a, b, out });
        self.known.insert((operation, a, b), out);
        out
    }

    pub(super) fn finish(mut self) -> Tape {
        let tape = &mut self.tape;
        for i in 0..tape.inputs {
            let mut depends = vec![false; tape.slots];
            depends[i] = true;
            let mut reached = Vec::new();
            for (s, step) in tape.steps.iter().enumerate() {
                if depends[step.a] || depends[step.b] {
                    depends[step.out] = true;
                    reached.push(s);
                }
            }
            tape.reach.push(reached);
        }
        self.tape
    }
}
