"""Reports about plans: drawings, profiles, rooflines."""
