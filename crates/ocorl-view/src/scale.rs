//! Maps values to positions on an axis, and chooses ticks.
//!
//! Positions run from 0 (low end) to 1 (high end). A logarithmic axis works on log₁₀ of the values throughout.

use crate::figure::{Axis, Scale};

/// Values are clamped to this size; differences of larger ones overflow.
const HUGE: f64 = 1e300;
/// Ranges narrower than this are treated as constant; smaller ones lose their digits.
const TINY: f64 = 1e-297;
/// Data that vary less than this, relative to their size, are drawn as constant: no tick label could distinguish them.
const CONSTANT: f64 = 1e-9;

/// The range of values that an axis shows.
#[derive(Debug)]
pub(crate) struct Span {
    log: bool,
    /// Whether only whole numbers get ticks: episodes, iterations.
    whole: bool,
    low: f64,
    high: f64,
    /// Whether the axis runs from its high end to its low end.
    reversed: bool,
}

/// Ticks of one axis. A `^` in a label starts a superscript.
#[derive(Debug, Default)]
pub(crate) struct Ticks {
    pub(crate) major: Vec<(f64, String)>,
    pub(crate) minor: Vec<f64>,
    /// Common factor of all labels, for example "×10^6".
    pub(crate) factor: Option<String>,
}

impl Span {
    /// The range that `axis` asks for; ends that it leaves open come from `values`, widened by the share `pad`. Categories get
    /// half a step on both sides and no padding.
    pub(crate) fn new(axis: &Axis, values: impl Iterator<Item = f64>, pad: f64) -> Self {
        let categories = axis.categories.len();
        let log = axis.scale == Scale::Log && categories == 0;
        let (mut low, mut high, mut whole) = (f64::INFINITY, f64::NEG_INFINITY, !log);
        for value in values {
            whole &= value.fract() == 0.0 || !value.is_finite();
            if let Some(v) = transform(log, value) {
                (low, high) = (low.min(v), high.max(v));
            }
        }
        if categories > 0 {
            (low, high) = (low.min(-0.5), high.max(categories as f64 - 0.5));
        } else if low > high {
            (low, high, whole) = (0.0, 1.0, false); // no data
        }
        let wanted = axis.range.map(|(a, b)| if a > b { (b, a) } else { (a, b) });
        let fixed_low = wanted.and_then(|(a, _)| transform(log, a));
        let fixed_high = wanted.and_then(|(_, b)| transform(log, b));
        let margin = if categories > 0 { 0.0 } else { pad * (high - low) };
        (low, high) = (fixed_low.unwrap_or(low - margin), fixed_high.unwrap_or(high + margin));

        let size = if log { 1.0 } else { low.abs().max(high.abs()) };
        if high - low <= (CONSTANT * size).max(TINY) {
            // The data are constant, or all of them are beyond the one end that is fixed.
            let reach = if log {
                0.5
            } else if size <= TINY {
                1.0
            } else if axis.whole {
                (0.1 * size).max(0.5)
            } else {
                0.1 * size
            };
            match (fixed_low, fixed_high) {
                (Some(_), None) => high = low + reach,
                (None, Some(_)) => low = high - reach,
                _ => (low, high) = (low - reach, high + reach),
            }
        }
        Self { log, whole: axis.whole || whole && high - low >= 1.0, low, high, reversed: false }
    }

    /// Both ends in the units of the axis as it is drawn (exponents on a logarithmic one), and its kind, as [`Plot::axes`] writes them.
    ///
    /// [`Plot::axes`]: crate::plot::Plot::axes
    pub(crate) fn ends(&self) -> (f64, f64, &'static str) {
        let (low, high) = if self.reversed { (self.high, self.low) } else { (self.low, self.high) };
        (low, high, if self.log { "log" } else { "linear" })
    }

    /// The same range, drawn from its high end to its low end.
    pub(crate) fn reversed(self) -> Self {
        Self { reversed: !self.reversed, ..self }
    }

