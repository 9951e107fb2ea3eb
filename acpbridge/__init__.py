"""acpbridge: Claude Code in any editor that speaks the Agent Client Protocol."""
