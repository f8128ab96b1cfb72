//! Thinning of large data: the model keeps the measurements that are farthest from each other.
//!
//! A Gaussian process costs n³ operations for n measurements, and measurements that are close to others add little information. The
//! choice is greedy: each next measurement is the one with the largest distance to those kept, which for a kernel of the distance has
//! about the largest posterior variance. Coordinates are divided by their standard deviation, angles enter as (sin, cos). O(n·kept)
//! time, O(n) memory.

use crate::linalg::{Points, Rows};
use crate::measurements::Measurements;

/// Returns the indices of the `limit` measurements to keep, ascending. Those from index `latest` on are kept first, if they are at most
/// half of the limit: they are near the present plan.
pub(super) fn kept(data: &Measurements, angles: &[usize], latest: usize, limit: usize) -> Vec<usize> {
    let n = data.len();
    if n <= limit {
        return (0..n).collect();
    }
    let rows = standardized(data.points(), angles);
    let x = rows.view();
    let (mut nearest, mut point) = (vec![f64::INFINITY; n], vec![0.0; rows.dim()]);
    let (mut chosen, mut square) = (Vec::with_capacity(limit), vec![0.0; n]);
    let first = if n - latest <= limit / 2 { latest..n } else { 0..1 };
    let mut next = first.clone();
    while chosen.len() < limit {
        let index = next.next().unwrap_or_else(|| farthest(&nearest));
        rows.copy_point(index, &mut point);
        square.fill(0.0);
        for (d, z) in point.iter().enumerate() {
            for (square, x) in square.iter_mut().zip(x.row(d)) {
                *square += (x - z) * (x - z);
            }
        }
        for (nearest, square) in nearest.iter_mut().zip(&square) {
            *nearest = nearest.min(*square);
        }
        // Copies of a kept measurement have distance zero; the measurement itself is never chosen again.
        nearest[index] = f64::NEG_INFINITY;
        chosen.push(index);
    }
    chosen.sort_unstable();
    chosen
}

fn farthest(nearest: &[f64]) -> usize {
    let larger = |best: usize, i: usize| if nearest[i] > nearest[best] { i } else { best };
    (0..nearest.len()).fold(0, larger)
}

/// The points with each coordinate divided by its standard deviation.
fn standardized(points: Points<'_>, angles: &[usize]) -> Rows {
    let dim = points.dim() + angles.len();
    let mut columns = Vec::with_capacity(dim * points.len());
    for z in points.iter() {
        columns.extend(z.iter().enumerate().map(|(d, v)| if angles.contains(&d) { v.sin() } else { *v }));
        columns.extend(angles.iter().map(|&d| z[d].cos()));
    }
    let n = points.len() as f64;
    for d in 0..dim {
        let each = || columns.iter().skip(d).step_by(dim);
        let mean = each().sum::<f64>() / n;
        let std = (each().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n).sqrt();
        let factor = if std > 0.0 && std.is_finite() { 1.0 / std } else { 0.0 };
        for v in columns.iter_mut().skip(d).step_by(dim) {
            *v = (*v - mean) * factor;
        }
    }
    Rows::from_points(Points::new(&columns, dim))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Dims;

    fn line(places: &[f64]) -> Measurements {
        let mut data = Measurements::new(Dims { state: 1, control: 1 });
        for (i, x) in places.iter().enumerate() {
            data.push(i as f64, &[*x], &[1.0], &[0.0], &[0.1]).unwrap();
        }
        data
    }

    #[test]
    fn the_measurements_that_are_kept_cover_the_range() {
        // A thousand measurements in a small range, and a few far from it.
        let mut places: Vec<f64> = (0..1000).map(|i| 1e-3 * f64::from(i)).collect();
        places.extend([5.0, -3.0, 5.0, 9.0]);
        let data = line(&places);
        let kept = kept(&data, &[], places.len(), 20);
        assert_eq!(kept.len(), 20);
        let at: Vec<f64> = kept.iter().map(|&i| places[i]).collect();
        for far in [5.0, -3.0, 9.0] {
            assert_eq!(at.iter().filter(|x| **x == far).count(), 1, "{at:?}");
        }
        let mut small: Vec<f64> = at.into_iter().filter(|x| (0.0..1.0).contains(x)).collect();
        small.sort_by(f64::total_cmp);
        assert!(small.windows(2).all(|w| w[1] - w[0] < 0.13), "{small:?}");
    }

    #[test]
    fn the_latest_are_kept_and_few_data_stay_as_they_are() {
        let places: Vec<f64> = (0..50).map(|i| (f64::from(i)).sin()).collect();
        let all = line(&places);
        let some = kept(&all, &[0], 45, 10);
        assert!((45..50).all(|i| some.contains(&i)) && some.len() == 10, "{some:?}");
        assert!(some.is_sorted());
        assert_eq!(kept(&all, &[], 45, 50), (0..50).collect::<Vec<_>>());
        // Copies alone: as many as the limit, none twice.
        let copies = kept(&line(&[2.0; 30]), &[], 30, 7);
        assert!(copies.len() == 7 && copies.is_sorted_by(|a, b| a < b), "{copies:?}");
    }
}
