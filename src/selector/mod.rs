//! Selecting objects by label and by field.
