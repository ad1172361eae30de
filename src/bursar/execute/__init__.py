"""Running attempts on machines.

    LocalRunner --orders--> Dispatcher +-- WardenLink === warden: starts and ends every process
      (local)  <--reports-- (dispatch) +-- Workers ====== worker: runs Python calls
                                         (workers)

`===` is a socket pair to a child program (`wire`; to a worker, `packets`). The child programs
import nothing but the standard library, so they start quickly and depend on nothing that can break.
"""
