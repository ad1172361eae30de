"""Placers: which ready task goes to which idle machine?"""
