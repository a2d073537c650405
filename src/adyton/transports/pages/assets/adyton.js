/* The only script.  Every page works without it. */
"use strict";
document.documentElement.classList.add("js");
const byId = id => document.getElementById(id);

/* A part of a page, made by the server from the same templates, in the place of what was there. */
function put(place, html) {
  place.replaceChildren(...new DOMParser().parseFromString(html, "text/html").body.childNodes);
}

/* A table that is wider than its place says so.  It scrolls, and shows a shade, without this too. */
function watchWidths(place) {
  place.querySelectorAll(".scroll").forEach(box => {
    const hint = document.createElement("p");
    hint.className = "hint";
    hint.hidden = true;
    hint.ariaHidden = "true";  // what reads aloud moves by cells
    hint.textContent = "Wider than the screen: scroll the table sideways.";
    box.before(hint);
    new ResizeObserver(() => {
      const wider = box.scrollWidth > box.clientWidth + 1;
      box.classList.toggle("wider", wider);
      hint.hidden = !wider;
    }).observe(box);
  });
}
watchWidths(document);

function said(place, kind, ...lines) {
  place.replaceChildren(...lines.map((line, i) => {
    const p = document.createElement("p");
    p.className = i ? "hint" : kind;
    p.textContent = line;
    return p;
  }));
}

/* Ask: a preview while you type.  Only the newest request counts. */
const form = byId("ask");
if (form) {
  const place = byId("preview"), sql = byId("sql"), within = byId("within"), builder = byId("builder");
  const newest = {}, timers = {};

  const send = async what => {
    const mine = newest[what] = (newest[what] || 0) + 1, body = new FormData(form);
    body.set("do", what);
    try {
      const reply = await fetch(form.action, {
        method: "POST", body: new URLSearchParams(body), headers: {"X-Adyton-Part": "1"}, redirect: "manual",
      });
      if (mine !== newest[what]) return;
      if (reply.type === "opaqueredirect") {
        said(place, "problem", "Your session has ended: what you typed stays here. Log in again in another tab.");
        return;
      }
      const text = await reply.text();
      if (mine !== newest[what]) return;
      if ((reply.headers.get("content-type") || "").startsWith("text/plain")) {
        sql.value = text;
        later();
        return;
      }
      put(place, text);
      watchWidths(place);
      form.querySelectorAll("[role=alert]").forEach(old => place.contains(old) || old.remove());
      form.querySelectorAll("[aria-invalid]").forEach(one => one.removeAttribute("aria-invalid"));
    } catch {
      if (mine === newest[what]) said(place, "problem", "The server does not answer.");
    }
  };
  const soon = (what, wanted) => {
    clearTimeout(timers[what]);
    timers[what] = setTimeout(() => wanted() && send(what), 300);
  };
  const later = () => soon("preview", () => sql.value.trim());
  form.addEventListener("input", event => {
    if (builder.contains(event.target)) soon("write", () => true);
    else if (event.target.id !== "finer") later();
  });

  /* The slider multiplies the accuracy: ten steps are a factor of ten. */
  const finer = byId("finer");
  let start = null;
  finer.addEventListener("input", () => {
    if (start === null) start = parseFloat(within.value) || 100;
    within.value = String(Number((start * 10 ** (-finer.value / 10)).toPrecision(3)));
    byId("epsilon").value = "";
    later();
  });
  within.addEventListener("input", () => { start = null; finer.value = 0; });

  /* Two clicks are one charge in any case; this only says that the first was seen. */
  form.addEventListener("submit", event => {
    if (!event.submitter || event.submitter.value !== "ask") return;
    setTimeout(() => { event.submitter.disabled = true; }, 0);
  });
  addEventListener("pageshow", () => form.querySelectorAll("button").forEach(one => { one.disabled = false; }));
}

/* Copy: the clipboard where the browser has one for us, else a selection to press Ctrl-C on. */
document.addEventListener("click", async event => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const from = byId(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(from.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(from);
    button.textContent = "Selected: press Ctrl-C";
  }
});