    /// Derivative of the position with respect to the value, at `value`.
    pub(crate) fn slope(&self, value: f64) -> Option<f64> {
        let slope = if self.log { 1.0 / (value * std::f64::consts::LN_10) } else { 1.0 };
        let sign = if self.reversed { -1.0 } else { 1.0 };
        self.place(value).map(|_| sign * slope / (self.high - self.low))
    }

    /// Position and text of every `stride`-th category name inside the range.
    pub(crate) fn categories(&self, names: &[String], stride: usize) -> Vec<(f64, String)> {
        let places = names.iter().enumerate().step_by(stride.max(1));
        let places = places.filter_map(|(index, word)| Some((self.place(index as f64)?, word.clone())));
        places.filter(|(place, _)| (0.0..=1.0).contains(place)).collect()
    }

    /// Position of `value`, 0 to 1 inside the range; `None` if the axis cannot show it.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        transform(self.log, value).map(|v| self.share(v))
    }

    fn share(&self, v: f64) -> f64 {
        let share = (v - self.low) / (self.high - self.low);
        if self.reversed { 1.0 - share } else { share }
    }

    /// As many ticks as fit on `length`, at most `count`; a label takes the width `room(label)`.
    pub(crate) fn ticks(&self, length: f64, count: usize, room: impl Fn(&str) -> f64) -> Ticks {
        let fits = |ticks: &Ticks| {
            ticks.major.windows(2).all(|pair| {
                let [(a, first), (b, second)] = pair else { return true };
                0.5 * (room(first) + room(second)) <= (b - a) * length
            })
        };
        let decades = self.high - self.low;
        let mut candidates: Vec<Ticks> = if !self.log {
            (1..=count).rev().map(|n| self.even(self.low, self.high, n)).collect()
        } else if decades < 0.7 {
            let (low, high) = (10_f64.powf(self.low), 10_f64.powf(self.high));
            (1..=count).rev().map(|n| self.even(low, high, n)).collect()
        } else {
            let dense = if decades < 3.0 { &[1, 2, 5][..] } else { &[1] };
            let strides = [1, 2, 3, 5, 10, 20, 50, 100].map(|stride| self.decades(&[1], stride));
            std::iter::once(self.decades(dense, 1)).chain(strides).collect()
        };
        candidates.retain(|ticks| !ticks.major.is_empty());
        let found = candidates.iter().position(|ticks| ticks.major.len() <= count + 1 && fits(ticks));
        if let Some(index) = found {
            candidates.swap_remove(index)
        } else {
            let mut sparse = candidates.pop().unwrap_or_default();
            sparse.major.truncate(1);
            sparse
        }
    }

    /// About `count` evenly spaced ticks between the values `low` and `high`.
    fn even(&self, low: f64, high: f64, count: usize) -> Ticks {
        let (digit, power) = match round_up((high - low) / count as f64) {
            (_, power) if power < 0 && self.whole => (1, 0),
            step => step,
        };
        let step = f64::from(digit) * 10_f64.powi(power);
        // Rounding may move a tick beyond the end: 0.3/0.1 is not 3.
        let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
        let largest = low.abs().max(high.abs());
        let factor = match exponent(largest) {
            -3..=4 => 0,
            5..=8 if power < 0 => 0, // 100000.02 reads better than 100.00002 ×10³
            shift => 3 * shift.div_euclid(3),
        };
        let decimals = usize::try_from(factor - power).unwrap_or(0);
        let unit = f64::from(digit) * 10_f64.powi(power - factor);
        let major = (0..=1000)
            .map(|k| first + f64::from(k))
            .take_while(|&k| k <= last)
            .filter_map(|k| {
                // + 0.0: ceil of a small negative number is −0, which would print as "−0".
                let text = format!("{:.decimals$}", k * unit + 0.0).replace('-', "\u{2212}");
                self.place(k * step).map(|place| (place, text))
            })
            .collect();
        Ticks {
            major,
            minor: Vec::new(),
            factor: (factor != 0).then(|| format!("\u{d7}{}", power_of_ten(factor))),
        }
    }

    /// Ticks at `digits` times every `stride`-th power of ten.
    fn decades(&self, digits: &[i32], stride: i32) -> Ticks {
        let (first, last) = (whole_number(self.low.floor()), whole_number(self.high.ceil()));
        let first = if self.whole { first.max(0) } else { first };
        let inside = |digit: i32, power: i32| {
            let place = self.share(f64::from(power) + f64::from(digit).log10());
            (-1e-9..=1.0 + 1e-9).contains(&place).then_some(place)
        };
        let plain = self.low > -3.5 && self.high < 4.8;
        let mut ticks = Ticks::default();
        for power in first..=last {
            for &digit in digits.iter().filter(|_| power % stride == 0) {
                let text = if plain {
                    let decimals = usize::try_from(-power).unwrap_or(0);
                    format!("{:.decimals$}", f64::from(digit) * 10_f64.powi(power))
                } else if digit == 1 {
                    power_of_ten(power)
                } else {
                    format!("{digit}\u{b7}{}", power_of_ten(power))
                };
                ticks.major.extend(inside(digit, power).map(|place| (place, text)));
            }
            if self.high - self.low < 7.0 {
                ticks.minor.extend((2..10).filter_map(|digit| inside(digit, power)));
            }
        }
        ticks
    }
}

