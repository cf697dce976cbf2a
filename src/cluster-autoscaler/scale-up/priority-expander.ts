import { readYaml } from '#api/codec/yaml.ts'
import { ConfigMap } from '#api/core/v1/kinds.gen.ts'
import type { V1ConfigMap } from '#api/core/v1/types.gen.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Client } from '#client/client.ts'
import type { EventRecorder } from '#client/events/event-recorder.ts'
import type { Expander, ExpansionOption } from '#cluster-autoscaler/scale-up/expanders.ts'

const configMapName = 'cluster-autoscaler-priority-expander'
const key = 'priorities'

type Rule = { readonly priority: number; readonly patterns: readonly RegExp[] }

/** The group with the highest priority in the ConfigMap `cluster-autoscaler-priority-expander`, read anew each time. */
export function priorityExpander({
  client,
  namespace,
  events,
}: {
  client: Pick<Client, 'get'>
  namespace: string
  events: Pick<EventRecorder, 'warning'>
}): Expander {
  return {
    name: 'priority',
    async best(options) {
      let configMap: V1ConfigMap
      try {
        configMap = await client.get(ConfigMap, namespace, configMapName)
      } catch {
        return options
      }
      const warn = (reason: string, message: string) => events.warning(ConfigMap, configMap, reason, message)
      try {
        return highest(options, rulesOf(configMap), warn)
      } catch (error) {
        warn('PriorityConfigMapInvalid', `Wrong configuration for priority expander: ${errorMessage(error)}. Ignoring update.`)
        return options
      }
    },
  }
}

function highest(options: readonly ExpansionOption[], rules: readonly Rule[], warn: (reason: string, message: string) => void) {
  const priorities = options.map(({ group }) => {
    const matching = rules.filter(({ patterns }) => patterns.some((pattern) => pattern.test(group.id)))
    if (matching.length > 0) return Math.max(...matching.map(({ priority }) => priority))
    warn(
      'PriorityConfigMapNotMatchedGroup',
      `Priority expander: node group ${group.id} not found in priority expander configuration. The group won't be used.`,
    )
    return undefined
  })
  const known = priorities.filter((priority) => priority !== undefined)
  if (known.length === 0) {
    warn(
      'PriorityConfigMapNoGroupMatched',
      'Priority expander: no priorities info found for any of the expansion options. No options filtered.',
    )
    return options
  }
  const best = Math.max(...known)
  return options.filter((_, index) => priorities[index] === best)
}

function rulesOf({ data }: V1ConfigMap): Rule[] {
  const text = data?.[key]
  if (text === undefined) throw new Error(`the ConfigMap doesn't contain ${key} key`)
  const parsed = readYaml(Buffer.from(text)).value
  if (typeof parsed !== 'object' || parsed === null)
    throw new Error(`priority configuration in ${configMapName} configmap is empty; please provide valid configuration`)
  return Object.entries(parsed).map(([priority, patterns]) => {
    if (!/^-?\d+$/.test(priority)) throw new Error(`Can't parse YAML with priorities in the configmap: ${priority} is not a number`)
    if (!Array.isArray(patterns)) throw new Error(`Can't parse YAML with priorities in the configmap: ${priority} has no list`)
    return { priority: Number(priority), patterns: patterns.map((pattern) => new RegExp(String(pattern))) }
  })
}
