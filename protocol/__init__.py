"""The protocol: messages, requests, codes, endpoints and the sockets that carry them."""
