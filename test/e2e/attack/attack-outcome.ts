import { send, type Target } from './attack-run.ts'

export type AttackOutcome = { requests: number; slowestMs: number; answered: number }

/** `scale` 1 is the whole of it; a sample is less, in number or in time. */
export type WholeAttack = (target: Target, scale: number) => Promise<AttackOutcome>

export const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** How long what has no number of its own goes on. */
export const durationMs = 10_000

/** One at least. */
export const scaled = (count: number, scale: number): number => Math.max(1, Math.round(count * scale))

export type Request = [method: string, path: string, body: string | Buffer, contentType?: string, headers?: Record<string, string>]

/** Sends one after another, and keeps the worst of each. */
export async function oneAfterAnother(target: Target, requests: Iterable<Request>): Promise<AttackOutcome> {
  const outcome = { requests: 0, slowestMs: 0, answered: 0 }
  for (const [method, path, body, contentType, headers] of requests) {
    const startedMs = performance.now()
    const { status, bytes, text } = await send(target, method, path, body, contentType, headers)
    if (status >= 500) throw new Error(`${method} ${path}: ${status} ${text.slice(0, 300)}`)
    outcome.requests++
    outcome.slowestMs = Math.max(outcome.slowestMs, performance.now() - startedMs)
    outcome.answered = Math.max(outcome.answered, bytes)
  }
  return outcome
}

/** Again and again for as long as other attacks go on, once at least. */
export async function repeatedly(scale: number, attack: () => Promise<AttackOutcome>): Promise<AttackOutcome> {
  const endMs = performance.now() + durationMs * scale
  const worst = { requests: 0, slowestMs: 0, answered: 0 }
  do {
    const { requests, slowestMs, answered } = await attack()
    worst.requests += requests
    worst.slowestMs = Math.max(worst.slowestMs, slowestMs)
    worst.answered = Math.max(worst.answered, answered)
  } while (performance.now() < endMs)
  return worst
}
