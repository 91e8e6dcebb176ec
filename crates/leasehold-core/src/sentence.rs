//! Errors that are shown by their sentence where nobody asked for more.

/// `Debug` of an error: its sentence, and its fields for `{:#?}`.
///
/// A program whose `main` returns an error shows it by `{:?}`, and so do `unwrap` and `expect`. People read that, who are
/// helped by the sentence and not by hundreds of letters of fields. The macro is told every variant and every field: one
/// that is forgotten does not compile.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_by_sentence {
    (struct $error:ident { $($field:ident),* $(,)? }) => {
        impl core::fmt::Debug for $error {
            fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                if !out.alternate() {
                    return core::fmt::Display::fmt(self, out);
                }
                let Self { $($field),* } = self;
                out.debug_struct(stringify!($error))$(.field(stringify!($field), $field))*.finish()
            }
        }
    };
    ($error:ident { $($(#[$when:meta])? $variant:ident $(($inner:ident))? $({ $($field:ident),* $(,)? })?),* $(,)? }) => {
        impl core::fmt::Debug for $error {
            fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                if !out.alternate() {
                    return core::fmt::Display::fmt(self, out);
                }
                match self {
                    $($(#[$when])? Self::$variant $(($inner))? $({ $($field),* })? => out
                        .debug_struct(stringify!($variant))
                        $(.field("0", $inner))?
                        $($(.field(stringify!($field), $field))*)?
                        .finish(),)*
                }
            }
        }
    };
}
