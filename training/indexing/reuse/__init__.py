"""Analyse a changed collection, most of which some bundles have analysed already."""
