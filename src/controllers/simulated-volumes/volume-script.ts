/** What simulated volumes do, as the parameters of their class say. */

import { lengthOfTimeMs } from '#base/duration.ts'

export type SimulatedCall = 'provision' | 'delete' | 'attach' | 'detach' | 'expand' | 'modify'

/**
 * - `ok`: it is done.
 * - `fail`: nothing is done.
 * - `infeasible`: nothing is done, and never will be.
 * - `elsewhere`: nothing is done; another node may have room.
 * - `lost`: it is done, but the answer does not come.
 */
export type Outcome = (typeof outcomes)[number]
const outcomes = ['ok', 'fail', 'infeasible', 'elsewhere', 'lost'] as const

export type VolumeScript = {
  /** How long the call takes. */
  timeMs(call: SimulatedCall): number
  /** How the attempt ends; what was said last stays. */
  outcome(call: SimulatedCall, attempt: number): Outcome
  readonly expandsOnNode: boolean
  readonly isOnOneNode: boolean
}

const calls: readonly string[] = ['provision', 'delete', 'attach', 'detach', 'expand', 'modify'] satisfies SimulatedCall[]
const others = ['expand-on-node', 'on-one-node']

/** `attach-time: 2s` and `attach: fail,lost,ok`, for every call; throws at words that mean nothing. */
export function volumeScriptOf(parameters: Readonly<Record<string, string>>): VolumeScript {
  for (const name of Object.keys(parameters)) {
    if (!calls.includes(name.replace(/-time$/, '')) && !others.includes(name)) {
      throw new Error(`the parameter ${name} means nothing to simulated volumes: they know ${known.join(', ')}`)
    }
  }
  const times = new Map(calls.map((call) => [call, timeOf(`${call}-time`, parameters[`${call}-time`])]))
  const ends = new Map(calls.map((call) => [call, outcomesOf(call, parameters[call])]))
  return {
    timeMs: (call) => times.get(call) ?? 0,
    outcome(call, attempt) {
      const list = ends.get(call) ?? []
      return list[Math.min(attempt, list.length - 1)] ?? 'ok'
    },
    expandsOnNode: parameters['expand-on-node'] === 'true',
    isOnOneNode: parameters['on-one-node'] === 'true',
  }
}

const known = [...calls, ...calls.map((call) => `${call}-time`), ...others]

function timeOf(name: string, text: string | undefined): number {
  const ms = text === undefined ? 0 : lengthOfTimeMs(text)
  if (ms === undefined) throw new Error(`the parameter ${name}: ${text} is not a valid length of time such as 500ms, 30s or 1m30s`)
  return ms
}

function outcomesOf(name: string, text: string | undefined): Outcome[] {
  return (text ?? 'ok').split(',').map((word) => {
    const outcome = outcomes.find((each) => each === word.trim())
    if (outcome === undefined) throw new Error(`the parameter ${name}: ${word} is none of ${outcomes.join(', ')}`)
    return outcome
  })
}
