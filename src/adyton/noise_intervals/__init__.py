"""How wrong noise makes an answer: half-widths, intervals of ratios, and the noise for a given half-width.

Nothing here can break privacy: the kernel works out what noise costs from the noise itself.
"""
