"""One module per command; `app.COMMANDS` names them."""
