"""What is said: messages, requests, codes, endpoints and the sockets that carry them."""