/* Verify: every digest and every total again, from what the server shows of the chain.
   Digests are SHA-256 of JSON as Python writes it: ASCII, ", " between the parts. */
const quoted = text => text === null ? "null" : JSON.stringify(text).replace(/[\u007f-\uffff]/g,
  c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));

function units(text) {  // decimal text in units of 10^-18, as a whole number
  if (text === null) return null;
  const found = /^(\d+)(?:\.(\d{1,18}))?$/.exec(text);
  if (!found) throw new Error(`${text} is not an amount`);
  return BigInt(found[1] + (found[2] || "").padEnd(18, "0"));
}

async function digest(kind, parts) {
  const text = `["adyton", 1, "${kind}", ${parts.map(String).join(", ")}]`;  // join alone would write null as nothing
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return Array.from(bytes, b => b.toString(16).padStart(2, "0")).join("");
}

const AMOUNTS = ["amount", "radius", "pure", "final_radius", "final_level", "spent", "spent_radius", "spent_pure"];
const OPEN = [...AMOUNTS, "number", "unproved", "asked_at", "previous", "sealed", "digest"];

const written = facts => quoted(JSON.stringify(facts));  // in the order in which they came

const linkDigest = (link, a) => digest("receipt", [link.number, a.amount, a.radius, a.pure, link.unproved,
  written(link.validity), a.final_radius, a.final_level, a.spent, a.spent_radius, a.spent_pure,
  quoted(link.asked_at), quoted(link.previous), quoted(link.sealed)]);

const sealedDigest = own => digest("sealed", [quoted(own.secret), quoted(own.by), units(own.spent_by),
  units(own.budget_share), written(own.subject), quoted(own.query), quoted(own.detail), quoted(own.request)]);

/* What is wrong with a link after the last one; nothing if it follows. */
function wrong(link, a, last, header) {
  const whole = [link.number, link.unproved].every(n => Number.isSafeInteger(n) && n >= 0);
  if (!whole || link.number < 1 || a.amount < 1n) return "its numbers are not those of a charge";
  if (a.spent > header.budget) return "its total is beyond the budget";
  const before = last ? last.a : {spent: 0n, spent_radius: 0n, spent_pure: 0n, radius: 0n};
  if (last && link.number <= last.link.number) return "its number does not come after the last one";
  if (link.previous !== (last ? last.link.digest : header.digest)) return "it does not name the digest before it";
  if (a.final_radius > before.radius) return "its final radius is more than was charged";
  if (a.final_radius === before.radius && a.final_level !== 0n) return "its final radius is all that was charged, which holds for sure";
  const gaussian = link.validity.gaussian.reduce((sum, [, radius]) => sum + units(radius), 0n);
  if (gaussian > a.radius) return "its Gaussian numbers have a larger radius than the charge";
  if (a.spent !== before.spent + a.amount) return "its total is not the sum of what was charged";
  if (a.spent_radius !== before.spent_radius - before.radius + a.final_radius + a.radius) return "its total for validity is wrong";
  if (a.spent_pure !== before.spent_pure + a.pure) return "its total for validity is wrong";
  const more = link.unproved - (last ? last.link.unproved : 0);
  return more === 0 || more === 1 ? "" : "it counts wrongly what no theorem covers";
}

class Chain {
  last = null; count = 0; own = 0; found = null; names = new Map();

  constructor(head) { this.head = head; }

  async begin(page) {
    const h = page.header;
    this.header = {digest: h.digest, budget: units(h.budget), study: h.study};
    const due = await digest("header", [quoted(h.study), quoted(page.accounting), this.header.budget, quoted(h.salt)]);
    if (due !== h.digest) throw new Error("the first link has another digest than its facts");
    if (this.head === due) this.found = 0;
  }

