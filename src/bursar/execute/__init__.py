"""Running attempts on machines.

    LocalWorld --orders--> Staff --+-- WardenLink === agent: starts and ends every process
     (local)  <--reports-- (staff) +-- Crew ========= worker: runs Python calls
                                       (crew)

`===` is a socket pair to a child program (`wire`; to a worker, `packets`). The child programs
import nothing but the standard library, so they start quickly and depend on nothing that can break.
"""
