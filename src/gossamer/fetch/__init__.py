"""One request, made safely: which addresses may be contacted, how names become addresses, the transfer.

What belongs here turns a URL into bytes or into a named failure. Whether a URL *may* be asked for is decided
in `politeness`; what the bytes mean is found out in `parse`.
"""
