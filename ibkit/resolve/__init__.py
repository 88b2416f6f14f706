"""Address or name -> GID -> P_Key -> path, from every source that knows it, compared; and the cache of the answers."""
