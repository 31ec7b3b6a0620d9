"""Steps that change buffers: caches, layouts, scopes, swizzles."""
