/** The configuration of the Prometheus adapter: which series are metrics of which objects, and how they are asked for. */
import { readYaml } from '#api/codec/yaml.ts'
import { errorMessage } from '#base/error-message.ts'

export type AdapterRule = {
  seriesQuery: string
  seriesFilters?: { is?: string; isNot?: string }[]
  resources?: {
    overrides?: Record<string, { group?: string; resource: string }>
    template?: string
    /** Whether metrics of the rule belong to namespaces; they do unless said. */
    namespaced?: boolean
  }
  name?: { matches?: string; as?: string }
  metricsQuery: string
}

export type AdapterRules = { rules: AdapterRule[]; externalRules: AdapterRule[] }

/** Throws what is wrong with which rule. */
export function parseAdapterRules(text: string): AdapterRules {
  const value = (readYaml(Buffer.from(text)).value ?? {}) as { rules?: AdapterRule[]; externalRules?: AdapterRule[] }
  const { rules = [], externalRules = [] } = value
  for (const [field, list] of Object.entries({ rules, externalRules })) {
    if (!Array.isArray(list)) throw new Error(`${field}: must be a list`)
    for (const [index, rule] of list.entries()) {
      try {
        validate(rule)
      } catch (error) {
        throw new Error(`${field}[${index}]: ${errorMessage(error)}`)
      }
    }
  }
  return { rules, externalRules }
}

function validate({ seriesQuery, seriesFilters = [], name, metricsQuery, resources }: AdapterRule): void {
  if (!seriesQuery) throw new Error('seriesQuery: is required')
  if (!metricsQuery) throw new Error('metricsQuery: is required')
  for (const { is, isNot } of seriesFilters) {
    if ((is === undefined) === (isNot === undefined)) throw new Error('seriesFilters: each has either is or isNot')
    new RegExp(is ?? isNot ?? '')
  }
  if (name?.matches !== undefined && name.as === undefined && groupCount(name.matches) > 1)
    throw new Error(`name: must have "as" where "matches" (${name.matches}) has more than one group`)
  for (const [label, { resource }] of Object.entries(resources?.overrides ?? {}))
    if (!resource) throw new Error(`resources.overrides.${label}: resource is required`)
  if (resources?.template !== undefined && !resources.template.includes('.Resource'))
    throw new Error('resources.template: must name <<.Resource>>')
}

export const groupCount = (expression: string): number => (new RegExp(`${expression}|`).exec('')?.length ?? 1) - 1
