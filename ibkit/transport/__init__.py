"""Evidence about the ranks of a job made into a verdict, a reason and a fix.

``logs`` reads what a job has printed, ``live`` what a running one moves; neither knows the other. ``launching`` starts
a job so that it speaks, ``watching`` looks at it meanwhile, ``log_and_live`` joins the two answers.
"""
