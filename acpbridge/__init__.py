"""acpbridge: Claude Code in any editor that speaks the Agent Client Protocol."""

__version__ = "0.1.0"
