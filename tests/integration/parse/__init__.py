"""The command that shows what the parser sees."""
