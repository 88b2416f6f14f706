"""What the ranks of running jobs use, from two samples of each of their hosts."""
