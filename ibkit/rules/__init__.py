"""The diagnosis: one rule, one function, one id, documented thresholds and their source.

``rule.py`` says what a rule is, ``evidence.py`` what it may look at, ``engine.py`` runs all of them and
``incidents.py`` puts findings of one cause together. The other modules hold the rules, by subject; ``ALL`` has them in
order of their numbers.
"""
