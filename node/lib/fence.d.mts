export * from './fence.js';
