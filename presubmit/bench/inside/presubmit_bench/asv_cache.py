"""What asv's `setup_cache` gives: made once, kept as a pickle, and a copy of it for every benchmark."""

import hashlib
import os
import pickle


class Caches:
    """The folders in which benchmarks run; asv gives them one without the checkout's files."""

    def __init__(self, scratch):
        self._scratch = scratch
        self._place = os.path.join(scratch, "empty")

    def enter(self, found, driver):
        """Go to the folder of a benchmark, with what its `setup_cache` left there, and hand it the cache."""
        if found.setup_cache_key is None:
            os.makedirs(self._place, exist_ok=True)
            os.chdir(self._place)
            return
        key = hashlib.sha256(found.setup_cache_key.encode("utf-8")).hexdigest()[:16]
        folder = os.path.join(self._scratch, "cache-" + key)
        os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
        kept = os.path.join(folder, "cache.pickle")
        # A traced benchmark must be seen to run what made its cache, whoever else needed it before.
        if driver.mode == "trace" or not os.path.exists(kept):
            if found.setup_cache_timeout is not None:
                driver.limit(found.setup_cache_timeout)
            made = found.do_setup_cache()
            with open(kept + ".new", "wb") as stream:
                pickle.dump(made, stream)
            os.replace(kept + ".new", kept)
            driver.limit(found.timeout)
        with open(kept, "rb") as stream:
            cache = pickle.load(stream)  # noqa: S301 - written above, by the suite's own code
        if hasattr(found, "set_cache"):
            found.set_cache(cache)
        elif cache is not None:
            found.insert_param(cache)  # asv_runner before 0.3
