//! Conversion of NumPy arrays: float64 in C order; each row is one time or one point.

use crate::errors::{Answer, Failure};
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use ocorl::linalg::Blocks;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

/// Name and expected shape of an argument, for error messages.
#[derive(Clone, Copy)]
pub(crate) struct Shape<'a> {
    /// Name of the argument.
    pub(crate) what: &'a str,
    /// Number of columns.
    pub(crate) columns: usize,
}

/// The function `numpy.asarray`, looked up once.
fn asarray(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static ASARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    ASARRAY.import(py, "numpy", "asarray")
}

/// Whether the value is a masked array of NumPy. (Frames of pandas have a method of the name `mask`.)
fn is_masked(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(value.hasattr("mask")? && !value.getattr("mask")?.is_callable())
}

/// Converts anything that NumPy can convert to an array: its numbers in C order, and its shape.
pub(crate) fn numbers(value: &Bound<'_, PyAny>, what: &str) -> Answer<(Vec<f64>, Vec<usize>)> {
    if let Ok(array) = value.extract::<PyReadonlyArrayDyn<'_, f64>>()
        && array.is_c_contiguous()
        && let Ok(slice) = array.as_slice()
        && !is_masked(value)?
    {
        return Ok((slice.to_vec(), array.shape().to_vec()));
    }
    let py = value.py();
    let wrong = |cause: String| {
        let kind = value.get_type().name().map_or_else(|_| "something".into(), |name| name.to_string());
        Failure::invalid(format!("'{what}' must be an array of numbers, not {kind}")).detail("cause", cause)
    };
    if value.is_none() {
        return Err(Failure::invalid(format!("'{what}' must be an array of numbers, not None")).into());
    }
    if is_masked(value)? && value.getattr("mask")?.call_method0("any")?.is_truthy()? {
        return Err(wrong("some of its entries are masked; leave those rows out".into()).into());
    }
    let mut array = asarray(py)?.call1((value,)).map_err(|error| wrong(error.value(py).to_string()))?;
    let mut kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    if kind == "O" && value.hasattr("to_numpy")? {
        // A frame of nullable columns: its missing values become NaN.
        let options = PyDict::new(py);
        options.set_item("dtype", "float64")?;
        options.set_item("na_value", f64::NAN)?;
        if let Ok(numbers) = value.call_method("to_numpy", (), Some(&options)) {
            (array, kind) = (numbers, "f".into());
        }
    }
    if !"biuf".contains(&kind) {
        let dtype = array.getattr("dtype")?.to_string();
        return Err(wrong(format!("its dtype is {dtype}")).into());
    }
    let options = PyDict::new(py);
    options.set_item("dtype", "float64")?;
    options.set_item("order", "C")?;
    let array = asarray(py)?.call((array,), Some(&options))?;
    let array: PyReadonlyArrayDyn<'_, f64> =
        array.extract().map_err(|error: PyErr| wrong(error.value(py).to_string()))?;
    let slice = array.as_slice().map_err(|error| wrong(error.to_string()))?;
    Ok((slice.to_vec(), array.shape().to_vec()))
}

/// Converts to rows of `columns` numbers. A single row may be one-dimensional, and so may a single column.
pub(crate) fn rows(value: &Bound<'_, PyAny>, shape: Shape<'_>) -> Answer<Vec<f64>> {
    let Shape { what, columns } = shape;
    let (numbers, found) = numbers(value, what)?;
    let fits = match found.as_slice() {
        [_, width] => *width == columns,
        [length] => columns == 1 || *length == columns,
        _ => false,
    };
    if fits {
        return Ok(numbers);
    }
    Err(Failure::invalid(format!("'{what}' has the shape {}, expected (n, {columns})", shape_text(&found)))
        .into())
}

/// Converts to a list of numbers, of the given `length` if there is one; a scalar counts as one number.
pub(crate) fn list(value: &Bound<'_, PyAny>, what: &str, length: Option<usize>) -> Answer<Vec<f64>> {
    let (numbers, found) = numbers(value, what)?;
    let flat = found.len() <= 1 || (found.len() == 2 && found[1] == 1);
    if flat && length.is_none_or(|length| numbers.len() == length) {
        return Ok(numbers);
    }
    let expected = length.map_or("(n,)".into(), |length| format!("({length},)"));
    Err(Failure::invalid(format!("'{what}' has the shape {}, expected {expected}", shape_text(&found)))
        .into())
}

/// Formats a shape in Python's notation.
pub(crate) fn shape_text(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        many => format!("({})", many.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// Converts a slice to a one-dimensional array.
pub(crate) fn vector<'py>(py: Python<'py>, values: &[f64]) -> Bound<'py, PyArray1<f64>> {
    PyArray1::from_slice(py, values)
}

/// Converts numbers to a two-dimensional array.
pub(crate) fn matrix<'py>(
    py: Python<'py>,
    values: &[f64],
    columns: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let count = values.len().checked_div(columns).unwrap_or(0);
    PyArray1::from_slice(py, values).reshape([count, columns])
}

/// Converts blocks to a two-dimensional array with one block per row.
pub(crate) fn blocks<'py>(py: Python<'py>, blocks: &Blocks) -> PyResult<Bound<'py, PyArray2<f64>>> {
    matrix(py, blocks.as_slice(), blocks.size())
}

/// Converts a sequence of matrices to a three-dimensional array.
pub(crate) fn matrices<'py>(
    py: Python<'py>,
    values: &[f64],
    rows: usize,
    columns: usize,
) -> PyResult<Bound<'py, PyArray3<f64>>> {
    let count = values.len().checked_div(rows * columns).unwrap_or(0);
    PyArray1::from_slice(py, values).reshape([count, rows, columns])
}

/// Converts the rows of a table to a two-dimensional array.
pub(crate) fn table<'py>(
    py: Python<'py>,
    rows: &[Vec<f64>],
    columns: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    matrix(py, &rows.concat(), columns)
}
