"""The textual application: screens and widgets over the model. Nothing else in ibkit imports it but its command."""
