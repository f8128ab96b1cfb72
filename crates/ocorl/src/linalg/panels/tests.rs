use super::*;
use crate::linalg::vector::dot;
use crate::random::Stream;

/// Sizes around whole panels, groups of panels, and blocks of their depth.
const SIZES: [usize; 8] = [1, 7, 8, 13, 100, 128, 130, 300];

/// Returns the lower triangle of a symmetric, diagonally dominant matrix.
fn matrix(n: usize) -> Triangle {
    let mut rng = Stream::root(n as u64).rng();
    let full: Vec<f64> =
        (0..n * n).map(|e| if e % n == e / n { 2.0 * n as f64 } else { rng.normal() }).collect();
    Triangle::of(&full, n)
}

fn factor(n: usize) -> (Triangle, Vec<f64>) {
    let (mut l, mut reciprocals) = (matrix(n), Vec::new());
    factorize(&mut l, &mut reciprocals).unwrap();
    (l, reciprocals)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-10 * (1.0 + b.abs())
}

#[test]
fn the_factor_times_itself_is_the_matrix() {
    for n in SIZES {
        let (a, (l, reciprocals)) = (matrix(n), factor(n));
        for i in 0..n {
            for j in 0..=i {
                let product: f64 = (0..=j).map(|k| l.get(i, k) * l.get(j, k)).sum();
                assert!(close(product, a.get(i, j)), "n = {n}: {product} and {} at {i}, {j}", a.get(i, j));
            }
            assert!(close(reciprocals[i] * l.get(i, i), 1.0));
        }
    }
}

#[test]
fn solutions_solve_whatever_their_number() {
    for n in SIZES {
        let (l, reciprocals) = factor(n);
        for columns in [1, 3, 8, 20] {
            let mut rng = Stream::root(3).rng();
            let b: Vec<f64> = (0..n * columns).map(|_| rng.normal()).collect();
            let mut memory = vec![f64::NAN; Block::room(n, columns)];
            for transposed in [false, true] {
                let mut block = Block::pack(&b, n, columns, &mut memory);
                let (lower, mut x) = (Lower::new(&l, &reciprocals), b.clone());
                if transposed {
                    block.solve_transposed(lower);
                } else {
                    block.solve(lower);
                }
                block.unpack(&mut x);
                for (x, b) in x.chunks_exact(n).zip(b.chunks_exact(n)) {
                    for i in 0..n {
                        let product: f64 = if transposed {
                            (i..n).map(|k| l.get(k, i) * x[k]).sum()
                        } else {
                            (0..=i).map(|k| l.get(i, k) * x[k]).sum()
                        };
                        assert!(close(product, b[i]), "n = {n}, {columns} columns: {product} and {}", b[i]);
                    }
                }
            }
        }
    }
}

#[test]
fn one_right_hand_side_gives_the_bits_it_gives_among_others() {
    let (n, columns) = (130, 9);
    let (l, reciprocals) = factor(n);
    let b: Vec<f64> = (0..n * columns).map(|e| (e as f64).sin()).collect();
    let solve = |b: &[f64], columns| {
        let (mut memory, mut x) = (vec![0.0; Block::room(n, columns)], b.to_vec());
        let mut block = Block::pack(b, n, columns, &mut memory);
        block.solve(Lower::new(&l, &reciprocals));
        block.unpack(&mut x);
        x
    };
    let together = solve(&b, columns);
    for (x, b) in together.chunks_exact(n).zip(b.chunks_exact(n)) {
        assert_eq!(x, solve(b, 1));
    }
}

