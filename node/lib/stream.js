'use strict';
// What tells one thing after the other, for `for await`.

const { giveUp, outcome } = require('./core.js');

/** An asynchronous iterator. It keeps the process alive while the next is awaited. */
function stream(native, shape) {
  let id;
  let isClosed = false;
  const close = () => {
    isClosed = true;
    if (id !== undefined) giveUp(id);
    native.close();
  };
  const iterator = {
    async next() {
      if (isClosed) return { done: true, value: undefined };
      id = native.next();
      const value = await outcome(id);
      id = undefined;
      if (value === undefined) {
        close();
        return { done: true, value };
      }
      return { done: false, value: shape(value) };
    },
    async return(value) {
      close();
      return { done: true, value };
    },
    async [Symbol.asyncDispose]() {
      close();
    },
    [Symbol.asyncIterator]() {
      return iterator;
    },
  };
  return iterator;
}

module.exports = { stream };
