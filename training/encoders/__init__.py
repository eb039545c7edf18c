"""Train encoders on texts: pairs, negatives that an encoder finds, and teachers."""
