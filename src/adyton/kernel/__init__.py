"""What privacy rests on: what is read, what it costs, that it is paid for, and which noise it gets.

Planning proposes a ``Measurement``.  ``price`` works out what it costs, ``charge`` writes the receipt, and
``release`` reads, adds noise and keeps the answer.  Each step takes the one before it and nothing else, so
code outside of this package can be as clever as it likes: it costs accuracy, never privacy.
"""
