# Install rules: filled in with tests/install.