  async add(page) {
    if (page.header.digest !== this.header.digest) throw new Error("the first link has changed meanwhile");
    const own = new Map(page.receipts.map(one => [one.number, one]));
    const amounts = page.links.map(link => Object.fromEntries(AMOUNTS.map(name => [name, units(link[name])])));
    const digests = await Promise.all(page.links.map((link, i) => linkDigest(link, amounts[i])));
    const sealed = new Map(await Promise.all(page.receipts.map(async one => [one.number, await sealedDigest(one)])));
    page.links.forEach((link, i) => {
      const fault = wrong(link, amounts[i], this.last, this.header)
        || (digests[i] !== link.digest && "its digest is not that of what it says")
        || (own.has(link.number) && this.wrongOwn(link, own.get(link.number), sealed.get(link.number), amounts[i]));
      if (fault) throw new Error(`receipt ${link.number}: ${fault}`);
      own.delete(link.number);
      this.last = {link, a: amounts[i]};
      this.count++;
      if (link.digest === this.head) this.found = link.number;
    });
    if (own.size) throw new Error(`receipt ${Math.min(...own.keys())} is not in the chain`);
  }

  wrongOwn(link, whole, sealed, a) {
    if (OPEN.some(name => whole[name] !== link[name]) || written(whole.validity) !== written(link.validity)) return "it is not the one in the chain";
    if (sealed !== link.sealed) return "its name or query is not what was sealed";
    const spent = (this.names.get(whole.by) || 0n) + a.amount;
    this.names.set(whole.by, spent);
    this.own++;
    if (units(whole.spent_by) !== spent) return "the total of its name is wrong";
    return whole.budget_share !== null && spent > units(whole.budget_share) ? "its name is beyond its budget share" : "";
  }
}

async function verify(address, head, tell) {
  const chain = new Chain(head);
  for (let after = 0; after !== null;) {
    const reply = await fetch(`${address}?after=${after}`, {redirect: "manual"});
    if (!reply.ok) throw new Error("the server does not show the chain: log in again");
    const page = await reply.json();
    if (!chain.header) await chain.begin(page);
    await chain.add(page);
    tell(chain.count);
    after = page.next;
  }
  return chain;
}

const checking = byId("verify");
if (checking) {
  const place = byId("verified"), button = byId("verify-here");
  const start = async () => {
    const head = byId("head").value.trim().toLowerCase();
    if (!globalThis.crypto || !crypto.subtle) {
      said(place, "problem", "This browser computes SHA-256 only on pages that came by https, or from this machine. "
        + "Open this page by https, or verify with adyton on your own machine.");
      return;
    }
    if (head && !/^[0-9a-f]{64}$/.test(head)) {
      said(place, "problem", "A digest has 64 hexadecimal digits.");
      return;
    }
    button.disabled = true;
    try {
      const chain = await verify(checking.dataset.chain, head, n => said(place, "note", `Checked ${n} receipts…`));
      if (head && chain.found === null) throw new Error("the digest that you gave is not in this chain: it was rolled back or exchanged");
      const newest = chain.last ? chain.last.link.digest : chain.header.digest;
      said(place, "good",
        `Verified in this browser: ${chain.count} receipts follow from each other.`,
        `Checked: the digest of each link and of the first one, that each names the one before it, every total for privacy and validity, the budget; of ${chain.own} receipts that you may read also name, query and the total of the name.`,
        head ? `The digest that you gave is that of ${chain.found ? "receipt " + chain.found : "the first link"}.`
          : "No digest was given to compare with: a server that wrote the whole chain anew would not be noticed.",
        `Newest digest, to keep elsewhere: ${newest}`,
        "Not checked, because it cannot be from here: that answers were computed from the right rows with the right noise, the final validity costs of stored answers, queries of others, and that others are shown the same chain: compare digests with them.");
    } catch (fault) {
      said(place, "problem", `NOT verified: ${fault.message}.`);
    }
    button.disabled = false;
  };
  button.addEventListener("click", start);
  byId("head").addEventListener("keydown", event => {
    if (event.key === "Enter") { event.preventDefault(); start(); }
  });
}
