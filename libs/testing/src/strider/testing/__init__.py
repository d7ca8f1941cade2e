"""What tests share: builders, clocks, a simulated stack, a real one."""