#[test]
fn the_gram_matrix_of_the_inverse_factor_is_the_inverse() {
    for n in SIZES {
        let (a, (l, reciprocals)) = (matrix(n), factor(n));
        let mut inverse = Inverse::zeros(n);
        inverse.assign(Lower::new(&l, &reciprocals));
        let gram = inverse.gram();
        // The full inverse from its lower triangle.
        let (mut whole, mut columns) = (vec![0.0; n * n], vec![0.0; gram.room()]);
        for j in 0..n {
            if j % GRAM_COLUMNS == 0 {
                gram.negative(j / WIDTH, &mut columns);
            }
            for i in j..n {
                let entry = -columns[j % GRAM_COLUMNS * gram.rows() + i];
                (whole[j * n + i], whole[i * n + j]) = (entry, entry);
            }
            assert!(close(inverse.square_norms()[j], whole[j * n + j]));
        }
        for (i, j) in [(0, 0), (n - 1, 0), (0, n - 1), (n / 2, n / 2), (n - 1, n - 1)] {
            let product: f64 = (0..n).map(|k| a.get(i.max(k), i.min(k)) * whole[j * n + k]).sum();
            assert!(close(product, f64::from(i == j)), "n = {n}: {product} at {i}, {j}");
        }
    }
}

#[test]
fn a_matrix_that_is_not_positive_leaves_nothing_behind() {
    let (n, mut reciprocals) = (21, Vec::new());
    let mut a = matrix(n);
    *a.at(17, 17) = f64::NAN;
    assert_eq!(factorize(&mut a, &mut reciprocals), Err(17));
    *a.at(3, 3) = -1.0;
    for j in 0..n {
        a.set_column(j, &vec![f64::INFINITY; n - j]);
    }
    assert_eq!(factorize(&mut a, &mut reciprocals), Err(0));
    for j in 0..n {
        let column: Vec<f64> = (j..n).map(|i| matrix(n).get(i, j)).collect();
        a.set_column(j, &column);
    }
    factorize(&mut a, &mut reciprocals).unwrap();
    let (l, expected) = factor(n);
    assert_eq!((a.steps, reciprocals), (l.steps, expected));
}

#[test]
fn products_of_columns_are_added_below_the_diagonal() {
    let n = 11;
    for columns in [1, 2, 8, 35] {
        let x: Vec<f64> = (0..n * columns).map(|e| ((e * e) as f64).cos()).collect();
        let (mut c, mut memory) = (vec![1.0; columns * columns], vec![0.0; Block::room(n, columns)]);
        Block::pack(&x, n, columns, &mut memory).add_gram(-1.0, &mut c);
        for j in 0..columns {
            for i in 0..columns {
                let product = dot(&x[i * n..(i + 1) * n], &x[j * n..(j + 1) * n]);
                let expected = if i < j { 1.0 } else { 1.0 - product };
                assert!(close(c[j * columns + i], expected), "{i}, {j} of {columns}");
            }
        }
    }
}

#[test]
fn products_are_sums_of_products_whatever_their_number() {
    for n in SIZES {
        let (l, _) = factor(n);
        for columns in [1, 3, 8, 20] {
            let mut rng = Stream::root(4).rng();
            let x: Vec<f64> = (0..n * columns).map(|_| rng.normal()).collect();
            let (mut memory, mut results) =
                (vec![f64::NAN; Block::room(n, columns)], vec![f64::NAN; Block::room(n, columns)]);
            let block = Block::pack(&x, n, columns, &mut memory);
            let mut out = Block::over(&mut results, n, columns);
            let (lower, mut y) = (Lower::new(&l, &[]), x.clone());
            for transposed in [false, true] {
                if transposed {
                    block.negative_transposed_product(lower, &mut out);
                } else {
                    block.negative_product(lower, &mut out);
                }
                out.unpack(&mut y);
                for (x, y) in x.chunks_exact(n).zip(y.chunks_exact(n)) {
                    for i in 0..n {
                        let product: f64 = if transposed {
                            (i..n).map(|k| l.get(k, i) * x[k]).sum()
                        } else {
                            (0..=i).map(|k| l.get(i, k) * x[k]).sum()
                        };
                        assert!(close(y[i], -product), "n = {n}, {columns} columns: {} at {i}", y[i]);
                    }
                }
            }
        }
    }
}
