"""The field's nouns as small frozen types. No I/O."""
