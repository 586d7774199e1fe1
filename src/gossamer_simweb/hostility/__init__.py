"""Hostile kinds of site: each attacks a crawler, or others through it, in one way. Pure.

`HOSTILE_KINDS` has every kind by its name. `WebSpec.hostile` names the kinds of a web, and `WebSpec.hostile_sites` says
how many such sites it has: they get the kinds in turn. A hostile site has endless pages, so `expected` contains none of
them. The log says `hostile` for their requests. A kind belongs in the module whose first line describes it.
"""
