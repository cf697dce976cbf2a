/** What plugins find out about a machine, in the configuration format of node-problem-detector's custom plugins. */
import { parseDurationMs } from '#base/duration.ts'

export type ProblemRule = {
  /** Once a time: an event. Lasting: a condition of the node. */
  kind: 'temporary' | 'permanent'
  /** The condition's type; of lasting problems. */
  condition?: string
  reason: string
  path: string
  args: readonly string[]
  timeoutMs: number
}

export type ProblemConfiguration = {
  source: string
  everyMs: number
  concurrency: number
  maxOutputLength: number
  /** A message that changes is told, though the status does not change. */
  tellsNewMessages: boolean
  skipsFirst: boolean
  /** What is said while all is well. */
  conditions: readonly { type: string; reason: string; message: string }[]
  rules: readonly ProblemRule[]
}

type File = {
  plugin?: string
  source?: string
  pluginConfig?: {
    invoke_interval?: string
    timeout?: string
    max_output_length?: number
    concurrency?: number
    enable_message_change_based_condition_update?: boolean
    skip_initial_status?: boolean
  }
  conditions?: { type?: string; reason?: string; message?: string }[]
  rules?: { type?: string; condition?: string; reason?: string; path?: string; args?: string[]; timeout?: string }[]
}

/** Throws with what is wrong, and in which file. */
export function readProblemConfiguration(text: string, file: string): ProblemConfiguration {
  const fail = (what: string): never => {
    throw new Error(`${file}: ${what}`)
  }
  let given: File
  try {
    given = JSON.parse(text) as File
  } catch {
    return fail('it is not JSON')
  }
  const { plugin, source = '', pluginConfig = {}, conditions = [], rules = [] } = given
  if (plugin !== 'custom') fail(`plugin must be custom, not ${plugin}`)
  if (source === '') fail('source must be given')
  const durationMs = (value: string | undefined, usual: string, field: string): number => {
    try {
      return parseDurationMs(value ?? usual)
    } catch {
      return fail(`${field}: ${value} is not a valid duration`)
    }
  }
  const timeoutMs = durationMs(pluginConfig.timeout, '5s', 'pluginConfig.timeout')
  const known = conditions.map(({ type = '', reason = '', message = '' }) => ({ type, reason, message }))
  if (known.some(({ type }) => type === '')) fail('every condition must have a type')
  const read = rules.map((rule): ProblemRule => {
    const { type: kind, condition, reason = '', path = '', args = [], timeout } = rule
    if (kind !== 'temporary' && kind !== 'permanent') return fail(`the type of a rule must be temporary or permanent, not ${kind}`)
    if (reason === '' || path === '') fail('every rule must have a reason and a path')
    const own = timeout === undefined ? timeoutMs : durationMs(timeout, '', 'timeout')
    if (own > timeoutMs) fail(`rule ${reason}: its timeout is longer than that of all plugins`)
    if (kind === 'permanent' && !known.some(({ type }) => type === condition)) {
      fail(`rule ${reason}: there is no condition ${condition}; name it in conditions as well`)
    }
    return { kind, reason, path, args, timeoutMs: own, ...(kind === 'permanent' && condition !== undefined ? { condition } : {}) }
  })
  return {
    ...{ source, conditions: known, rules: read },
    everyMs: durationMs(pluginConfig.invoke_interval, '30s', 'pluginConfig.invoke_interval'),
    concurrency: Math.max(1, pluginConfig.concurrency ?? 3),
    maxOutputLength: pluginConfig.max_output_length ?? 80,
    tellsNewMessages: pluginConfig.enable_message_change_based_condition_update ?? false,
    skipsFirst: pluginConfig.skip_initial_status ?? false,
  }
}
