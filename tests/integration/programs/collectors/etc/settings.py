"""Configuration of collectors; no program, though it may be executable."""
PAUSE_S = 0.25
