"""InfiniBand and RDMA fabric diagnostics. See docs/architecture.md for the house."""

__version__ = "0.1.0"
