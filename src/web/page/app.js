"use strict";
// The code of the link must not stay in the address: it could be copied or shown.
if (location.hash) history.replaceState(null, "", location.pathname);
