"""One call on a bundle: which documents it sees, how its pipeline runs, which hits come back."""
