"""Provisioners: how many machines of each offer, now?"""
