//! Serializes numbers for JSON: `null` for a value that is not finite, read back as NaN.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

fn some(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// A single number.
pub(crate) mod one {
    use super::{Deserialize, Deserializer, Serialize, Serializer, some};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub(crate) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        some(*value).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
    }
}

/// A list of numbers.
pub(crate) mod list {
    use super::{Deserialize, Deserializer, Serializer, some};

    pub(crate) fn serialize<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|&value| some(value)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
        let values = Vec::<Option<f64>>::deserialize(deserializer)?;
        Ok(values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect())
    }
}

/// An axis range: `null` for an end that is taken from the data.
pub(crate) mod range {
    use super::{Deserialize, Deserializer, Serialize, Serializer, some};

    #[expect(clippy::ref_option, reason = "serde's signature")]
    pub(crate) fn serialize<S: Serializer>(range: &Option<(f64, f64)>, to: S) -> Result<S::Ok, S::Error> {
        range.map(|(low, high)| (some(low), some(high))).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<(f64, f64)>, D::Error> {
        let range = Option::<(Option<f64>, Option<f64>)>::deserialize(from)?;
        Ok(range.map(|(low, high)| (low.unwrap_or(f64::NAN), high.unwrap_or(f64::NAN))))
    }
}
