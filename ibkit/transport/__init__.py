"""Evidence about the ranks of a job made into a verdict, a reason and a fix."""
