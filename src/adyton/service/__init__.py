"""Studies and holdouts for people elsewhere: who may do what, on whose account, and when answers leave."""
