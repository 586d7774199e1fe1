// Logs in with the token of the printed link. A browser sends the part after # to no server.
"use strict";
const secret = decodeURIComponent(location.hash.slice(1));
if (secret) {
  history.replaceState(null, "", "/login"); // so that it stays out of the history
  document.getElementById("token").value = secret;
  document.querySelector("form.login").submit();
}
