"""Documents, queries and judgements of any form, and what is built of them; needs no PyTorch."""
