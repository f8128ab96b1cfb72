//! Conversion between Python objects and JSON or TOML.

use crate::errors::{Answer, Failure, internal};
use crate::function::shortened;
use ocorl_study::config::Config;
use ocorl_study::system::System;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyNone, PyString, PyTuple};
use serde::Serialize;
use serde_json::Value as Json;
use toml::{Table, Value as Toml};

/// Converts a JSON document to dictionaries, lists, numbers and strings.
pub(crate) fn python<'py>(py: Python<'py>, value: &Json) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Json::Null => PyNone::get(py).to_owned().into_any(),
        Json::Bool(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        Json::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(whole), _) => whole.into_pyobject(py)?.into_any(),
            (_, Some(whole)) => whole.into_pyobject(py)?.into_any(),
            _ => PyFloat::new(py, number.as_f64().unwrap_or(f64::NAN)).into_any(),
        },
        Json::String(text) => PyString::new(py, text).into_any(),
        Json::Array(list) => {
            let each: PyResult<Vec<_>> = list.iter().map(|value| python(py, value)).collect();
            PyList::new(py, each?)?.into_any()
        }
        Json::Object(map) => {
            let dict = PyDict::new(py);
            for (key, value) in map {
                dict.set_item(key, python(py, value)?)?;
            }
            dict.into_any()
        }
    })
}

/// Converts any serializable value to Python objects. Numbers that are not finite become `None`.
pub(crate) fn document<'py>(py: Python<'py>, value: &impl Serialize) -> Answer<Bound<'py, PyAny>> {
    let value = serde_json::to_value(value).map_err(|error| internal("document", &error.to_string()))?;
    Ok(python(py, &value)?)
}

/// Converts a count, an index or a seed: a non-negative integer.
pub(crate) fn whole<T: for<'a, 'py> FromPyObject<'a, 'py, Error = PyErr>>(
    value: &Bound<'_, PyAny>,
) -> PyResult<T> {
    value.extract::<T>().map_err(|error| {
        if !error.is_instance_of::<PyOverflowError>(value.py()) {
            return error;
        }
        let found = shortened(&value.to_string());
        Failure::invalid(format!("{found} cannot be; it must be a whole number from 0 on, below 2^64"))
            .raise(value.py())
    })
}

/// Converts an optional non-negative integer.
pub(crate) fn maybe_whole(value: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    if value.is_none() { Ok(None) } else { whole(value).map(Some) }
}

/// Converts the value of a setting from Python to TOML.
fn setting(path: &str, value: &Bound<'_, PyAny>) -> Answer<Toml> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Toml::Boolean(flag.is_true()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Toml::String(text.to_string()));
    }
    if value.cast::<PyInt>().is_ok() {
        let too_large = |_| Failure::invalid(format!("the setting '{path}' is too large a number"));
        return Ok(Toml::Integer(value.extract::<i64>().map_err(too_large)?));
    }
    if value.cast::<PyFloat>().is_ok() {
        return Ok(Toml::Float(value.extract()?));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        let mut table = Table::new();
        for (key, value) in dict {
            let key: String = key.extract()?;
            let path = format!("{path}.{key}");
            table.insert(key, setting(&path, &value)?);
        }
        return Ok(Toml::Table(table));
    }
    // Lists and tuples directly; arrays and NumPy scalars through their own conversion methods.
    if value.cast::<PyList>().is_err() && value.cast::<PyTuple>().is_err() && value.hasattr("tolist")? {
        return setting(path, &value.call_method0("tolist")?);
    }
    if let Ok(items) = value.try_iter() {
        let each: Answer<Vec<Toml>> = items.map(|item| setting(path, &item?)).collect();
        return Ok(Toml::Array(each?));
    }
    let kind = value.get_type().name()?;
    Err(Failure::invalid(format!("the setting '{path}' cannot be a {kind}"))
        .hint("settings are numbers, texts, True, False, lists and dictionaries")
        .into())
}

/// Settings of a system: the base settings `settings`, then the changes in `set`.
pub(crate) fn config(system: &System, settings: &str, set: &Bound<'_, PyDict>) -> Answer<Config> {
    let mut config = system.config(settings)?;
    for (path, value) in set {
        let path: String = path.extract()?;
        config.set_value(&path, setting(&path, &value)?)?;
    }
    Ok(config.complete()?)
}
