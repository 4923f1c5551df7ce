// Obeys the commands of doc.go with node-redlock, of several servers by its quorum: driver.js PACKAGE URL...
const { once } = require("events");
const fs = require("fs");
const readline = require("readline");
const Redis = require("ioredis");

const [, , name, ...urls] = process.argv;
const library = require(name);
const Redlock = library.default || library;
const version = JSON.parse(fs.readFileSync(`${__dirname}/node_modules/${name}/package.json`)).version;
// A server that is gone refuses at once, as one of a quorum should.
const clients = urls.map((url) => new Redis(url, { maxRetriesPerRequest: 0, enableOfflineQueue: false }));
const retryDelay = 200; // its default; with its jitter, which is one too, on average
const redlock = new Redlock(clients, { retryCount: 0, retryDelay });
redlock.on("error", () => {}).on("clientError", () => {}); // of every question in vain
const held = {};
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Version 5 keeps what it got of a quorum while it tries again, so it does for no longer than by default.
async function take(key, lease, wait) {
  for (const end = Date.now() + wait; wait >= 0; wait = end - Date.now() - 1) {
    const retryCount = Math.min(Math.ceil(wait / retryDelay), 10);
    try {
      return await (redlock.acquireWithOptions // version 4
        ? redlock.acquireWithOptions(key, lease, { retryCount })
        : redlock.acquire([key], lease, { retryCount }));
    } catch (error) {
      if (!["ExecutionError", "LockError"].includes(error.name)) throw error; // others have it
    }
  }
  return null;
}

const release = (lock) => (lock.release || lock.unlock).call(lock);

const verbs = {
  async lock(key, lease, wait) {
    const lock = await take(key, +lease, +wait);
    if (lock) held[key] = { lock, lease: +lease };
    return String(lock !== null);
  },
  async extend(key) {
    held[key].lock = await held[key].lock.extend(held[key].lease);
  },
  async unlock(key) {
    const { lock } = held[key];
    delete held[key];
    await release(lock);
  },
  async contend(key, callers, lasts, inside, lease) {
    const end = Date.now() + +lasts;
    let [sections, violations, maxWaitMs] = [0, 0, 0];
    async function call() {
      for (let began; (began = Date.now()) < end; sections++) {
        let lock = await take(key, +lease, end - began);
        maxWaitMs = Math.max(maxWaitMs, Date.now() - began);
        if (!lock) return;
        if ((await clients[0].incr("inside:" + key)) !== 1) violations++;
        await sleep(+inside);
        lock = await lock.extend(+lease);
        await clients[0].decr("inside:" + key);
        await release(lock);
      }
    }
    await Promise.all(Array.from({ length: +callers }, call));
    return `sections=${sections} violations=${violations} maxWaitMs=${maxWaitMs}`;
  },
};

async function obey(line) {
  const [number, verb, ...words] = line.split(" ");
  let answer;
  try {
    answer = `ok ${(await verbs[verb](...words)) || ""}`.trim();
  } catch (error) {
    answer = `err ${error.name} ${error.message}`.replace(/\n/g, " ");
  }
  console.log(number, answer);
}

for (const client of clients) client.on("error", () => {}); // what it says of a server that is gone
Promise.all(clients.map((client) => once(client, "ready"))).then(() => {
  console.log(`ready node-redlock ${version}, ioredis ${require("ioredis/package.json").version}, Node ${process.version}`);
  readline
    .createInterface({ input: process.stdin })
    .on("line", obey)
    .on("close", () => process.exit());
});
