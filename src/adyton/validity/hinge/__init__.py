"""The centred hinge: what everything released says about the population, by one row against a phantom.

Here for what the subset theorem does not cover: pure studies (``peeling``, ``planned``), Thresholdout
(``pairs``), and the planner's comparison of Gaussian answers (``joint``).  Every width has two parts: what
the transcript hides of the noise (``noise_part``), and how far it singles out these rows (``stability``).
"""