/// The value on its scale (log₁₀ on a logarithmic axis); `None` if it is not finite there.
fn transform(log: bool, value: f64) -> Option<f64> {
    let (v, limit) = if log { (value.log10(), HUGE.log10()) } else { (value, HUGE) };
    v.is_finite().then(|| v.clamp(-limit, limit))
}

/// Rounds up to the next of 1, 2, 5, 10, 20, …; returns digit and power of ten.
fn round_up(v: f64) -> (i32, i32) {
    let power = exponent(v);
    let lead = v / 10_f64.powi(power) * (1.0 - 1e-9);
    [1, 2, 5]
        .into_iter()
        .find(|&digit| lead <= f64::from(digit))
        .map_or((1, power + 1), |digit| (digit, power))
}

/// ⌊log₁₀ |v|⌋.
fn exponent(v: f64) -> i32 {
    whole_number((v.abs() * (1.0 + 1e-12)).log10().floor())
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "logarithms of finite numbers are small; the cast saturates"
)]
fn whole_number(v: f64) -> i32 {
    v as i32
}

fn power_of_ten(power: i32) -> String {
    format!("10^{power}").replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, values: &[f64]) -> (Vec<String>, Option<String>) {
        let ticks =
            Span::new(axis, values.iter().copied(), 0.0).ticks(300.0, 6, |label| 8.0 * label.len() as f64);
        (ticks.major.into_iter().map(|(_, label)| label).collect(), ticks.factor)
    }

    #[test]
    fn ticks_are_round_numbers() {
        let axis = Axis::new("", "");
        assert_eq!(labels(&axis, &[0.0, 0.3]).0, ["0.00", "0.05", "0.10", "0.15", "0.20", "0.25", "0.30"]);
        assert_eq!(labels(&axis, &[-1.9, 2.1]).0, ["−1", "0", "1", "2"]);
        assert_eq!(labels(&axis, &[1.0, 2.0]).0, ["1", "2"], "whole numbers have no halves between them");
        assert_eq!(
            labels(&axis.clone().range(1.1, 1.4), &[1.0, 2.0]).0.len(),
            7,
            "unless only a part is shown"
        );
        assert_eq!(
            labels(&axis, &[1e5, 1e5 + 0.02]).0[1],
            "100000.01",
            "no factor where it makes labels longer"
        );
        assert_eq!(labels(&axis, &[-1e-12, 1e-12]).1.as_deref(), Some("×10^−12"));
        assert_eq!(
            labels(&axis, &[1e-12, 1e12]),
            (
                ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"].map(str::to_owned).to_vec(),
                Some("×10^12".to_owned())
            )
        );
    }

    #[test]
    fn whole_ticks_stay_whole() {
        let axis = Axis::new("episode", "").whole();
        for (values, expected) in [
            (vec![0.3, 2.7], vec!["1", "2"]),
            (vec![1.0], vec!["1"]),
            (vec![0.0, 20.5], vec!["0", "5", "10", "15", "20"]),
        ] {
            assert_eq!(labels(&axis, &values).0, expected);
        }
        assert_eq!(labels(&axis.clone().range(1.0, 3.0), &[1.0, 2.5]).0, ["1", "2", "3"]);
        assert!(labels(&axis.clone().range(1.2, 1.4), &[]).0.is_empty(), "no whole number there");
        assert_eq!(labels(&axis.log(), &[0.05, 300.0]).0, ["1", "10", "100"]);
    }

    #[test]
    fn category_names_stand_in_the_middle_of_their_step() {
        let axis = Axis::categories(["a", "b"]).log();
        let span = Span::new(&axis, [0.0, 1.0].into_iter(), 0.05);
        assert_eq!(span.categories(&axis.categories, 1), [(0.25, "a".to_owned()), (0.75, "b".to_owned())]);
        let span = span.reversed();
        assert_eq!(span.categories(&axis.categories, 2), [(0.75, "a".to_owned())]);
        assert_eq!(span.slope(0.0), Some(-0.5));
        let wide = Span::new(&axis, [5.0].into_iter(), 0.0);
        assert_eq!(wide.place(5.0), Some(1.0), "data beyond the categories are shown");
    }

    #[test]
    fn slopes_are_derivatives_of_places() {
        for axis in [Axis::new("", ""), Axis::new("", "").log()] {
            let span = Span::new(&axis, [0.5, 30.0].into_iter(), 0.0);
            let (at, step) = (3.0, 1e-5);
            let change = span.place(at + step).unwrap() - span.place(at - step).unwrap();
            assert!((change / (2.0 * step) - span.slope(at).unwrap()).abs() < 1e-9);
        }
    }

    #[test]
    fn log_ticks_follow_the_range() {
        let axis = Axis::new("", "").log();
        assert_eq!(labels(&axis, &[0.5, 30.0]).0, ["0.5", "1", "2", "5", "10", "20"]);
        assert_eq!(labels(&axis, &[1e-2, 1e2]).0, ["0.01", "0.1", "1", "10", "100"]);
        assert_eq!(labels(&axis, &[1e-12, 1e12]).0, ["10^−10", "10^−5", "10^0", "10^5", "10^10"]);
        assert_eq!(labels(&axis, &[20.2, 26.4, -3.0]).0, ["22", "24", "26"]);
        assert_eq!(labels(&axis, &[0.0, -1.0]).0.len(), 4, "no data: some decade");
    }

    #[test]
    fn every_range_has_ticks_that_do_not_overlap() {
        let sizes = [
            0.0,
            5e-324,
            1e-310,
            1e-300,
            1e-12,
            1e-3,
            1.0,
            1.0 + 1e-12,
            1.0 + 1e-7,
            1e5,
            1e12,
            1e300,
            f64::MAX,
        ];
        let room = |label: &str| 7.0 * label.chars().count() as f64 + 12.0;
        let values = sizes.iter().flat_map(|&size| [size, -size]);
        for (a, b) in values.clone().flat_map(|a| values.clone().map(move |b| (a, b))) {
            for axis in [Axis::new("", ""), Axis::new("", "").log()] {
                for axis in [axis.clone().range(a, b), axis.clone().range(a, f64::INFINITY), axis] {
                    let span = Span::new(&axis, [a, b].into_iter(), 0.04);
                    assert!(span.low < span.high, "{a:e} {b:e} {axis:?} {span:?}");
                    let ticks = span.ticks(250.0, 6, room);
                    assert!(!ticks.major.is_empty(), "{a:e} {b:e} {axis:?} {span:?}");
                    assert!(
                        ticks.major.iter().all(|(place, _)| (-1e-6..=1.0 + 1e-6).contains(place)),
                        "{ticks:?}"
                    );
                    for pair in ticks.major.windows(2) {
                        let distance = 250.0 * (pair[1].0 - pair[0].0);
                        assert!(0.5 * (room(&pair[0].1) + room(&pair[1].1)) <= distance, "{ticks:?}");
                        assert_ne!(pair[0].1, pair[1].1, "{a:e} {b:e} {ticks:?}");
                    }
                }
            }
        }
    }
}
