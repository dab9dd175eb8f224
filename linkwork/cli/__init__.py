"""The command line, `linkwork`: thin commands over the client, the machine room and the daemons."""
