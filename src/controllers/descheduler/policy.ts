/** `DeschedulerPolicy` of descheduler/v1alpha2, read and checked. */

import { jsYaml } from '#api/codec/js-yaml.ts'
import { errorMessage } from '#base/error-message.ts'
import { type DefaultEvictorArgs, defaultEvictorProblems } from '#controllers/descheduler/default-evictor.ts'
import type { DeschedulerPlugin } from '#controllers/descheduler/plugin.ts'
import { deschedulerPlugins } from '#controllers/descheduler/plugins.ts'

export type DeschedulerPolicy = {
  nodeSelector?: string
  maxNoOfPodsToEvictPerNode?: number
  maxNoOfPodsToEvictPerNamespace?: number
  maxNoOfPodsToEvictTotal?: number
  evictionFailureEventNotification?: boolean
  gracePeriodSeconds?: number
  /** By its other name: the metrics server is asked. */
  metricsCollector?: { enabled?: boolean }
  metricsProviders?: readonly { source?: string }[]
  profiles: readonly DeschedulerProfile[]
}

export type DeschedulerProfile = {
  name: string
  evictor: DefaultEvictorArgs
  /** In the order they run. */
  deschedule: readonly ConfiguredPlugin[]
  balance: readonly ConfiguredPlugin[]
}

export type ConfiguredPlugin = { plugin: DeschedulerPlugin; args: never }

type RawProfile = {
  name?: string
  pluginConfig?: readonly { name?: string; args?: Record<string, unknown> }[]
  plugins?: Readonly<Record<string, { enabled?: readonly string[] }>>
}

const evictorName = 'DefaultEvictor'
const points = ['deschedule', 'balance'] as const

/** Throws with everything that is wrong. */
export function parsePolicy(text: string, source = 'policy'): DeschedulerPolicy {
  let raw: (Partial<DeschedulerPolicy> & { apiVersion?: string; kind?: string }) | null
  try {
    raw = jsYaml().load(text) as typeof raw
  } catch (error) {
    throw new Error(`failed decoding descheduler's policy config "${source}": ${errorMessage(error).split('\n')[0]}`)
  }
  if (raw === null || typeof raw !== 'object' || raw.kind !== 'DeschedulerPolicy' || raw.apiVersion !== 'descheduler/v1alpha2') {
    const found = `${raw?.apiVersion ?? ''}, Kind=${raw?.kind ?? ''}`
    throw new Error(
      `failed decoding descheduler's policy config "${source}": expected descheduler/v1alpha2, Kind=DeschedulerPolicy, found ${found}`,
    )
  }
  const problems: string[] = []
  const profiles = ((raw.profiles ?? []) as readonly RawProfile[]).map((profile) => readProfile(profile, problems))
  if (problems.length > 0) throw new Error(problems.length === 1 ? (problems[0] ?? '') : `[${problems.join(', ')}]`)
  return { ...raw, profiles }
}

function readProfile({ name = '', pluginConfig = [], plugins = {} }: RawProfile, problems: string[]): DeschedulerProfile {
  const known = new Map(deschedulerPlugins.map((plugin) => [plugin.name, plugin]))
  const configured = new Map(pluginConfig.map(({ name: of = '', args = {} }) => [of, args]))
  for (const [of, args] of configured) {
    const plugin = known.get(of)
    if (of !== evictorName && plugin === undefined) problems.push(`in profile ${name}: plugin ${of} in pluginConfig not registered`)
    else
      for (const problem of plugin?.validate(args as never) ?? defaultEvictorProblems(args)) problems.push(`in profile ${name}: ${problem}`)
  }
  const enabled = (point: (typeof points)[number]): ConfiguredPlugin[] =>
    (plugins[point]?.enabled ?? []).flatMap((of) => {
      const plugin = known.get(of)
      if (plugin?.point !== point) {
        problems.push(`profile "${name}" configures ${point} extension point of non-existing plugins: map[${of}:{}]`)
        return []
      }
      if (!configured.has(of)) problems.push(`unable to build ${of} plugin: unable to find "${of}" plugin config`)
      return [{ plugin, args: (configured.get(of) ?? {}) as never }]
    })
  for (const point of ['filter', 'preEvictionFilter'])
    for (const of of plugins[point]?.enabled ?? [])
      if (of !== evictorName) problems.push(`profile "${name}" configures ${point} extension point of non-existing plugins: map[${of}:{}]`)
  return {
    name,
    evictor: (configured.get(evictorName) ?? {}) as DefaultEvictorArgs,
    deschedule: enabled('deschedule'),
    balance: enabled('balance'),
  }
}
