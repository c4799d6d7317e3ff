"""The negative control as published, controls that could fail, and one that must not: how often the battery errs.

Source: section 2 of "Retrieval Motif Emergence in Small Transformers" (Alex 2026).
"""
