import type { DiscoveredResource } from '#client/discovery.ts'
import type { AdapterRule } from '#metrics-server/adapter/adapter-rule.ts'
import { fillTemplate } from '#metrics-server/adapter/fill-template.ts'

export type GroupResource = { readonly group: string; readonly resource: string }

export const sameResource = (one: GroupResource, other: GroupResource): boolean =>
  one.group === other.group && one.resource === other.resource
/** `deployments.apps`. */
export const resourceText = ({ group, resource }: GroupResource): string => (group === '' ? resource : `${resource}.${group}`)
export const namespaces: GroupResource = { group: '', resource: 'namespaces' }

/** The resource that a name in a rule stands for: plural, singular, or short. */
export function resourceNamed(
  { group = '', resource }: { group?: string; resource: string },
  resources: readonly DiscoveredResource[],
): DiscoveredResource | undefined {
  const named = (each: DiscoveredResource) =>
    each.plural === resource || singularOf(each) === resource || (each.shortNames ?? []).includes(resource)
  return (
    resources.find((each) => each.group === group && each.isPreferred && named(each)) ??
    resources.find((each) => each.group === group && named(each))
  )
}

const singularOf = ({ singular, kind }: DiscoveredResource): string => singular || kind.toLowerCase()

/** Which labels of a rule's series name which resources, in both directions. */
export class MetricResources {
  readonly #rule: AdapterRule
  readonly #resources: readonly DiscoveredResource[]
  readonly #overrides: ReadonlyMap<string, GroupResource>
  readonly #extractor: RegExp | undefined

  constructor(rule: AdapterRule, resources: readonly DiscoveredResource[]) {
    this.#rule = rule
    this.#resources = resources
    this.#overrides = new Map(
      Object.entries(rule.resources?.overrides ?? {}).flatMap(([label, named]) => {
        const found = resourceNamed(named, resources)
        return found === undefined ? [] : [[label, { group: found.group, resource: found.plural }] as const]
      }),
    )
    const { template } = rule.resources ?? {}
    if (template === undefined) return
    const escaped = template.replaceAll(/[.*+?^${}()|[\]\\]/g, (char, offset: number) =>
      isInAction(template, offset) ? char : `\\${char}`,
    )
    const pattern = fillTemplate(escaped, { Group: '(?<group>[a-z0-9_]*)', Resource: '(?<resource>[a-z0-9]+)' })
    this.#extractor = new RegExp(`^${pattern}$`)
  }

  /** Undefined for a label that names no resource. */
  ofLabel(label: string): GroupResource | undefined {
    const known = this.#overrides.get(label)
    if (known !== undefined) return known
    const groups = this.#extractor?.exec(label)?.groups
    if (groups === undefined) return undefined
    const found = resourceNamed(
      { group: (groups['group'] ?? '').replaceAll('_', '.'), resource: groups['resource'] ?? '' },
      this.#resources,
    )
    return found && { group: found.group, resource: found.plural }
  }

  labelOf(wanted: GroupResource): string {
    for (const [label, resource] of this.#overrides) if (sameResource(resource, wanted)) return label
    const { template } = this.#rule.resources ?? {}
    const found = resourceNamed(wanted, this.#resources)
    if (template === undefined || found === undefined)
      throw new Error(`no label is known for ${resourceText(wanted)} in the rule of ${this.#rule.seriesQuery}`)
    return fillTemplate(template, { Group: wanted.group.replaceAll('.', '_'), Resource: singularOf(found) })
  }
}

const isInAction = (template: string, offset: number): boolean =>
  template.lastIndexOf('<<', offset) > template.lastIndexOf('>>', offset) && template.indexOf('>>', offset) >= 0
