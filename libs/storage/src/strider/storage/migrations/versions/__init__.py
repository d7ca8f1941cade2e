"""One module and two SQL files for each revision."""
