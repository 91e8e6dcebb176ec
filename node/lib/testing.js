'use strict';
// A world for tests: nodes that can be broken, and a time that passes when it is told to.

const { core, native: addon, turn } = require('./core.js');
const { checked, config } = require('./errors.js');
const { LockManager, start } = require('./manager.js');
const { millis, name, whole } = require('./options.js');

class World {
  #world;
  #count;

  constructor(nodes = 3) {
    this.#count = whole('nodes', nodes);
    this.#world = checked(() => new addon.NativeWorld(this.#count));
  }

  manager(options = {}) {
    for (const nodes of ['nodes', 'memory', 'file']) {
      if (options[nodes] !== undefined) throw config(`a manager of a world has its nodes, and no option ${nodes}`);
    }
    const begin = (wanted, number) => this.#world.manager(core, wanted, number);
    return new LockManager({ ...options, [start]: begin });
  }

  node(number) {
    if (!(Number.isInteger(number) && number >= 0 && number < this.#count)) {
      throw config(`this world has the nodes 0 to ${this.#count - 1}, and not ${number}`);
    }
    return new WorldNode(this.#world, number);
  }

  async settle() {
    // What the test's own promises do may ask the nodes again.
    for (let round = 0; round < 3; round += 1) {
      await breath();
      checked(() => this.#world.settle());
    }
    await breath();
  }

  async advance(by) {
    millis('by', by);
    await this.settle();
    checked(() => this.#world.advance(by));
    await this.settle();
  }

  async lose(of) {
    await this.settle();
    checked(() => this.#world.lose(name(of)));
    await this.settle();
  }

  holder(of) {
    return checked(() => this.#world.holder(name(of))) ?? undefined;
  }

  permits(of) {
    const slots = Object.entries(checked(() => this.#world.permits(name(of))));
    return new Map(slots.map(([slot, owner]) => [Number(slot), owner]));
  }

  readers(of) {
    return checked(() => this.#world.readers(name(of)));
  }

  async untilHeld(of, { patience = 5_000 } = {}) {
    const end = performance.now() + patience;
    for (;;) {
      await this.settle();
      const owner = this.holder(of);
      if (owner !== undefined) return owner;
      if (performance.now() > end) {
        throw config(`this test waits for somebody to hold the lock ${JSON.stringify(of)}, and nobody does`);
      }
    }
  }

  giveUpAfter(patience) {
    this.#world.giveUpAfter(millis('patience', patience));
  }
}

/** Lets everything go on that waits for the event loop. */
async function breath() {
  turn();
  await new Promise(setImmediate);
  turn();
}

class WorldNode {
  #does;

  constructor(world, number) {
    this.#does = (...what) => checked(() => world.node(number, ...what));
  }

  down(reason = 'no route') {
    this.#does('down', String(reason));
  }

  up() {
    this.#does('up');
  }

  hang() {
    this.#does('hang');
  }

  resume() {
    this.#does('resume');
  }

  answerAfter(delay) {
    this.#does('answer-after', undefined, millis('delay', delay));
  }

  loseKey(of) {
    this.#does('lose-key', name(of));
  }

  loseEverything() {
    this.#does('lose-everything');
  }

  setClockForward(by) {
    this.#does('set-clock-forward', undefined, millis('by', by));
  }
}

module.exports = { World, WorldNode };
