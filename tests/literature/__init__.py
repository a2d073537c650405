"""Published mechanisms and bounds that no part of adyton uses: what is ours is compared with them."""
