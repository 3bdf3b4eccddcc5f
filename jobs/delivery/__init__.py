"""What sends to the outside: each way of sending in a file of its own."""
