//! The elementary operations with values and first and second derivatives.

use ocorl::real::{LANES, Lanes, Real, exp};

/// An operation on one or two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Negate,
    Power,
    /// A power with an integer exponent.
    WholePower(i32),
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Atan2,
    Exp,
    Log,
    Sqrt,
    Abs,
    Sign,
    Tanh,
    Min,
    Max,
}

/// Meaning of a function name.
#[derive(Clone, Copy)]
pub(super) enum Function {
    Of(Operation),
    OfTwo(Operation),
    Clamp,
}

impl Function {
    pub(super) const fn arguments(self) -> usize {
        match self {
            Function::Of(_) => 1,
            Function::OfTwo(_) => 2,
            Function::Clamp => 3,
        }
    }
}

/// All functions with their names.
pub(super) const TABLE: [(&str, Function); 16] = [
    ("sin", Function::Of(Operation::Sin)),
    ("cos", Function::Of(Operation::Cos)),
    ("tan", Function::Of(Operation::Tan)),
    ("asin", Function::Of(Operation::Asin)),
    ("acos", Function::Of(Operation::Acos)),
    ("atan", Function::Of(Operation::Atan)),
    ("atan2", Function::OfTwo(Operation::Atan2)),
    ("exp", Function::Of(Operation::Exp)),
    ("log", Function::Of(Operation::Log)),
    ("sqrt", Function::Of(Operation::Sqrt)),
    ("abs", Function::Of(Operation::Abs)),
    ("sign", Function::Of(Operation::Sign)),
    ("tanh", Function::Of(Operation::Tanh)),
    ("min", Function::OfTwo(Operation::Min)),
    ("max", Function::OfTwo(Operation::Max)),
    ("clamp", Function::Clamp),
];

/// Names of all functions that an expression may call, with their numbers of arguments. `log` is the natural logarithm, `atan2(y, x)` the
/// angle of (x, y), `clamp(x, low, high)` limits x to an interval.
pub const FUNCTIONS: [(&str, usize); TABLE.len()] = {
    let mut all = [("", 0); TABLE.len()];
    let mut i = 0;
    while i < TABLE.len() {
        all[i] = (TABLE[i].0, TABLE[i].1.arguments());
        i += 1;
    }
    all
};

/// Number type that a tape computes with: one point, or several in SIMD lanes.
pub(super) trait Number: Real {
    fn map(self, f: impl Fn(f64) -> f64) -> Self;
    fn zip(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self;

    /// Product slope · tangent, defined as zero where the tangent is zero, so that an infinite slope has no effect there.
    #[inline(always)]
    fn chain(self, tangent: Self) -> Self {
        self.zip(tangent, |slope, tangent| if tangent == 0.0 { 0.0 } else { slope * tangent })
    }
}

impl Number for f64 {
    #[inline(always)]
    fn map(self, f: impl Fn(f64) -> f64) -> f64 {
        f(self)
    }
    #[inline(always)]
    fn zip(self, other: f64, f: impl Fn(f64, f64) -> f64) -> f64 {
        f(self, other)
    }
}

impl Number for Lanes {
    #[inline(always)]
    fn map(self, f: impl Fn(f64) -> f64) -> Lanes {
        Lanes(self.0.map(f))
    }
    #[inline(always)]
    fn zip(self, other: Lanes, f: impl Fn(f64, f64) -> f64) -> Lanes {
        let mut out = [0.0; LANES];
        for i in 0..LANES {
            out[i] = f(self.0[i], other.0[i]);
        }
        Lanes(out)
    }
}

/// Integer power xⁿ by repeated squaring: the same bits on every platform.
#[inline(always)]
fn whole_power<R: Number>(x: R, n: i32) -> R {
    let (mut result, mut square, mut left) = (R::constant(1.0), x, n.unsigned_abs());
    loop {
        if left & 1 == 1 {
            result = result * square;
        }
        left >>= 1;
        if left == 0 {
            break;
        }
        square = square * square;
    }
    if n < 0 { R::constant(1.0) / result } else { result }
}

#[inline(always)]
fn sign(x: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        // x is 0 or NaN, and so is the result.
        x * 0.0
    }
}

/// Maximum of two numbers; NaN if either is NaN.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b || a.is_nan() { a } else { b }
}

#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    if a < b || a.is_nan() { a } else { b }
}

