"""Vega-Lite becomes pictures, in processes of their own."""
