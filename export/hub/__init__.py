"""The folder that other libraries read: a graph per variant, tokenizer, configs, a model card."""
