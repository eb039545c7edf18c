"""What kinds of learned sparse vectors share: how vectors are pruned, and how they are indexed."""
