"""From bytes to arrays and strings, in memory, mapped, or fetched by blocks."""