impl Operation {
    /// Value of the operation; `b` is ignored by operations on one number.
    #[inline(always)]
    pub(super) fn value<R: Number>(self, a: R, b: R) -> R {
        match self {
            Operation::Add => a + b,
            Operation::Subtract => a - b,
            Operation::Multiply => a * b,
            Operation::Divide => a / b,
            Operation::Negate => -a,
            Operation::Power => a.zip(b, f64::powf),
            Operation::WholePower(n) => whole_power(a, n),
            Operation::Sin => a.sin(),
            Operation::Cos => a.cos(),
            Operation::Tan => {
                let (sin, cos) = a.sin_cos();
                sin / cos
            }
            Operation::Asin => a.map(f64::asin),
            Operation::Acos => a.map(f64::acos),
            Operation::Atan => a.atan(),
            Operation::Atan2 => a.zip(b, f64::atan2),
            Operation::Exp => a.map(exp),
            Operation::Log => a.ln(),
            Operation::Sqrt => a.sqrt(),
            Operation::Abs => a.map(f64::abs),
            Operation::Sign => a.map(sign),
            Operation::Tanh => a.tanh(),
            Operation::Min => a.zip(b, smaller),
            Operation::Max => a.zip(b, larger),
        }
    }

    /// Partial derivatives ∂/∂a and ∂/∂b, given the value.
    #[inline(always)]
    pub(super) fn slopes<R: Number>(self, a: R, b: R, value: R) -> (R, R) {
        let (zero, one) = (R::constant(0.0), R::constant(1.0));
        match self {
            Operation::Add => (one, one),
            Operation::Subtract => (one, -one),
            Operation::Multiply => (b, a),
            Operation::Divide => (one / b, -value / b),
            Operation::Negate => (-one, zero),
            Operation::Power => {
                let (below, log) = (b.zip(a, |b, a| b * a.powf(b - 1.0)), value.zip(a, times_log));
                (below, log)
            }
            Operation::WholePower(n) => (whole_power(a, n - 1) * f64::from(n), zero),
            Operation::Sin => (a.cos(), zero),
            Operation::Cos => (-a.sin(), zero),
            Operation::Tan => (value * value + 1.0, zero),
            Operation::Asin => (one / (one - a * a).sqrt(), zero),
            Operation::Acos => (-one / (one - a * a).sqrt(), zero),
            Operation::Atan => (one / (a * a + 1.0), zero),
            Operation::Atan2 => {
                let square = a * a + b * b;
                (b / square, -a / square)
            }
            Operation::Exp => (value, zero),
            Operation::Log => (one / a, zero),
            Operation::Sqrt => (R::constant(0.5) / value, zero),
            Operation::Abs => (a.map(sign), zero),
            Operation::Sign => (zero, zero),
            Operation::Tanh => (one - value * value, zero),
            Operation::Min => (a.zip(b, |a, b| f64::from(a < b)), a.zip(b, |a, b| f64::from(!(a < b)))),
            Operation::Max => (a.zip(b, |a, b| f64::from(a > b)), a.zip(b, |a, b| f64::from(!(a > b)))),
        }
    }

    /// Second derivatives ∂²/∂a², ∂²/∂a∂b and ∂²/∂b², given the value.
    pub(super) fn curvatures(self, a: f64, b: f64, value: f64) -> [f64; 3] {
        match self {
            Operation::Multiply => [0.0, 1.0, 0.0],
            Operation::Divide => [0.0, -1.0 / (b * b), 2.0 * value / (b * b)],
            Operation::Power => [
                b * (b - 1.0) * a.powf(b - 2.0),
                a.powf(b - 1.0) + times_log(b * a.powf(b - 1.0), a),
                times_log(times_log(value, a), a),
            ],
            Operation::WholePower(n) => [f64::from(n) * f64::from(n - 1) * whole_power(a, n - 2), 0.0, 0.0],
            Operation::Sin | Operation::Cos => [-value, 0.0, 0.0],
            Operation::Tan => [2.0 * value * (value * value + 1.0), 0.0, 0.0],
            Operation::Asin => [a / ((1.0 - a * a) * (1.0 - a * a).sqrt()), 0.0, 0.0],
            Operation::Acos => [-a / ((1.0 - a * a) * (1.0 - a * a).sqrt()), 0.0, 0.0],
            Operation::Atan => [-2.0 * a / ((a * a + 1.0) * (a * a + 1.0)), 0.0, 0.0],
            Operation::Atan2 => {
                let fourth = (a * a + b * b) * (a * a + b * b);
                [-2.0 * a * b / fourth, (a * a - b * b) / fourth, 2.0 * a * b / fourth]
            }
            Operation::Exp => [value, 0.0, 0.0],
            Operation::Log => [-1.0 / (a * a), 0.0, 0.0],
            Operation::Sqrt => [-0.25 / (a * value), 0.0, 0.0],
            Operation::Tanh => [-2.0 * value * (1.0 - value * value), 0.0, 0.0],
            Operation::Add
            | Operation::Subtract
            | Operation::Negate
            | Operation::Abs
            | Operation::Sign
            | Operation::Min
            | Operation::Max => [0.0; 3],
        }
    }

    /// Whether the operands may be exchanged.
    pub(super) fn is_symmetric(self) -> bool {
        matches!(self, Operation::Add | Operation::Multiply | Operation::Min | Operation::Max)
    }
}

/// The product v ln a, defined as zero at v = 0.
#[inline(always)]
fn times_log(value: f64, a: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value * a.ln() }
}
