"""Replicators: which running task deserves another attempt, where and when?"""
