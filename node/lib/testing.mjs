import testing from './testing.js';

export const { World, WorldNode } = testing;
