/* The only script.  Every page works without it. */
"use strict";
document.documentElement.classList.add("js");
