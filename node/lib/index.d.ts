/// <reference lib="esnext.disposable" />
/// <reference types="node" />

export * from './types/errors';
export * from './types/events';
export * from './types/lease';
export * from './types/manager';
export * from './types/operator';
export * from './types/options';
