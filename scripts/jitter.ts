/**
 * Loaded before tests (`JITTER=SEED npm test`): files, timers and compression answer late by chance, and the program stands still
 * now and then, as on a busy machine. A test, or a part of the product, that relies on an order nobody promised fails here first.
 */

import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { setTimeout as wait } from 'node:timers/promises'
import zlib from 'node:zlib'

const seed = Number(process.env['JITTER'] ?? 1)
let state = (seed * 2_654_435_761 + process.pid) >>> 0

/** Mulberry32: short, and good enough to shuffle answers. */
function random(): number {
  state = (state + 0x6d2b79f5) >>> 0
  let mixed = Math.imul(state ^ (state >>> 15), state | 1)
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}

/** Mostly none, often a few milliseconds, seldom many. */
function lateMs(): number {
  const chance = random()
  if (chance < 0.5) return 0
  return chance < 0.97 ? random() * 5 : random() * 40
}

type AnyFunction = (...args: unknown[]) => unknown

function delayPromises(target: object): void {
  for (const name of Reflect.ownKeys(target)) {
    const descriptor = Object.getOwnPropertyDescriptor(target, name)
    const original: unknown = descriptor?.value
    if (typeof original !== 'function' || name === 'constructor' || !descriptor?.writable) continue
    const call = original as AnyFunction
    const late = function (this: unknown, ...args: unknown[]): unknown {
      const result = call.apply(this, args)
      return result instanceof Promise ? delayed(result) : result
    }
    Object.defineProperty(target, name, { ...descriptor, value: late })
  }
}

async function delayed(result: Promise<unknown>): Promise<unknown> {
  const before = lateMs()
  try {
    return await result
  } finally {
    if (before > 0) await wait(before)
  }
}

function delayCallback(target: Record<string, unknown>, name: string): void {
  const original = target[name] as AnyFunction
  target[name] = function (this: unknown, ...args: unknown[]): unknown {
    const callback = args.at(-1)
    if (typeof callback !== 'function') return original.apply(this, args)
    const late = (...results: unknown[]) => void setTimeout(() => callback(...results), lateMs())
    return original.apply(this, [...args.slice(0, -1), late])
  }
}

/** What is longer is taken for 1 ms. */
const longestDelayMs = 2 ** 31 - 1
const plainTimeout = globalThis.setTimeout
const slower = ((callback: AnyFunction, ms = 0, ...args: unknown[]) =>
  plainTimeout(callback, Math.min(ms + (random() < 0.3 ? random() * 10 : 0), longestDelayMs), ...args)) as unknown as typeof setTimeout
Object.defineProperties(slower, Object.getOwnPropertyDescriptors(plainTimeout))

delayPromises(fs.promises)
const probe = await fs.promises.open(import.meta.filename, 'r')
const handle: unknown = Object.getPrototypeOf(probe)
await probe.close()
if (typeof handle === 'object' && handle !== null) delayPromises(handle)
for (const name of ['gzip', 'gunzip', 'deflate', 'inflate', 'brotliCompress', 'zstdCompress', 'zstdDecompress'])
  if (name in zlib) delayCallback(zlib as unknown as Record<string, unknown>, name)
globalThis.setTimeout = slower
syncBuiltinESMExports()

function standStill(): void {
  const until = performance.now() + random() ** 3 * 40
  while (performance.now() < until);
  plainTimeout(standStill, 20 + random() * 300).unref()
}
plainTimeout(standStill, random() * 100).unref()
