// What several tests need: servers of their own, and other processes.

import { spawn, spawnSync } from 'node:child_process';
import { createServer, connect } from 'node:net';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis));

/** The program of the servers. `LEASEHOLD_SERVER` names it, if it is not on the path. */
const serverProgram = [process.env.LEASEHOLD_SERVER, 'redis-server', 'valkey-server'].find(
  (name) => name && spawnSync(name, ['--version']).error === undefined,
);

/** Whether there are servers, or why not: for `{ skip }`. */
export const noServers = serverProgram ? false : 'no redis-server on this machine';

async function freePort() {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address();
  listener.close();
  await once(listener, 'close');
  return port;
}

/** A server of this test's own. */
export class Server {
  static async start() {
    const server = new Server();
    server.port = await freePort();
    await server.begin();
    return server;
  }

  get url() {
    return `redis://127.0.0.1:${this.port}`;
  }

  async begin() {
    const words = ['--port', this.port, '--save', '', '--appendonly', 'no', '--bind', '127.0.0.1'];
    this.child = spawn(serverProgram, words.map(String), { stdio: 'ignore' });
    for (let tries = 0; tries < 200; tries += 1) {
      try {
        await this.command('PING');
        return;
      } catch {
        await sleep(25);
      }
    }
    throw new Error('the server does not start');
  }

  async end(signal = 'SIGKILL') {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = once(this.child, 'exit');
    this.child.kill(signal);
    await gone;
  }

  /** One command, by hand. Answers the line, or throws the error's text. */
  async command(...words) {
    const socket = connect(this.port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      const parts = words.map((word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`);
      socket.write(`*${parts.length}\r\n${parts.join('')}`);
      const [answer] = await once(socket, 'data');
      const text = answer.toString().trimEnd();
      if (text.startsWith('-')) throw new Error(text.slice(1));
      return text.startsWith('$') ? text.split('\r\n')[1] : text.slice(1);
    } finally {
      socket.destroy();
    }
  }
}

/** So many servers that vote at once, for as long as a test lasts. */
export async function servers(t, count, LockManager) {
  const all = await Promise.all(Array.from({ length: count }, () => Server.start()));
  t.after(() => Promise.all(all.map((server) => server.end())));
  const nodes = all.map((server) => server.url);
  const manager = new LockManager({ nodes });
  await manager.operator().admit();
  await manager.close();
  return { all, nodes };
}

/** A folder that is gone after the test. */
export function folder(t) {
  const path = mkdtempSync(join(tmpdir(), 'leasehold-node-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Runs JavaScript in a process of its own. Lines that it prints come one by one. */
export function program(t, source, ...args) {
  const here = fileURLToPath(new URL('.', import.meta.url));
  const child = spawn(process.execPath, ['--input-type=module', '-e', source, '--', ...args], {
    cwd: here,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit').then(([code, signal]) => ({ code, signal }));
  const lines = [];
  let waiting;
  let rest = '';
  child.stdout.on('data', (data) => {
    const parts = (rest + data).split('\n');
    rest = parts.pop();
    lines.push(...parts);
    waiting?.();
  });
  const line = async () => {
    while (lines.length === 0) {
      const isOver = await Promise.race([
        new Promise((resolve) => {
          waiting = () => resolve(false);
        }),
        ended.then(() => true),
      ]);
      if (isOver && lines.length === 0) throw new Error('the program ended without a word');
    }
    return lines.shift();
  };
  return { child, ended, line };
}
