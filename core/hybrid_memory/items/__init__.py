"""Items: values that an application keeps under namespaces and keys."""
