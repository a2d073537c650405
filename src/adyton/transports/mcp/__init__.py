"""MCP: tools for agents, over the same house and desk as HTTP, with a budget that no words can raise."""
